"""One's own account on Kaggle, by Kaggle's official SDK: submit a file, and fetch the games that it plays."""
