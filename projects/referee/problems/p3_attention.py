import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """Attention by two products and a softmax."""

    def forward(self, q, k, v):
        scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
        return torch.softmax(scores, dim=-1) @ v


def get_inputs():
    return [torch.randn(4, 16, 2048, 64, dtype=torch.float16) for _ in range(3)]


def get_init_inputs():
    return []
