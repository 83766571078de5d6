"""The small signed reports that cases start from, each made once in a session.

A base is a folder with a repository ``repo``, the trusted key ``key`` and a stranger's, ``enemy``.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

from assay.base.pip_locks import TOOLCHAIN_LOCK
from assay.evidence.stages import TARGET_STAGES
from assay.evidence.timings import write_timing
from assay.records.timings import Stage
from assay.report.render import render
from assay.shared.files import write_bytes
from assay.verification.sign import load_or_create_signer, sign, write_public_key
from tests.checkout_fixtures import (
    JOBS,
    describe_checkout_claims,
    with_checkout,
    write_checkout_records,
)
from tests.report_fixtures import (
    LOCK,
    TARGET,
    WHEN,
    provision,
    recorded_run,
    signed_report,
    write_repository,
    write_run,
    write_verdicts,
)

RUN = "demo_run"
BEFORE_S = 8.0
"""How long a step had run before it recorded something: programs run before they are recorded."""
OTHER_RUN = "other_run"
"""Of a second report that the same key signed."""
SECOND_CLAIMS = """
schema: assay/project/1
sources:
  - {id: second, title: A second source, date: "2025-11-02", file: second.txt, sha256: SHA}
claims:
  - id: second_rate
    kind: measurement
    statement: The same kernel elsewhere
    place: {section: Results, line: 3}
    value: 200
    unit: tflop_per_s
    resolution: 1
    hardware: {target: h200, as_stated: H200}
    flop_formula: nnz
    evaluation: {kind: benchmark, metric: rate, terms: [{comparison: demo_sweep, arm: bk32}]}
"""


def report(base: Path) -> None:
    """A report of one GPU, with the times of its steps and the compilers' lock, and another run's
    by the same key.
    """
    root = write_repository(base / "repo")
    write_bytes(root / TOOLCHAIN_LOCK, LOCK.encode())
    for run in (RUN, OTHER_RUN):
        run_dir = write_run(root, run)
        _time_steps(run_dir)
        signed_report(root, run)


def _time_steps(run_dir: Path) -> None:
    """Keep timings of all that was recorded of the target."""
    for stage in TARGET_STAGES:
        began = datetime.fromisoformat(WHEN) - timedelta(seconds=BEFORE_S)
        write_timing(run_dir, stage.stage, {"target": "h100"}, began, BEFORE_S + 20.0)


def taken_over(base: Path) -> None:
    """A report of a machine without a GPU, with the figures of another report."""
    root = write_repository(base / "repo")
    run_dir = write_run(root, "first_run")
    _time_steps(run_dir)
    first = signed_report(root, "first_run")
    run_dir = recorded_run(root, RUN, first)
    render(root, run_dir, root / "reports" / RUN)
    sign(root / "reports" / RUN, base / "key")


def pair(base: Path) -> None:
    """A report of two GPUs and two sources."""
    root = write_repository(base / "repo")
    target = TARGET.replace("H100 80GB HBM3", "H200").replace("h100", "h200")
    (root / "config" / "targets" / "h200.yaml").write_text(target)
    (root / "config" / "claims" / "second.yaml").write_text(SECOND_CLAIMS.replace("SHA", "cd" * 32))
    write_run(root, RUN, [provision(), provision("h200")])
    signed_report(root, RUN)


def checkout(base: Path) -> None:
    """A report of a user who has the source's checkout: its program ran, a file was compiled."""
    root = write_repository(base / "repo")
    describe_checkout_claims(root)
    run_dir = write_run(root, RUN, asking=with_checkout)
    _time_steps(run_dir)
    for job in JOBS:
        given = {"artifact": job.compilation, "arch": job.arch}
        write_timing(run_dir, Stage.FILE_COMPILE, given, datetime.fromisoformat(WHEN), 5.0)
    write_checkout_records(run_dir, WHEN)
    write_verdicts(root, run_dir)
    signed_report(root, RUN)


MAKERS: dict[str, Callable[[Path], None]] = {
    "report": report, "taken_over": taken_over, "pair": pair, "checkout": checkout,
}  # fmt: skip


def make_base(name: str, folder: Path) -> Path:
    """Make a base below ``folder``; returns its folder."""
    base = folder / MAKERS[name].__name__
    if not base.is_dir():
        base.mkdir()
        MAKERS[name](base)
        write_public_key(base / "enemy", load_or_create_signer(base / "enemy"))
    return base
