import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    """PyTorch's own layer norm."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width))
        self.bias = nn.Parameter(torch.rand(width))

    def forward(self, x):
        return F.layer_norm(x, (x.shape[-1],), self.weight, self.bias, 1e-5)
