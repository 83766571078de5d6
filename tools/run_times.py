"""How long a run takes, and for how much of the time that it measures the GPU is busy.

``python -m tools.run_times --source 003 --run timed ...`` starts ``./assay reproduce --timings``
with these options. Where there is a GPU, ``nvidia-smi`` is asked all the while for the share of
time in which a kernel ran; printed is the mean over each benchmark stage. Started again with the
same options, it tells of a second run.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from assay.evidence.timings import step_timings
from assay.pipeline.preconditions import LOCAL
from assay.records.timings import Stage

ROOT = Path(__file__).resolve().parents[1]
ASKED_EVERY_MS = 200
SMI = ("nvidia-smi", "--query-gpu=timestamp,utilization.gpu", "--format=csv,noheader,nounits")
VISIBLE = "CUDA_VISIBLE_DEVICES"

Samples = list[tuple[float, float]]
"""Seconds since the epoch, and per cent of the time before them."""


@contextmanager
def watched(log: Path) -> Iterator[None]:
    """Write what nvidia-smi says of the GPUs meanwhile to ``log``, where there is one: of those
    that CUDA_VISIBLE_DEVICES leaves.
    """
    chosen = [f"--id={os.environ[VISIBLE]}"] if VISIBLE in os.environ else []
    with log.open("w") as out:
        try:
            smi = subprocess.Popen([*SMI, *chosen, f"-lms={ASKED_EVERY_MS}"], stdout=out)
        except OSError:
            yield
            return
        try:
            yield
        finally:
            smi.terminate()
            smi.wait()


def samples_of(log: Path) -> Samples:
    """Return what was asked, line by line; a line that was cut off counts for nothing."""
    found: Samples = []
    for line in log.read_text().splitlines():
        with suppress(ValueError):
            moment, _, busy = line.partition(", ")
            whole, _, rest = moment.partition(".")
            at = time.mktime(time.strptime(whole, "%Y/%m/%d %H:%M:%S")) + float(f"0.{rest}")
            found.append((at, float(busy)))
    return found


def main(options: list[str]) -> int:
    """Entry point; returns the exit code of the run."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--run", default=LOCAL)
    known, others = parser.parse_known_args(options)
    run = known.run
    log = ROOT / "results" / f"{run}.utilization.csv"
    log.parent.mkdir(exist_ok=True)
    began = time.time()
    with watched(log):
        command = [str(ROOT / "assay"), "reproduce", "--timings", "--run", run, *others]
        ended = subprocess.run(command, check=False)
    busy = samples_of(log)
    for step in step_timings(ROOT / "results" / run):
        if step.stage is not Stage.BENCHMARK or step.began < began:
            continue
        during = [share for at, share in busy if 0 <= at - step.began <= step.seconds]
        if during:
            target, mean = step.arguments["target"], statistics.fmean(during)
            print(f"GPU busy for {mean:.0f} % of {step.stage} on {target}, by nvidia-smi")
    return ended.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
