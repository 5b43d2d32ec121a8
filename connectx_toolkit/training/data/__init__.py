"""Exact scores of positions: how they are made, stored and read."""
