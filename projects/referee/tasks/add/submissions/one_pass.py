import torch


def custom_kernel(data):
    """Add into the output."""
    a, b, out = data
    return torch.add(a, b, out=out)
