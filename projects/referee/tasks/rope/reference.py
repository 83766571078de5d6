import torch
from utils import near


def ref_kernel(data):
    """Turn pairs of values by angles that grow with the position."""
    x, angles = data
    cos, sin = angles.cos(), angles.sin()
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)


def generate_input(tokens, width, seed):
    gen = torch.Generator(device=torch.get_default_device()).manual_seed(seed)
    x = torch.randn(32, tokens, width, generator=gen)
    rates = 10000.0 ** (-torch.arange(0, width, 2) / width)
    return x, torch.arange(tokens)[:, None] * rates


def check_implementation(data, output):
    return near(output, ref_kernel(data), rtol=1e-4, atol=1e-4)
