"""Networks and training loops that several methods share."""
