import torch.nn.functional as F


def run(q, k, v, scale, out):
    out.copy_(F.scaled_dot_product_attention(q[:, :, None], k, v, scale=scale)[:, :, 0])
