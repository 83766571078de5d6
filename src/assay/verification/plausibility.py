"""Remarks on honest mistakes: what does not fit together, and proves nothing. Pure."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.evidence.stages import TARGET_STAGES
from assay.records.platform import Gpu
from assay.records.targets import Target
from assay.shared.counting import agreeing, counted

SKEW = timedelta(minutes=10)
"""By which two honest clocks may differ."""
NEAR = (0.9, 1.12)
"""Of the GB in a product's name, what NVML counts: some are reserved, some are GiB."""


def remarks(catalog: Catalog, evidence: Evidence, created: str, now: datetime) -> Iterator[str]:
    """Yield what looks like a mistake; ``created``: when the report says that it was made."""
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
    """Yield that a GPU has another L2, or another memory, than its product."""
    if gpu.l2_bytes != target.l2_bytes:
        yield (
            f"{target.id}: the GPU on record has {gpu.l2_bytes / 2**20:.0f} MiB of L2, and "
            f"{target.product} has {target.l2_bytes / 2**20:.0f}"
        )
    named = re.search(r"(\d+) ?GB", target.product)
    if named is None:
        return
    low, high = (int(named[1]) * 1e9 * factor for factor in NEAR)
    if not low <= gpu.memory_bytes <= high:
        yield (
            f"{target.id}: the GPU on record has {gpu.memory_bytes / 1e9:.0f} GB of memory, and "
            f"{target.product} has {named[1]}"
        )


def _recorded(evidence: Evidence) -> Iterator[datetime]:
    """Yield when each record of a target was made, where it says so."""
    for stage in TARGET_STAGES:
        for record in getattr(evidence, stage.collection).values():
            if (at := getattr(record, "recorded_at", None)) is not None:
                yield _moment(at)


def _moment(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)
