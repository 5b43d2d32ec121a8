"""Exact scores of positions: where they come from, how they are kept and read."""
