"""From an agent to the one file that Kaggle accepts."""
