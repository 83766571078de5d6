import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """A convolution, a bias and relu."""

    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, dtype=torch.float16)

    def forward(self, x):
        return torch.relu(self.conv(x))


def get_inputs():
    return [torch.randn(32, 128, 56, 56, dtype=torch.float16)]


def get_init_inputs():
    return [128]
