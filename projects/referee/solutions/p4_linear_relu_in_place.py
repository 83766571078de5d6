import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    """The same product; relu works in place."""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        return self.linear(x).relu_()
