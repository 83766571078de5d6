import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    """One pass over each row."""

    def forward(self, x):
        return x.amax(dim=1)
