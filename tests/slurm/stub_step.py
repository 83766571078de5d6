"""A step of a run in a Slurm job, without Snakemake: what hundreds of jobs at once are tried with.

``python -m tests.slurm.stub_step RUN_DIR NUMBER ODDS`` enters the run's journal and measures one
made-up record, which is kept as a batch keeps its own. With the given odds the job ends on the way
by no fault of its own: killed, cancelled, or with half of its record written.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from assay.base.io import dump_record
from assay.measuring.resume import Item, Results, measure_batch
from assay.measuring.slurm_grant import SlurmGrant
from assay.pipeline.slurm_jobs import JobJournal
from assay.records.slurm_jobs import CgroupLimits
from assay.records.timings import Stage, StepTiming
from assay.shared.job import DeviceJob, PlatformJob
from assay.shared.specs import TargetSpec

WAYS = ("killed", "cancelled", "half")
TARGET = TargetSpec(id="stub", product_pattern="Stub")


def main(run_dir: Path, number: str, odds: float) -> None:
    """Do the step."""
    job_id, node = os.environ["SLURM_JOB_ID"], os.environ["SLURMD_NODENAME"]
    grant = SlurmGrant(job_id, 0, node, "gpu", None, node, 1, 0, None)
    limits = CgroupLimits(cpus=(0,), memory_bytes=None, gpu_devices=())
    journal = JobJournal(run_dir, number, "benchmark", grant, limits)
    chance = random.Random(job_id)
    way = chance.choice(WAYS) if chance.random() < odds else None

    def measure(_: Sequence[DeviceJob], into: Sequence[Path]) -> Results[StepTiming]:
        arguments = {"number": number, "job": job_id}
        record = StepTiming(
            stage=Stage.BENCHMARK,
            arguments=arguments,
            started="2026-01-02T03:04:05.000Z",
            seconds=1.0,
        )
        if way is not None:
            _end(way, job_id, into[0], dump_record(record))
        return [record]

    item = Item(number, PlatformJob(TARGET), run_dir / "done" / f"{number}.json", (number,))
    measure_batch([item], StepTiming, run_dir / "kept" / number, measure, lambda _: None)
    journal.end(None)


def _end(way: str, job_id: str, path: Path, record: bytes) -> NoReturn:
    """End the job as a cluster does."""
    if way == "half":
        path.write_bytes(record[: len(record) // 2])
    if way == "cancelled":
        subprocess.run(["scancel", job_id], check=True)
        time.sleep(60)
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]))
