"""The network of the last lesson of Kaggle's course "Intro to Game AI", as stable-baselines3 takes it."""

import torch
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn


class CourseCNN(BaseFeaturesExtractor):
    """Convolutions of 32 and 64 channels, 3x3 without padding, and a dense layer of 128, with ReLU after each.

    It sees the observation "course": (n, 1, rows, columns), float32 of 0, 1 and 2. Returns (n, 128).
    """

    def __init__(self, space, width: int = 128):
        super().__init__(space, width)
        planes, rows, columns = space.shape
        self.layers = nn.Sequential(
            nn.Conv2d(planes, 32, 3),
            nn.ReLU(),
            nn.Conv2d(32, 64, 3),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(64 * (rows - 4) * (columns - 4), width),
            nn.ReLU(),
        )

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        return self.layers(observations)
