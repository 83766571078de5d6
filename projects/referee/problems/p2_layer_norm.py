import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Layer norm, step by step."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width))
        self.bias = nn.Parameter(torch.rand(width))

    def forward(self, x):
        centred = x - x.mean(dim=-1, keepdim=True)
        variance = (centred * centred).mean(dim=-1, keepdim=True)
        return centred * torch.rsqrt(variance + 1e-5) * self.weight + self.bias


def get_inputs():
    return [torch.randn(8192, 4096)]


def get_init_inputs():
    return [4096]
