"""A game, wherever it was played: its record, the file of games, replays, analysis."""
