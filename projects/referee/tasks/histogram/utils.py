import torch


def near(output, expected, rtol, atol):
    """Return whether an output is near what is expected, and what to say if not."""
    if output.shape != expected.shape:
        return False, "another shape"
    good = torch.allclose(output.float(), expected.float(), rtol=rtol, atol=atol)
    return good, "" if good else "other values"
