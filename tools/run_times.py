"""How long a run takes, and for how much of the time that it measures the GPU is busy.

``python -m tools.run_times --source 003 --run timed ...`` starts ``./assay reproduce`` with these
options and prints seconds by stage. Where there is a GPU, ``nvidia-smi`` is asked all the while for
the share of time in which a kernel ran; printed is the mean over the benchmark stage. Started again
with the same options, it tells of a second run.
"""

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from assay.evidence.timings import step_timings
from assay.records.timings import Stage

ROOT = Path(__file__).resolve().parents[1]
ASKED_EVERY_MS = 200
SMI = ("nvidia-smi", "--query-gpu=timestamp,utilization.gpu", "--format=csv,noheader,nounits")

Samples = list[tuple[float, float]]
"""Seconds since the epoch, and per cent of the time before them."""


@contextmanager
def watched(log: Path) -> Iterator[None]:
    """Write what nvidia-smi says of the GPUs meanwhile to ``log``, where there is one."""
    with log.open("w") as out:
        try:
            smi = subprocess.Popen([*SMI, f"-lms={ASKED_EVERY_MS}"], stdout=out)
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
    run = options[options.index("--run") + 1] if "--run" in options else "local"
    log = ROOT / "results" / f"{run}.utilization.csv"
    log.parent.mkdir(exist_ok=True)
    began = time.time()
    with watched(log):
        ended = subprocess.run([str(ROOT / "assay"), "reproduce", *options], check=False)
    print(f"{time.time() - began:8.1f} s  all of it")
    busy = samples_of(log)
    for step in step_timings(ROOT / "results" / run):
        if step.began < began or step.seconds < 1:
            continue
        words = f"{step.seconds:8.1f} s  {' '.join([step.stage, *step.arguments.values()])}"
        during = [share for at, share in busy if 0 <= at - step.began <= step.seconds]
        if step.stage is Stage.BENCHMARK and during:
            words += f": GPU busy for {statistics.fmean(during):.0f} % by nvidia-smi"
        print(words)
    return ended.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
