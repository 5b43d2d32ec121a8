"""What several methods share: the networks that they train, and the loops that train them."""
