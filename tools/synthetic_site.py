"""How long a site over many reports takes, and how much it is: tried with synthetic ones.

``python -m tools.synthetic_site REPORT_DIR FOLDER --count 1000`` makes so many signed reports of
the size of REPORT_DIR below FOLDER (they share its evidence by hard links), keeps them as verified
under figures that scatter, and writes a site over them. Their verifications are made up, which is
why they are kept in FOLDER and nowhere else: REPORT_DIR's own is made, and its time told.
"""

import argparse
import os
import random
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from assay.base.errors import AssayError
from assay.base.io import dump_record, parse_record
from assay.cli.commands.site import site_of, write_site
from assay.cli.given_reports import reader
from assay.findings.given_report import GivenReport
from assay.pipeline.verified_figures import ReportReader, keep
from assay.records.manifest import ATTESTATION, MANIFEST, SIGNER, Manifest
from assay.records.report_figures import ReportFigure, VerifiedReport
from assay.records.verdicts import Status
from assay.shared.files import sha256_bytes, write_bytes
from assay.verification.attestation import parse_statement, public_pem, seal
from assay.verification.envelope import parse_envelope
from assay.verification.manifest import walk
from assay.verification.report_archive import report_name
from assay.verification.sign import load_or_create_signer

ROOT = Path(__file__).resolve().parents[1]
SCATTER = 0.02
"""Standard deviation of a figure between reports, a fraction."""
SEED = 20261122


def synthetic_report(base: Path, folder: Path, run: str, key: Path) -> Path:
    """Make a report of another run's name with a base report's files; return its directory."""
    report = folder / run
    for path in walk(base):
        if path not in (MANIFEST, ATTESTATION, SIGNER):
            (report / path).parent.mkdir(parents=True, exist_ok=True)
            os.link(base / path, report / path)
    listed = parse_record(Manifest, (base / MANIFEST).read_bytes(), base / MANIFEST)
    manifest = dump_record(listed.model_copy(update={"run": run}))
    statement = parse_statement(parse_envelope((base / ATTESTATION).read_bytes()))
    digest = statement.subject[0].digest.model_copy(update={"sha256": sha256_bytes(manifest)})
    subject = statement.subject[0].model_copy(update={"digest": digest})
    predicate = statement.predicate.model_copy(update={"run": run})
    changed = statement.model_copy(update={"subject": (subject,), "predicate": predicate})
    signer = load_or_create_signer(key)
    write_bytes(report / MANIFEST, manifest)
    write_bytes(report / SIGNER, public_pem(signer.public_key))
    write_bytes(report / ATTESTATION, seal(changed, signer))
    return report


def made_up(base: GivenReport, report: Path, number: int, keyid: str) -> VerifiedReport:
    """Return what is kept of a synthetic report: the base's figures, each a little off."""
    draw = random.Random(SEED + number)  # noqa: S311 - no secret
    day = f"2026-{1 + number // 28 % 12:02d}-{1 + number % 28:02d}T{number % 24:02d}:00:00+00:00"
    machines = tuple(
        machine.model_copy(
            update={"gpu_uuid": f"GPU-{number % 97:08x}-{machine.target}", "recorded_at": day}
        )
        for machine in base.figures.machines
    )
    figures = base.figures.model_copy(
        update={
            "run": report.name,
            "manifest_sha256": sha256_bytes((report / MANIFEST).read_bytes()),
            "created": f"{day[:19]}Z",
            "machines": machines,
            "figures": tuple(_scattered(figure, draw) for figure in base.figures.figures),
        }
    )
    return VerifiedReport(
        schema="assay/verified_report/1", keyid=keyid, signer="synthetic", unproven=(),
        figures=figures,
    )  # fmt: skip


def _scattered(figure: ReportFigure, draw: random.Random) -> ReportFigure:
    if not isinstance(figure.measured, float) or figure.ci90 is None:
        return figure
    factor = draw.lognormvariate(0, SCATTER)
    status = draw.choice(list(Status)) if draw.random() < SCATTER else figure.status
    low, high = figure.ci90
    changes = {"measured": figure.measured * factor, "ci90": (low * factor, high * factor)}
    return figure.model_copy(update=changes | {"status": status})


def try_site(base: Path, folder: Path, count: int) -> dict[str, float]:
    """Make the reports and the site; return seconds, and the sizes of all and of the largest page.

    Seconds of one uncached verification and of all synthetic reports' reading and writing.
    """
    key = folder / "key.pem"
    signer = load_or_create_signer(key)
    public = folder / "key.pem.pub"
    write_bytes(public, public_pem(signer.public_key))
    started = time.monotonic()
    original = reader(None, fresh=True).read(base)
    uncached = time.monotonic() - started
    known = reader([public])
    kept = ReportReader(known.verifier, known.keys, ROOT, folder / "kept")
    reports = []
    for number in range(count):
        report = synthetic_report(base, folder / "reports", f"synthetic_{number:04d}", key)
        place = kept.place(report)
        assert place is not None
        keep(made_up(original, report, number, str(signer.public_key.keyid)), place)
        reports.append(report)
    started, worked = time.monotonic(), time.process_time()
    write_site(site_of(_given(kept, reports)), ROOT / "reports" / "templates", folder / "site")
    seconds, busy = time.monotonic() - started, time.process_time() - worked
    sizes = {path: path.stat().st_size for path in (folder / "site").rglob("*") if path.is_file()}
    return {
        "uncached_s": uncached,
        "cached_s": seconds,
        "cached_cpu_s": busy,
        "files": len(sizes),
        "bytes": sum(sizes.values()),
        "largest_bytes": max(sizes.values()),
    }


def _given(kept: ReportReader, reports: Iterable[Path]) -> Iterator[GivenReport]:
    for report in reports:
        given = kept.read(report)
        assert given.kept, given.note
        yield given


def main(arguments: Sequence[str]) -> int:
    """Return the exit code, as the command line of Assay has them."""
    parser = argparse.ArgumentParser(prog="python -m tools.synthetic_site")
    parser.add_argument("report", type=Path, metavar="REPORT_DIR")
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--count", type=int, default=1000)
    given = parser.parse_args(arguments)
    try:
        found = try_site(given.report, given.folder, given.count)
    except AssayError as error:
        print(f"assay: {error}", file=sys.stderr)
        return error.exit_code
    print(
        f"{given.count} reports like {report_name(given.report)}: {found['cached_s']:.1f} s where "
        f"they were verified before ({found['cached_cpu_s']:.1f} s of a processor); verifying one "
        f"takes {found['uncached_s']:.1f} s, all "
        f"{found['uncached_s'] * given.count / 3600:.1f} h; {found['files']:.0f} files, "
        f"{found['bytes'] / 1e6:.1f} MB, the largest {found['largest_bytes'] / 1e6:.2f} MB"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
