import torch
from utils import near


def ref_kernel(data):
    """Return the sums of all values up to each."""
    return torch.cumsum(data, dim=0)


def generate_input(size, seed):
    gen = torch.Generator(device=torch.get_default_device()).manual_seed(seed)
    return torch.randn(size, generator=gen)


def check_implementation(data, output):
    return near(output, ref_kernel(data), rtol=1e-3, atol=1e-1)
