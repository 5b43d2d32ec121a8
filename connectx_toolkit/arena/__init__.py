"""The parts of evaluate.py: games between agents, each in its own process, and what the results prove."""
