"""What looks like an honest mistake, of clocks or of the product: it proves nothing. Pure."""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.evidence.stages import TARGET_STAGES
from assay.records.platform import Gpu, Target
from assay.shared.counting import agreeing, counted

SKEW = timedelta(minutes=10)
"""By which two honest clocks may differ."""
NEAR = (0.9, 1.12)
"""Of the GB in a product's name, what NVML counts: some are reserved, some are GiB."""


def remarks(catalog: Catalog, evidence: Evidence, created: str, now: datetime) -> Iterator[str]:
    """Yield what looks like an honest mistake, and proves nothing.

    ``created``: when the report says that it was made.
    """
    for plan in evidence.plan.targets:
        if (platform := evidence.platforms.get(plan.target)) is not None:
            yield from _other_product(catalog.targets[plan.target], platform.device.gpu)
    made = datetime.fromisoformat(created)
    records = [r for each in TARGET_STAGES for r in getattr(evidence, each.collection).values()]
    stated = [at for r in records if (at := getattr(r, "recorded_at", None)) is not None]
    if made > now + SKEW:
        yield f"the report says that it was made in the future: {created}"
    if late := sum(datetime.fromisoformat(at) > made + SKEW for at in stated):
        of, be = counted(late, "record"), agreeing(late, "is", "are")
        yield f"the report says that it was made at {created}, and {of} {be} later"


def _other_product(target: Target, gpu: Gpu) -> Iterator[str]:
    """Yield that a GPU has other parts than its product."""
    for what, recorded, described in (
        ("compute capability", gpu.compute_capability, target.compute_capability),
        ("multiprocessors", gpu.multiprocessors, target.multiprocessors),
        ("bytes of L2", gpu.l2_bytes, target.l2_bytes),
    ):
        if recorded != described:
            yield f"{target.id}: {what} on record {recorded}, of {target.product} {described}"
    named = re.search(r"(\d+) ?GB", target.product)
    memory_gb = gpu.memory_bytes / 1e9
    if named is not None and not NEAR[0] <= memory_gb / int(named[1]) <= NEAR[1]:
        yield f"{target.id}: {memory_gb:.0f} GB of memory on record, of {target.product} {named[1]}"
