"""How an operator is defined below ``torch.ops.assay``."""

from typing import Any

import torch

OPERATORS: dict[str, Any] = {}
"""Operators by name, as opcheck takes them."""


def define(name: str, schema: str, function: Any, fake: Any, cuda: Any = None) -> Any:
    """Return the operator that ``function`` computes: on all devices, or where ``cuda`` does so on
    a GPU, on a CPU. ``fake`` gives the right shape, type and strides without looking at values.
    """
    operator = torch.library.custom_op(
        f"assay::{name}", function, mutates_args=(), schema=schema,
        device_types=None if cuda is None else "cpu",
    )  # fmt: skip
    operator.register_fake(fake)
    if cuda is not None:
        operator.register_kernel("cuda")(cuda)
    OPERATORS[name] = getattr(torch.ops.assay, name).default
    return operator
