"""How a model that somebody has trained becomes an agent: its file and its data."""
