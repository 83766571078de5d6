"""Targets: GPU products with their architecture flags, scheduler names and datasheet peaks."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints

from assay.records.base import Identifier, Record, SlurmName

PATTERN = re.compile(r"(?:[A-Za-z0-9 ._/|<>,:&'-]|\[[A-Za-z0-9-]+\]|\.\*)+")
MOST_STARS = 2


def _regular(text: str) -> str:
    """Return a regular expression that takes no time, whatever it is matched with."""
    if PATTERN.fullmatch(text) is None or text.count("*") > MOST_STARS:
        raise ValueError(
            f"'{text}' is no pattern of a product: letters, digits, spaces, . - / _ and |, "
            f"characters in brackets, and .* at most {MOST_STARS} times"
        )
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"'{text}' is no regular expression: {error}") from error
    return text


class Peaks(Record):
    """Datasheet limits, dense, without sparsity acceleration."""

    fp16_tensor_tflop_per_s: Annotated[float, Field(gt=0)]
    fp8_tensor_tflop_per_s: Annotated[float, Field(gt=0)] | None = None
    """None for a GPU without FP8 tensor cores, which multiplies FP8 operands as fp16 at best."""
    fp32_tflop_per_s: Annotated[float, Field(gt=0)]
    memory_gb_per_s: Annotated[float, Field(gt=0)]
    source: str
    """Document that states them."""


class Target(Record):
    """``config/targets/<id>.yaml``."""

    schema_: Literal["assay/target/1"] = Field(alias="schema")
    id: Identifier
    product: str
    product_pattern: Annotated[str, StringConstraints(max_length=200), AfterValidator(_regular)]
    """Regular expression that NVML's product name must match in full."""
    arch: Identifier
    """Architecture key of the builds this target runs: sm_80, sm_89 or sm_90a."""
    compute_capability: Annotated[str, Field(pattern=r"^[0-9]+\.[0-9]$")]
    gpu_model: SlurmName
    """Slurm's typed-GPU name (``gres=gpu:<gpu_model>``) and Snakemake's gpu_model resource."""
    slurm_partition: SlurmName
    multiprocessors: Annotated[int, Field(gt=0)]
    l2_bytes: Annotated[int, Field(gt=0)]
    max_shared_bytes_per_block: Annotated[int, Field(gt=0)]
    power_limit_w: Annotated[float, Field(gt=0)]
    peaks: Peaks
