"""A run that was fetched: its report is signed here, verified, and put in its place with the run.

Until then it lies in a folder that goes away: nothing half-fetched is left, and nothing that does
not verify bears this machine's signature.
"""

from dataclasses import dataclass
from pathlib import Path

from assay.base.commits import git_state
from assay.base.errors import BadInput, CheckFailed
from assay.base.io import read_record
from assay.pipeline.run_files import REPORTS, REQUEST, RESULTS, VERIFIED, require_own_places
from assay.pipeline.steps import sign_own, verify_own
from assay.records.manifest import ATTESTATION, SIGNER, VERDICTS
from assay.records.plan import Request
from assay.report.replaceable import require_replaceable
from assay.shared.files import write_bytes

LOG = Path("logs", "remote.log")
"""Of a run: what it said on the machine that it ran on; tells a fetched run from others."""


@dataclass(frozen=True)
class Signing:
    """Who signs here, and by which further keys the report is verified."""

    key: Path
    trusted: tuple[Path, ...]


def require_place(home: Path, run: str) -> None:
    """Raise BadInput where a run of that name is here that was not fetched, or lies elsewhere."""
    require_own_places(home, run)
    results, report = home / RESULTS / run, home / REPORTS / run
    if (results.exists() or report.exists()) and not (results / LOG).is_file():
        raise BadInput(
            f"a run '{run}' is in {home} already, and was not fetched from elsewhere: name "
            "another one with --run"
        )
    require_replaceable(report)


def settle(root: Path, home: Path, run: str, fetched: Path, signing: Signing) -> Request:
    """Sign what was fetched, verify it, and put it where runs lie; return its request, as of here.

    ``root``: this repository. Raises CheckFailed for what is no finished run or does not verify.
    """
    results, report = fetched / "results", fetched / "report"
    needed = (report / VERDICTS, results / REQUEST, fetched / "log")
    if not all(path.is_file() for path in needed):
        raise CheckFailed("what was fetched holds no finished report")
    commit, clean = git_state(root)
    request = read_record(Request, results / REQUEST).model_copy(
        update={
            "home": None if home == root else str(home),
            "signing_key": str(signing.key.resolve()),
            "unsigned_for": None,
            "extra_keys": tuple(str(path.resolve()) for path in signing.trusted),
            "commit": commit,
            "clean_tree": clean,
        }
    )
    if request.run != run:
        raise CheckFailed(f"what was fetched is run '{request.run}', not '{run}'")
    for name in (ATTESTATION, SIGNER):
        (report / name).unlink(missing_ok=True)
    sign_own(report, request)
    found = verify_own(root, report, request)
    write_bytes(results / VERIFIED, found.encode())
    write_bytes(results / LOG, (fetched / "log").read_bytes())
    for new, place in ((results, home / RESULTS / run), (report, home / REPORTS / run)):
        place.parent.mkdir(exist_ok=True)
        if place.exists():
            place.rename(fetched / f"old_{place.parent.name}")
        new.rename(place)
    return request
