import torch

WIDTH = 4096


def custom_kernel(data):
    """Sum rows, then add what came before each."""
    if data.numel() % WIDTH:
        return torch.cumsum(data, dim=0)
    rows = data.view(-1, WIDTH).cumsum(dim=1)
    before = rows[:, -1].cumsum(dim=0) - rows[:, -1]
    return rows.add_(before[:, None]).flatten()
