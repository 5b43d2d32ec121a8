"""What all tests of training share."""

import torch

torch.set_num_threads(
    1
)  # several workers of pytest have the cores already: with more threads each waits for the others
