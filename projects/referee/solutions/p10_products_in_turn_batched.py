import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    """All products in one launch."""

    def forward(self, a, b):
        return torch.bmm(a, b)
