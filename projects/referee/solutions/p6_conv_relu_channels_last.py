import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    """The same with channels last, as tensor cores like it."""

    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, dtype=torch.float16)

    def forward(self, x):
        weight = self.conv.weight.contiguous(memory_format=torch.channels_last)
        x = x.contiguous(memory_format=torch.channels_last)
        return F.conv2d(x, weight, self.conv.bias, padding=1).relu_()
