"""Batches of games, and their players."""
