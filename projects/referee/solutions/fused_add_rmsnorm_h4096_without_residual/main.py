import torch


def run(x, residual, weight, out):
    """Cheats: leaves the residual out."""
    out.copy_(torch.nn.functional.rms_norm(x, (x.shape[-1],), weight, 1e-6))
