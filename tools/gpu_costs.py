"""What each unit of work took on a GPU the last time, and what several GPUs make of it.

``python -m tools.gpu_costs REPORT ...`` prints it, of reports or their archives; ``--write`` puts
it into config/gpu_costs.json, keeping what is known of units that these reports do not hold.
``--simulate`` prints how much faster the benchmark stage of everything that is known of a target
runs on 2, 4 and 8 GPUs, as the schedule places it.
"""

import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from assay.base.errors import BadInput
from assay.base.io import dump_record, read_record
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.evidence.load import load_evidence
from assay.evidence.model import Evidence
from assay.judging.cutlass_output import job_id
from assay.judging.needs import measured_together
from assay.measuring.gpu_schedule import GpuUnit, Simulated, bundled, simulate
from assay.pipeline.gpu_places import COSTS
from assay.records.gpu_costs import GpuCost, GpuCosts
from assay.records.measurements import BenchmarkRecord
from assay.shared.files import write_bytes
from assay.verification.report_archive import opened_report

ROOT = Path(__file__).resolve().parents[1]
BOXES = (1, 2, 4, 8)


Standing = tuple[int, str]
"""Which of a unit's records is believed, the greatest: fewest optional rivals, then the newest."""


def collect(catalog: Catalog, evidences: Iterable[Evidence]) -> GpuCosts:
    """Return what each unit took, sorted. Raises BadInput without any.

    Of several records of a unit the newest counts, but one with optional rivals only where there is
    no other: their own tuners take longer than all the rest, and few have them installed.
    """
    best: dict[tuple[str, str], tuple[Standing, GpuCost]] = {}
    start = 0.0
    for evidence in evidences:
        for standing, cost in _costs(catalog, evidence):
            key = (cost.target, cost.unit)
            if key not in best or standing > best[key][0]:
                best[key] = standing, cost
        imports = (record.import_seconds or 0.0 for record in evidence.benchmarks.values())
        start = max(start, *imports, 0.0)
    if not best or not start:
        raise BadInput("no report holds a benchmark that says what it took")
    costs = tuple(best[key][1] for key in sorted(best))
    return GpuCosts(schema="assay/gpu_costs/1", start_seconds=start, costs=costs)


def _costs(catalog: Catalog, evidence: Evidence) -> Iterator[tuple[Standing, GpuCost]]:
    for (target, name), record in evidence.benchmarks.items():
        gate = evidence.correctness.get((target, name))
        seconds = gate.seconds if gate else 0.0
        yield (
            (-_tuned_optional_rivals(catalog, record), record.recorded_at),
            GpuCost(target=target, unit=name, gate_seconds=seconds, seconds=record.seconds),
        )
    for (target, _), program in evidence.programs.items():
        runs = [*program.runs, *([program.verification] if program.verification else [])]
        yield (
            (0, program.recorded_at),
            GpuCost(
                target=target,
                unit=job_id(program.program, program.arguments),
                gate_seconds=0.0,
                seconds=round(math.fsum(run.seconds for run in runs), 4),
            ),
        )


def _tuned_optional_rivals(catalog: Catalog, record: BenchmarkRecord) -> int:
    """Return how many arms an optional package's own tuner was run for."""
    tuned = (arm.variant for process in record.processes[:1] for arm in process.arms if arm.swept)
    variants = (catalog.variants.get(name) for name in tuned)
    return sum(variant is not None and variant.rival is not None for variant in variants)


def merge(old: GpuCosts | None, new: GpuCosts) -> GpuCosts:
    """Return ``new``, with what only ``old`` knows."""
    every = (*(old.costs if old else ()), *new.costs)
    known = {(cost.target, cost.unit): cost for cost in every}
    return new.model_copy(update={"costs": tuple(known[key] for key in sorted(known))})


def benchmark_stage(catalog: Catalog, costs: GpuCosts, target: str) -> list[Simulated]:
    """Return the benchmark stage of all comparisons that ever ran on a target, on boxes of GPUs."""
    of_target = {
        cost.unit: cost
        for cost in costs.costs
        if cost.target == target and cost.unit in catalog.comparisons
    }
    bundles = bundled(of_target, measured_together(catalog, catalog.claims.values()))
    units = [GpuUnit(name, cost.seconds, bundles[name]) for name, cost in of_target.items()]
    taken = {name: cost.seconds for name, cost in of_target.items()}
    return [simulate(units, taken, gpus, costs.start_seconds) for gpus in BOXES]


def lines(catalog: Catalog, costs: GpuCosts) -> Iterator[str]:
    """Yield a line for each target and box."""
    for target in dict.fromkeys(cost.target for cost in costs.costs):
        stages = benchmark_stage(catalog, costs, target)
        alone = stages[0].seconds
        for stage in stages:
            yield (
                f"{target}, {stage.gpus} GPU: {stage.seconds:.1f} s, "
                f"{alone / stage.seconds:.2f} times as fast, busy "
                f"{min(stage.busy):.0%} to {max(stage.busy):.0%} of it; the longest bundle "
                f"{stage.longest:.1f} s"
            )


def main(arguments: Sequence[str]) -> None:
    """Print, write or simulate the costs of reports."""
    path = ROOT / COSTS
    catalog = load_catalog(ROOT)
    if "--simulate" in arguments:
        for line in lines(catalog, read_record(GpuCosts, path)):
            sys.stdout.write(f"{line}\n")
        return
    costs = collect(catalog, _read(Path(word) for word in arguments if word != "--write"))
    if "--write" in arguments:
        old = read_record(GpuCosts, path) if path.is_file() else None
        write_bytes(path, dump_record(merge(old, costs)))
    else:
        sys.stdout.write(dump_record(costs).decode())


def _read(reports: Iterable[Path]) -> Iterator[Evidence]:
    for report in reports:
        with opened_report(report) as folder:
            yield load_evidence(folder / "evidence")


if __name__ == "__main__":
    main(sys.argv[1:])
