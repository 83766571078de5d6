"""How an operator is defined below ``torch.ops.assay``."""

from typing import Any

import torch


def define(name: str, schema: str, function: Any, device: str | None, fake: Any) -> Any:
    """Return the operator that ``function`` computes, on one kind of device or on all (None).

    ``fake`` gives results of the right shape, type and strides without looking at values.
    """
    operator = torch.library.custom_op(
        f"assay::{name}", function, mutates_args=(), device_types=device, schema=schema
    )
    operator.register_fake(fake)
    return operator
