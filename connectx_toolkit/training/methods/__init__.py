"""What each method of train.py does: one module, one method, with a Config and train(config)."""
