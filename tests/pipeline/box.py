"""A box of GPUs: a stand-in for the device's Python answers for each.

It sees the GPUs that CUDA_VISIBLE_DEVICES leaves, holds one at a time, and notes which unit it did
on which. One may fall off the bus in the middle, or be held by somebody else. Where the file
``whole`` lies beside it, benchmarks take the time that their records say.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from assay.base.check_log import CheckUnderWay
from assay.base.io import read_record
from assay.catalog.load import load_catalog
from assay.evidence.load import load_evidence
from assay.records.base import GpuRecord
from assay.records.plan import Provision
from assay.verification.gate import check_machines
from tests.library_checkout import copy_code, write_config
from tests.pipeline.stand_in import do_stages, take_answers, write_stand_in
from tests.report_fixtures import make_request, provision, write_run

RUN = "box"
NAMES = tuple(f"duel_{letter}" for letter in "abcdefgh")
H100S = tuple(f"GPU-{number:08d}-0000-0000-0000-000000000000" for number in range(8))
H200 = "GPU-00000200-0000-0000-0000-000000000000"
STAND_IN = """
target = jobs[0]["job"]["target"]["id"]
box = json.loads((folder / "box.json").read_text())
wanted = os.environ.get("CUDA_VISIBLE_DEVICES")
seen = [each for each in box[target] if wanted is None or each in wanted.split(",")]
if not seen:
    print(f"no GPU of {target} is visible", file=sys.stderr)
    sys.exit(3)
gpu = seen[0]

for job in jobs:
    output, name = Path(job["output"]), comparison_of(job)
    if job["task"] == "device":
        if gpu in listed("absent"):
            print(f"{gpu} does not answer", file=sys.stderr)
            sys.exit(3)
        device = json.loads((folder / f"device.{target}.json").read_text())
        device["gpu"] |= {"uuid": gpu, "index": box[target].index(gpu)}
        output.write_text(json.dumps(device))
        continue
    if gpu in listed("held"):
        print(f"{gpu} is in use: 1 other process", file=sys.stderr)
        sys.exit(3)
    with (folder / "units").open("a") as log:
        log.write(f"{job['task']} {name} {gpu}\\n")
    if f"{job['task']}.{name}" in listed("lost"):
        (folder / "lost").unlink()
        with (folder / "held").open("a") as log:
            log.write(f"{gpu}\\n")
        print(f"{gpu} has fallen off the bus", file=sys.stderr)
        sys.exit(3)
    source = next((folder / "records" / target / job["task"]).glob(f"{name}.json*")).read_bytes()
    record = json.loads(unpacked(source))
    began, record["gpu_uuid"], record["seconds"] = now(), gpu, 0.12
    if job["task"] == "benchmark":
        record["recorded_at"] = began
        asked_processes(record, job)
    if job["task"] == "benchmark" and (folder / "whole").exists():
        without_pauses(record)
    time.sleep(record["seconds"] + 0.005)
    record["on_gpu"] = {"began": began, "ended": now()}
    put(output, json.dumps(record).encode())
"""


class Box:
    """A checkout, and a machine with GPUs of one product or of two."""

    def __init__(
        self, folder: Path, gpus: dict[str, tuple[str, ...]], profiled: Sequence[str] = ()
    ) -> None:
        self.folder, self.root, self.gpus = folder, folder / "checkout", gpus
        write_config(self.root, list(gpus), NAMES, profiled=profiled)
        made = write_run(self.root, "made", [provision(target) for target in gpus])
        for target in gpus:
            records, device = folder / "records" / target, folder / f"device.{target}.json"
            take_answers(made / target, records, device)
        (folder / "box.json").write_text(json.dumps(gpus))
        copy_code(self.root)
        self.python = folder / "python"
        write_stand_in(self.python, STAND_IN, folder)

    def measure(self, *stages: str, **gpus: tuple[str, ...]) -> None:
        """Do stages of every target, up to the benchmark by default; ``gpus``: those that are
        offered now.
        """
        offered = gpus or self.gpus
        provisions: list[Provision] = [
            provision(target, gpus=uuids) for target, uuids in offered.items()
        ]
        request = make_request(RUN, provisions, ["fixture"]).model_copy(
            update={"device_python": str(self.python)}
        )
        for target in offered:
            asked = stages or ("correctness", "benchmark")
            do_stages(self.root, request, target, "platform", *asked)

    def say(self, file: str, *words: str) -> None:
        """Tell the stand-in which GPUs are ``held`` or ``absent``, or on what one is ``lost``."""
        (self.folder / file).write_text("\n".join(words))

    def units(self) -> list[tuple[str, str, str]]:
        log = self.folder / "units"
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return [(task, name, gpu) for task, name, gpu in (line.split() for line in lines)]

    def records(self, record: type[GpuRecord], stage: str, target: str = "h100") -> dict[str, str]:
        found = (self.root / "results" / RUN / target / stage).glob("[!.]*")
        return {path.name.split(".")[0]: read_record(record, path).gpu_uuid for path in found}

    @property
    def results(self) -> Path:
        return self.root / "results" / RUN

    def refusals(self) -> list[tuple[str, str]]:
        evidence = load_evidence(self.results)
        check_machines(load_catalog(self.root), evidence, says := CheckUnderWay())
        return says.refusals
