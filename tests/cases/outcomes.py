"""Verifying in a process of its own, with its time and memory: no case takes pytest along."""

import multiprocessing
import resource
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from assay.base.errors import AssayError
from assay.report.render import render_contents
from assay.verification.rendered_again import Renderer
from assay.verification.report_archive import opened_report
from assay.verification.verify import VerificationLog, verify
from tests.cases.site import Site
from tests.report_fixtures import COMMIT

MOST_SECONDS = 10.0
MOST_MEMORY = 500_000_000
"""Bytes of the process that verifies, at its peak: what docs/trust.md promises of any refusal."""
MOST_ADDRESSES = 8 << 30
"""Bytes after which that process gets no more: what is wrong then is known all the same."""


@dataclass(frozen=True)
class Outcome:
    """What came of verifying."""

    exit: int
    code: str | None
    says: str
    unproven: tuple[str, ...]
    seconds: float
    peak: int
    """Bytes of memory, of this one verification."""


def make_verifier() -> ProcessPoolExecutor:
    """Return a process that verifies, one report after the other."""
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(1, mp_context=context, initializer=_limit)


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_ADDRESSES, MOST_ADDRESSES))


def outcome_of(site: Site) -> Outcome:
    """Verify what the site gives, and tell what came of it; to be called in that process.

    The peak is the program's own: that of ``getrusage`` would be its parent's as well.
    """
    with suppress(OSError):  # begin the peak anew; where that cannot be, it is an earlier one's
        Path("/proc/self/clear_refs").write_text("5")
    started = time.monotonic()
    code, exit_code, says = None, 0, "verified"
    unproven: tuple[str, ...] = ()
    try:
        with opened_report(site.given) as folder:
            unproven = verify(
                folder, site.keys, repository=site.repository, renderer=_renderer(site),
                policy=site.policy,
                log=VerificationLog(called=None if folder == site.given else (folder, site.given)),
            ).unproven  # fmt: skip
    except AssayError as error:
        code, exit_code, says = error.code, int(error.exit_code), str(error)
    seconds = time.monotonic() - started
    status = Path("/proc/self/status").read_text()
    peak = int(status.split("VmHWM:")[1].split()[0]) * 1024
    return Outcome(exit_code, code, says, unproven, seconds, peak)


def _renderer(site: Site) -> Renderer | None:
    if not site.texts:
        return None
    commit = "f" * 40 if site.as_other_version else COMMIT
    return Renderer(partial(render_contents, site.base / "repo"), commit, True)
