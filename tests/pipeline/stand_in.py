"""A stand-in for the device's Python: it hands out made-up records for the jobs it is given.

What all of them share stands here; a test gives the body, which goes through ``jobs``.
"""

import os
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from assay.base.io import dump_record, read_record, write_record
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.evidence.timings import write_timing
from assay.pipeline.plan import make_plan
from assay.pipeline.run_files import bind_run, run_path
from assay.pipeline.steps import Steps
from assay.records.plan import Request
from assay.records.platform import Device, PlatformRecord
from assay.shared.files import write_bytes
from tests.report_fixtures import cheats, sanitizer, stopwatch

PRELUDE = """#!/usr/bin/env -S "{python}"
import datetime, gzip, json, os, sys, time
from pathlib import Path

if sys.argv[1:] == ["--version"]:
    sys.exit(0)
folder, jobs = Path({folder!r}), [json.loads(Path(path).read_text()) for path in sys.argv[3:]]

def now():
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")

def listed(name):
    path = folder / name
    return path.read_text().split() if path.exists() else []

def comparison_of(job):
    return job["job"].get("comparison", {{}}).get("id", "")

def unpacked(data):
    return gzip.decompress(data) if data[:2] == b"\\x1f\\x8b" else data

def put(output, data):
    data = unpacked(data)
    output.write_bytes(gzip.compress(data) if output.suffix == ".gz" else data)

def asked_processes(record, job):
    made, first, last = record["processes"], job["job"]["first"], job["job"]["processes"]
    record["processes"] = [{{**made[n % len(made)], "index": n}} for n in range(first, last)]

def without_pauses(record):
    for process in record["processes"]:
        turns = [turn for block in process["blocks"] for turn in block["turns"]]
        process["seconds"] = max(turn["ended_s"] for turn in turns)
    record["seconds"] = sum(process["seconds"] for process in record["processes"])

"""


def write_stand_in(path: Path, body: str, folder: Path) -> None:
    write_program(path, PRELUDE.format(python=sys.executable, folder=str(folder)) + body)


def write_program(path: Path, text: str) -> None:
    write_bytes(path, text.encode())
    path.chmod(0o755)


def own_environment(root: Path, folder: Path) -> dict[str, str]:
    """Return the variables of somebody who starts the checkout and whose home is in ``folder``."""
    return {
        **os.environ,
        "ASSAY_ROOT": str(root),
        "ASSAY_LOCK_DIR": str(folder / "locks"),
        "HOME": str(folder / "home"),
        "PYTHONPATH": str(root / "src"),
    }


def waited(condition: Callable[[], object], seconds: float = 300.0) -> bool:
    limit = time.monotonic() + seconds
    while not condition():
        if time.monotonic() >= limit:
            return False
        time.sleep(0.05)
    return True


def answer_beside(records: Path, catalog: Catalog, target: str, names: Sequence[str]) -> None:
    """Have the device hand out what stands beside the figures of comparisons, all of it well."""
    for name in names:
        write_record(stopwatch(catalog, name, target), records / "stopwatch" / f"{name}.json")
    write_record(cheats(target), records / "cheats" / "cheats.json")
    clean = sanitizer(target, catalog.targets[target].arch, ())
    write_record(clean, records / "sanitize" / "sanitize.json")


def take_answers(made: Path, records: Path, device: Path) -> Device:
    """Take the records of comparisons, and what its GPU is, from a target of a made-up run."""
    for stage in ("correctness", "benchmark"):
        shutil.copytree(made / stage, records / stage)
    found = read_record(PlatformRecord, made / "platform.json").device
    write_bytes(device, dump_record(found))
    return found


def do_stages(root: Path, request: Request, target: str, *stages: str) -> None:
    """Do stages of a target here, one after the other, as the job of a target does all of them."""
    catalog = load_catalog(root)
    bind_run(root, catalog, request, make_plan(catalog, request))
    steps = Steps(root, run_path(request))
    for stage in stages:
        began, started = datetime.now(UTC), time.monotonic()
        getattr(steps, stage)(target)
        seconds, (held, steps.held) = time.monotonic() - started, (steps.held, {})
        write_timing(steps.run_dir, stage, {"target": target}, began, seconds, held)
