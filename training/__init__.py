"""The parts of train.py: what makes agents/weights. Never bundled."""
