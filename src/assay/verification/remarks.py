"""What looks like an honest mistake, of clocks or of the product: it proves nothing. Pure."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

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
        platform = evidence.platforms.get(plan.target)
        for device in platform.devices if platform is not None else ():
            yield from _other_product(catalog.targets[plan.target], device.gpu)
    made = _moment(created)
    if made > now + SKEW:
        yield f"the report says that it was made in the future: {created}"
    if late := [at for at in _recorded(evidence) if at > made + SKEW]:
        records = counted(len(late), "record")
        be = agreeing(len(late), "is", "are")
        yield f"the report says that it was made at {created}, and {records} {be} later"


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


def _recorded(evidence: Evidence) -> Iterator[datetime]:
    """Yield when each record of a target was made, where it says so."""
    for stage in TARGET_STAGES:
        for record in getattr(evidence, stage.collection).values():
            if (at := getattr(record, "recorded_at", None)) is not None:
                yield _moment(at)


def _moment(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)
