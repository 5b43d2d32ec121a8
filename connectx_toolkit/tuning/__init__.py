"""``train.py tune``: finds better numbers for an agent's file, and proves that they are better."""
