"""The cost of each compilation, generated from the build records of a run.

``python -m tools.build_costs results/NAME/builds`` prints it; ``--write`` puts it into
config/build_costs.json, keeping what is known of builds that the run left out. A run that compiles
everything anew is ``./assay reproduce --rebuild`` after ``results/cache`` was removed.
"""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from assay.base.errors import BadInput
from assay.base.io import dump_record, read_record
from assay.pipeline.dag import COSTS
from assay.records.builds import BuildCost, BuildCosts, BuildRecord
from assay.shared.files import write_bytes

ROOT = Path(__file__).resolve().parents[1]


def collect(records: Iterable[BuildRecord], processor: str) -> BuildCosts:
    """Costs of the records that say what they took, sorted. Raises BadInput where none does."""
    told = [record for record in records if record.cost is not None]
    costs = [
        BuildCost(
            id=record.id,
            arch=record.arch,
            cpu_seconds=record.cost.cpu_seconds,
            peak_bytes=record.cost.peak_bytes,
        )
        for record in told
        if record.cost and record.cost.cpu_seconds is not None and record.cost.peak_bytes
    ]
    if not costs:
        raise BadInput("no build record says what its compilation took: compile on the host")
    return BuildCosts(
        schema="assay/build_costs/1",
        host_compiler=told[0].toolchain.host_compiler,
        processor=processor,
        costs=tuple(sorted(costs, key=lambda cost: (cost.id, cost.arch))),
    )


def processor() -> str:
    """This machine's processor, as the kernel names it."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else "unknown"


def merge(old: BuildCosts | None, new: BuildCosts) -> BuildCosts:
    """``new``, with what only ``old`` knows."""
    known = {(cost.id, cost.arch): cost for cost in (*(old.costs if old else ()), *new.costs)}
    return new.model_copy(update={"costs": tuple(known[key] for key in sorted(known))})


def main(arguments: Sequence[str]) -> None:
    """Print or write the costs of a run's builds."""
    folders = [Path(word) for word in arguments if word != "--write"]
    paths = sorted(path for folder in folders for path in folder.glob("*/*.json"))
    costs = collect((read_record(BuildRecord, path) for path in paths), processor())
    target = ROOT / COSTS
    if "--write" in arguments:
        old = read_record(BuildCosts, target) if target.is_file() else None
        write_bytes(target, dump_record(merge(old, costs)))
    else:
        sys.stdout.write(dump_record(costs).decode())


if __name__ == "__main__":
    main(sys.argv[1:])
