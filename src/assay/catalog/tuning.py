"""What is tuned on a target: the choices made for it, and those that its sweeps begin with."""

from collections.abc import Iterator

from assay.catalog.model import Catalog
from assay.records.tuning import TuningChoice


def choices_to_hold(catalog: Catalog, target: str) -> tuple[TuningChoice, ...]:
    """Return a target's choices, and for every sweep of its architecture that none of them is for,
    the one that the sweep begins with.
    """
    made = catalog.tuning.of(target)
    begun = (
        choice
        for choice in _begun(catalog, target)
        if not any(one.key() == choice.key() and one.shapes.meets(choice.shapes) for one in made)
    )
    return (*made, *begun)


def _begun(catalog: Catalog, target: str) -> Iterator[TuningChoice]:
    arch = catalog.targets[target].arch
    for sweep in catalog.tuning.sweeps:
        arms = {arm.id: arm for arm in catalog.comparisons[sweep.begin.comparison].arms}
        arm = arms[sweep.begin.arm]
        if arch in (sweep.archs or catalog.variants[arm.variant].archs):
            yield sweep.choice(target, arm.variant, catalog.workloads[arm.workload])
