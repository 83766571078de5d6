"""Ten thousand claims with full samples, judged in a process of its own: what it costs.

``python -m tests.synthetic_load 10000`` prints seconds and the peak of memory, as JSON. Every claim
has samples of its own, as config/protocols.yaml plans them: 5 processes of 3 blocks, in each two
turns of 10 launches. Nineteen arms share a comparison with an A/A control; every third claim is
a ratio to the comparison's first arm, so that pairs are judged too.
"""

import json
import re
import sys
import time
from pathlib import Path

import numpy as np
from tools.simulation import BLOCKS, LAUNCHES, PROCESSES

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.judging.judge import judge
from assay.records.claims import Claim
from assay.records.evaluations import Benchmark, Metric, Term
from assay.records.measurements import BenchmarkRecord, Block, CorrectnessRecord, Process, Turn
from assay.records.units import Unit
from assay.records.workloads import Arm, Comparison
from tests import builders as b

ARMS = 19


def many(claims: int) -> tuple[Catalog, Evidence]:
    """A catalog of ``claims`` claims, and the evidence that answers them."""
    generator = np.random.Generator(np.random.PCG64(5))
    numbers = range(-(-claims // ARMS))
    names = [f"arm{index}" for index in range(ARMS)]
    comparisons = {f"group{number}": _comparison(f"group{number}", names) for number in numbers}
    made = [_claim(f"group{number}", index) for number in numbers for index in range(ARMS)][:claims]
    catalog = b.catalog(made, comparisons=comparisons, judging=b.judging(bootstrap_resamples=2000))
    evidence = b.evidence(
        [b.measure(claim.id) for claim in made],
        benchmarks=[_record(name, names, generator) for name in comparisons],
        checks=[_checks(name, names) for name in comparisons],
    )
    return catalog, evidence


def _comparison(name: str, arms: list[str]) -> Comparison:
    return Comparison(
        id=name,
        title="Many arms",
        protocol="standard",
        arms=tuple(Arm(id=arm, variant="our_kernel", workload="sparse") for arm in arms),
        control=arms[0],
    )


def _claim(comparison: str, index: int) -> Claim:
    arm = f"arm{index}"
    if index % 3 == 2:
        term = Term(comparison=comparison, arm=arm, over="arm0")
        ratio = Benchmark(kind="benchmark", metric=Metric.TIME_RATIO, terms=(term,))
        return b.claim(f"{comparison}_{arm}", ratio, value=1.0, unit=Unit.RATIO)
    term = Term(comparison=comparison, arm=arm)
    rate = Benchmark(kind="benchmark", metric=Metric.RATE, terms=(term,))
    return b.claim(f"{comparison}_{arm}", rate, value=b.FLOP["ours"] / 0.06 * 1e-9)


def _record(name: str, arms: list[str], generator: np.random.Generator) -> BenchmarkRecord:
    order = [*arms, "control"]
    facts = tuple(b.facts("ours").model_copy(update={"arm": arm}) for arm in arms)
    processes = []
    for index in range(PROCESSES):
        drift = generator.normal(0, 0.01)
        shape = (BLOCKS, 2, len(order), LAUNCHES)
        times = 0.06 * np.exp(drift + generator.normal(0, 0.01, shape))
        processes.append(
            Process(
                index=index,
                arms=facts,
                blocks=tuple(_block(order, block) for block in times),
                telemetry=b.telemetry(),
                seconds=2.0,
                gpu_seconds=0.5,
            )
        )
    return b.benchmark(processes=1).model_copy(
        update={"comparison": name, "processes": tuple(processes)}
    )


def _block(order: list[str], times: np.ndarray) -> Block:  # type: ignore[type-arg]
    first = list(zip(order, times[0].tolist(), strict=True))
    second = list(zip(order, times[1].tolist(), strict=True))[::-1]
    turns = tuple(
        Turn(
            arm=arm,
            times_ms=tuple(values),
            started_s=0.0,
            ended_s=0.01,
            checked=True,
            relative_error=4e-4,
        )
        for arm, values in (*first, *second)
    )
    return Block(turns=turns, void=None)


def _checks(name: str, arms: list[str]) -> CorrectnessRecord:
    made = b.correctness(("ours",), comparison=name)
    entries = tuple(made.arms[0].model_copy(update={"arm": arm}) for arm in arms)
    return made.model_copy(update={"arms": entries})


def peak_bytes() -> int:
    """The most memory that this program held, in bytes.

    Not ``getrusage``: its peak outlives exec, so that it is at least the parent's of the moment.
    """
    found = re.search(r"^VmHWM:\s+(\d+) kB$", Path("/proc/self/status").read_text(), re.M)
    assert found is not None
    return int(found[1]) * 1024


def main() -> None:
    """Judge, and say what it cost."""
    catalog, evidence = many(int(sys.argv[1]))
    started, before = time.perf_counter(), time.process_time()
    verdicts = judge(catalog, evidence).verdicts
    decided = sum(verdict.ci90 is not None for verdict in verdicts)
    cost = {
        "verdicts": len(verdicts),
        "with_interval": decided,
        "seconds": time.perf_counter() - started,
        "cpu_seconds": time.process_time() - before,
        "peak_bytes": peak_bytes(),
    }
    json.dump(cost, sys.stdout)


if __name__ == "__main__":
    main()
