"""What all tests of training share."""

import torch

# The workers of pytest have the cores already: with more threads each would wait for the others.
torch.set_num_threads(1)
