"""The parts of train.py: everything that makes agents/weights. Never part of a submission."""
