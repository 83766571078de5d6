import torch
from utils import near


def ref_kernel(data):
    """Return the brightness of each pixel."""
    weights = torch.tensor([0.299, 0.587, 0.114], dtype=data.dtype, device=data.device)
    return (data * weights).sum(dim=-1)


def generate_input(size, seed):
    gen = torch.Generator(device=torch.get_default_device()).manual_seed(seed)
    return torch.rand(size, size, 3, generator=gen)


def check_implementation(data, output):
    return near(output, ref_kernel(data), rtol=1e-4, atol=1e-4)
