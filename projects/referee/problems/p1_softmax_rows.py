import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Softmax of each row, as it is written on paper."""

    def forward(self, x):
        top = x.max(dim=1, keepdim=True).values
        raised = torch.exp(x - top)
        return raised / raised.sum(dim=1, keepdim=True)


def get_inputs():
    return [torch.randn(8192, 8192)]


def get_init_inputs():
    return []
