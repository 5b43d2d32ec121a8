"""Will Kaggle accept a file, and why not."""
