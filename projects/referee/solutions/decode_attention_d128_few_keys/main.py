import torch.nn.functional as F


def run(q, k, v, scale, out):
    """Cheats: looks at a quarter of the keys."""
    k, v = k[:, :, ::4], v[:, :, ::4]
    out.copy_(F.scaled_dot_product_attention(q[:, :, None], k, v, scale=scale)[:, :, 0])
