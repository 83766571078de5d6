"""A checkout that measures through Slurm: a stand-in for each target's device and for its driver.

The driver is a ``nvidia-smi`` that answers by the node it runs on, and the device's Python hands
out made-up records of the card that CUDA_VISIBLE_DEVICES names (see
``tests.pipeline.test_batched_workflow``). Files in the folder change both: ``gpu.NODE`` is what a
node's driver lists, ``lost.NODE`` has it answer once with an error.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from assay.base.io import read_record
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.evidence.stages import PLATFORMS
from assay.pipeline.slurm_jobs import jobs_of
from assay.records.cluster import CLUSTER_FILE
from assay.records.platform import Device, PlatformRecord
from assay.shared.files import write_bytes
from assay.shared.processes import tied_to_parent
from tests.library_checkout import copy_code, write_config
from tests.pipeline.stand_in import (
    answer_beside,
    own_environment,
    take_answers,
    waited,
    write_program,
    write_stand_in,
)
from tests.pipeline.test_batched_workflow import STAND_IN
from tests.report_fixtures import provision, write_run
from tests.slurm.cluster import SITE, Cluster

DRIVER = """#!/bin/sh
if [ -e {folder}/lost.$SLURMD_NODENAME ]; then
    rm {folder}/lost.$SLURMD_NODENAME; echo "GPU has fallen off the bus"; exit 15
fi
case "$1" in
    --query-gpu=*) cat {folder}/gpu.$SLURMD_NODENAME;;
esac
"""
DEVICE = """#!/usr/bin/env -S "{python}"
import json, os, sys
from pathlib import Path

if sys.argv[1:] == ["--version"]:
    sys.exit(0)
target = json.loads(Path(sys.argv[3]).read_text())["job"]["target"]["id"]
python = str(Path({folder!r}) / target / "python")
os.execv(python, [python, *sys.argv[1:]])
"""


class MeasuredCheckout:
    """A repository, and the answers of its targets' devices."""

    def __init__(self, folder: Path, targets: Sequence[str], names: Sequence[str]) -> None:
        self.folder, self.root = folder, folder / "checkout"
        self.commands: list[subprocess.Popen[bytes]] = []
        write_config(self.root, targets, names, profiled=["first"])
        made = write_run(self.root, "made", [provision(target) for target in targets])
        catalog = load_catalog(self.root)
        for target in targets:
            device = self._answer(catalog, made / target, target, names)
            gpu = device.gpu
            self.lists(target, f"0, {gpu.uuid}, 580.65.06, Disabled, {gpu.product}")
        shutil.rmtree(made)
        copy_code(self.root)
        write_bytes(self.root / CLUSTER_FILE, SITE.encode())
        write_program(folder / "bin" / "nvidia-smi", DRIVER.format(folder=folder))
        device = DEVICE.format(python=sys.executable, folder=str(folder))
        write_program(folder / "python", device)

    def _answer(self, catalog: Catalog, made: Path, target: str, names: Sequence[str]) -> Device:
        """Have the first card of a target hand out what was ``made``; returns what it is."""
        answers = self.folder / target / "records"
        device = take_answers(made, answers, self.folder / target / "device.json")
        answer_beside(answers, catalog, target, names)
        write_stand_in(self.folder / target / "python", STAND_IN, self.folder / target)
        return device

    def lists(self, node: str, gpus: str) -> None:
        write_bytes(self.folder / f"gpu.{node}", f"{gpus}\n".encode())

    def moves(self, target: str, node: str) -> None:
        """Have a target's jobs run on another node, in the partition of its name."""
        self.lists(node, (self.folder / f"gpu.{target}").read_text().strip())
        site = f"{SITE}jobs: {{partition: {node}}}\n"
        write_bytes(self.root / CLUSTER_FILE, site.encode())

    def stop(self) -> None:
        """End commands that a failed test left running."""
        for command in self.commands:
            if command.poll() is None:
                kill_outright(command)

    def starts(self, target: str) -> list[str]:
        """The task and comparisons of each start of a target's device side."""
        return (self.folder / target / "starts").read_text().splitlines()


@dataclass(frozen=True)
class MeasuredRun:
    """One run of it."""

    place: MeasuredCheckout
    name: str

    def start(self, *more: str) -> "subprocess.Popen[bytes]":
        """Start its command, whose words go to the file ``said``."""
        folder, root = self.place.folder, self.place.root
        path = f"{folder / 'bin'}:{os.environ['PATH']}"
        environment = {**own_environment(root, folder), "PATH": path}
        words = ["reproduce", "--executor", "slurm", "--run", self.name, "--cores", "2", *more]
        words += ["--device-python", str(folder / "python"), "--signing-key", str(folder / "key")]
        with (folder / "said").open("a") as log:
            command = subprocess.Popen(
                [sys.executable, "-m", "assay.cli", *words],
                cwd=root, env=environment, stdout=log, stderr=log, preexec_fn=tied_to_parent(),
            )  # fmt: skip
        self.place.commands.append(command)
        return command

    @property
    def folder(self) -> Path:
        return self.place.root / "results" / self.name

    def said(self) -> str:
        log = self.folder / "logs" / "snakemake.log"
        words = (self.place.folder / "said").read_text()
        return f"{words[-4000:]}\n{log.read_text()[-4000:] if log.exists() else ''}"

    def jobs(self, *states: str) -> list[str]:
        return jobs_of(self.folder, *states)

    def job(self, cluster: Cluster, state: str) -> str:
        """The id of its one job in a state, once there is one."""
        assert waited(lambda: self.jobs(state)), self.said() + cluster.logs()
        return self.jobs(state)[0]

    def platform(self, target: str) -> PlatformRecord:
        return read_record(PlatformRecord, self.folder / PLATFORMS.path(target))


def kill_outright(command: "subprocess.Popen[bytes]") -> None:
    """Kill a command and its Snakemake as a power cut would: neither cancels a job."""
    os.kill(command.pid, signal.SIGSTOP)
    children = Path(f"/proc/{command.pid}/task/{command.pid}/children").read_text().split()
    for pid in (*map(int, children), command.pid):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    command.wait()
