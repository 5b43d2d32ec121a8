"""The parts of build_submission.py: one agent with all its modules and data becomes one file that Kaggle accepts."""
