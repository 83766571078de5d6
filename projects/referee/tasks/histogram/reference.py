import torch
from utils import near


def ref_kernel(data):
    """Count the values from 0 to 255."""
    return torch.bincount(data.flatten(), minlength=256)


def generate_input(size, seed):
    gen = torch.Generator(device=torch.get_default_device()).manual_seed(seed)
    return torch.randint(0, 256, (size,), generator=gen)


def check_implementation(data, output):
    return near(output, ref_kernel(data), rtol=1e-6, atol=0.5)
