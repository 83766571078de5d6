"""A copy of a small signed report that a case changes, who signs it then, and what verify says."""

import base64
import gzip
import json
import multiprocessing
import resource
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from assay.base.errors import AssayError
from assay.base.io import dump_record, write_record
from assay.catalog.load import load_catalog
from assay.evidence.load import load_evidence
from assay.judging.judge import judge
from assay.report.render import render_contents
from assay.shared.files import sha256_bytes, write_bytes, write_json
from assay.verification.attestation import load_signer
from assay.verification.envelope import seal
from assay.verification.made_again import Renderer
from assay.verification.manifest import build_manifest
from assay.verification.policy import Policy
from assay.verification.report_archive import opened_report
from assay.verification.sign import sign
from assay.verification.verify import VerificationLog, verify
from tests.cases.bases import RUN
from tests.report_fixtures import COMMIT

MOST_ADDRESSES = 8 << 30
"""Bytes after which the process that verifies gets no more."""
DROP = object()
"""In place of a value: the member is left out."""


@dataclass
class Site:
    """What a change gets: the report to be changed, and all that somebody verifies it with."""

    base: Path
    """Shared by cases: to be read only."""
    scratch: Path
    """The case's own folder."""
    report: Path
    """The copy, in the scratch folder."""
    given: Path
    """What verify is asked about."""
    keys: list[Path]
    payload: bytes = b""
    """The statement that is to be sealed, where the case says so."""
    repository: Path | None = None
    policy: Policy | None = None
    rendered_by: str | None = None
    """The commit that renders the pages again; None: nobody does."""
    evidence: Path = field(init=False)

    def __post_init__(self) -> None:
        self.evidence = self.report / "evidence"

    def read(self, path: str) -> Any:
        data = (self.report / path).read_bytes()
        return json.loads(gzip.decompress(data) if path.endswith(".gz") else data)

    def edit(self, path: str, member: str, value: Any) -> None:
        document = self.read(path)
        set_in(document, member, value)
        write_json(document, self.report / path)

    def state(self, member: str, value: Any) -> None:
        statement = json.loads(self.payload or self.sealed())
        set_in(statement, member, value)
        self.payload = spelled(statement)

    def sealed(self, path: str = "attestation.json") -> bytes:
        """Return the payload of an envelope of the report."""
        return base64.b64decode(self.read(path)["payload"])

    def put(self, path: str, data: bytes) -> None:
        write_bytes(self.report / path, data)

    def seal(self, payload: bytes, who: str = "key") -> bytes:
        """Return an envelope that the trusted key signs, or whoever is named."""
        return seal(payload, load_signer(self.base / who))


def set_in(document: Any, member: str, value: Any) -> None:
    """Set ``device.gpu.mig``, ``arms.0.flop`` or ``arms.*.flop`` (of each); a function as a value
    takes the old one.
    """
    *parts, last = member.split(".")
    holders = [document]
    for part in parts:
        holders = [each for holder in holders for each in _members(holder, part)]
    for holder in holders:
        keys = range(len(holder)) if last == "*" else [_key(holder, last)]
        for key in keys:
            if value is DROP:
                del holder[key]
            else:
                holder[key] = value(holder[key]) if callable(value) else value


def _members(holder: Any, part: str) -> list[Any]:
    return list(holder) if part == "*" else [holder[_key(holder, part)]]


def _key(holder: Any, part: str) -> str | int:
    return int(part) if isinstance(holder, list) else part


def spelled(document: Any) -> bytes:
    """Return a statement as signing spells it."""
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _listed(site: Site) -> None:
    """The manifest lists the files as they are, and nobody signs it."""
    site.put("manifest.json", dump_record(build_manifest(site.report, RUN)))


def _manifest(site: Site) -> None:
    """The trusted key signs the manifest as the change left it."""
    digest = sha256_bytes((site.report / "manifest.json").read_bytes())
    site.state("subject.0.digest.sha256", digest)
    _payload(site)


def _payload(site: Site) -> None:
    """The trusted key signs the statement that the change made."""
    site.put("attestation.json", site.seal(site.payload or site.sealed()))


def _trusted(site: Site) -> None:
    """The trusted key signs what lies there; of what it cannot read it says what it said before."""
    try:
        sign(site.report, site.base / "key")
    except (AssayError, ValueError, RecursionError):
        _listed(site)
        _manifest(site)


def _judged(site: Site) -> None:
    """Verdicts are judged anew from the evidence as it stands; then the trusted key signs."""
    verdicts = judge(load_catalog(site.evidence), load_evidence(site.evidence))
    write_record(verdicts, site.report / "verdicts.json")
    sign(site.report, site.base / "key")


def _enemy(site: Site) -> None:
    """A key that nobody trusts signs all of it, and lies beside it."""
    sign(site.report, site.base / "enemy")


SIGNERS: dict[str, Callable[[Site], None]] = {
    "none": lambda site: None, "listed": _listed, "manifest": _manifest, "payload": _payload,
    "trusted": _trusted, "judged": _judged, "enemy": _enemy,
}  # fmt: skip
"""Who signs after the change, and how careless or dishonest they are."""


@dataclass(frozen=True)
class Outcome:
    """What came of verifying."""

    code: str | None
    """Of the refusal; None where it verified."""
    exit: int
    says: str
    unproven: tuple[str, ...]
    seconds: float
    peak: int
    """Bytes of memory, of this one verification."""


def make_verifier() -> ProcessPoolExecutor:
    """Return a process that verifies, one report after the other: no case takes pytest along."""
    context = multiprocessing.get_context("spawn")
    limits = resource.RLIMIT_AS, (MOST_ADDRESSES, MOST_ADDRESSES)
    return ProcessPoolExecutor(
        1, mp_context=context, initializer=resource.setrlimit, initargs=limits
    )


def outcome_of(site: Site) -> Outcome:
    """Verify what the site gives, and tell what came of it; to be called in that process."""
    with suppress(OSError):  # begin the peak anew; where that cannot be, it is an earlier one's
        Path("/proc/self/clear_refs").write_text("5")
    started = time.monotonic()
    code, exit_code, says = None, 0, "verified"
    unproven: tuple[str, ...] = ()
    texts = partial(render_contents, site.base / "repo")
    renderer = Renderer(texts, site.rendered_by, True) if site.rendered_by else None
    try:
        with opened_report(site.given) as folder:
            log = VerificationLog(called=None if folder == site.given else (folder, site.given))
            unproven = verify(
                folder, site.keys, site.repository, renderer, policy=site.policy, log=log
            ).unproven
    except AssayError as error:
        code, exit_code, says = error.code, int(error.exit_code), str(error)
    seconds = time.monotonic() - started
    status = Path("/proc/self/status").read_text()
    peak = int(status.split("VmHWM:")[1].split()[0]) * 1024
    return Outcome(code, exit_code, says, unproven, seconds, peak)


def make_site(base: Path, scratch: Path, asked: str = "") -> Site:
    """Copy the base's report into ``scratch``, and set up its verifier.

    ``asked``: ``texts`` has the pages rendered by the version that made them, ``other texts`` by
    another, ``policy`` holds the report to the rules of the base's repository, ``accepted`` too.
    """
    report = Path(shutil.copytree(base / "repo" / "reports" / RUN, scratch / RUN))
    return Site(
        base, scratch, report, report, [base / "key.pub"],
        policy=Policy(base / "repo", asked == "accepted") if asked in POLICY else None,
        rendered_by={"texts": COMMIT, "other texts": "f" * 40}.get(asked),
    )  # fmt: skip


POLICY = ("policy", "accepted")
