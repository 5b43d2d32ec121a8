"""The parts of evaluate.py: games between agents, each in a process of its own, and what they prove."""
