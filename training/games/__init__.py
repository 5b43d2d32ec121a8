"""Many games side by side, and who plays them."""
