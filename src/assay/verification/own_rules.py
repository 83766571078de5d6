"""Verify a report of other judging rules by the code that made it: that of its own commit.

The commit's files are put into a temporary folder and its own ``verify`` is started there, apart
from this process: nothing of the caller's directory, ``PYTHONPATH`` or user site is imported, and
what the report's own code says decides. The packages are today's where that commit locks the same;
else its launcher makes an environment of its own, which goes with the folder.
"""

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assay.base.errors import CheckFailed, MissingEnvironment
from assay.base.io import read_bytes
from assay.base.isolation import host_packages, isolated
from assay.base.printable import shown_line
from assay.base.progress import quote, say, watch
from assay.records.manifest import ATTESTATION, SIGNER
from assay.shared.exit_codes import ExitCode
from assay.shared.files import write_bytes
from assay.shared.read_limits import MOST_ENVELOPE
from assay.verification.attestation import public_pem
from assay.verification.commit_tree import file_of, require_ancestor, write_tree
from assay.verification.envelope import dump_envelope, parse_envelope
from assay.verification.signatures import made_by
from assay.verification.trusted_keys import load_trusted_keys

LOCK = "requirements/host.txt"
STARTED_FOR = "ASSAY_VERIFIES_ITS_OWN"
"""Set where a commit's code was started to verify its own report: it starts no other."""
START = (
    "import os, runpy, sys; sys.path[:0] = sys.argv.pop(1).split(os.pathsep); "
    "runpy.run_module('assay.cli', run_name='__main__', alter_sys=True)"
)
TICK_S = 10.0
LINES_TOLD = 12
"""Of what it said before it ended without a result."""
_PASSED = re.compile(r"^ok +(\w+): (.*)$", re.MULTILINE)


class NotJudgedAgain(MissingEnvironment):
    """All else of a report holds, but nothing here can judge it again, or was asked to.

    ``rules`` are those it was judged by, ``commit`` the one whose code can.
    """

    def __init__(self, sentence: str, rules: int, commit: str | None) -> None:
        super().__init__(sentence)
        self.rules = rules
        self.commit = commit


@dataclass(frozen=True)
class OwnCode:
    """What a report's own code needs to verify it."""

    checkout: Path | None
    """Whose history holds the report's commit; None where there is no checkout."""
    keys: Sequence[Path]
    """Public keys that may have signed the report or what it took over."""

    def passed(self, report_dir: Path, commit: str | None) -> dict[str, str]:
        """Return what that code says of each check; raises as ``passed_by_commit``."""
        if self.checkout is None:
            raise MissingEnvironment("there is no checkout whose history holds its commit")
        with tempfile.TemporaryDirectory(prefix="assay-report-") as name:
            known = as_known_then(report_dir, self.keys, Path(name))
            return passed_by_commit(known, commit, self.keys, self.checkout)


def passed_by_commit(
    report_dir: Path, commit: str | None, keys: Sequence[Path], checkout: Path
) -> dict[str, str]:
    """Return what each check that a commit's own ``verify`` passes says, by the check's name.

    ``keys`` may have signed the report or what it took over. Raises CheckFailed with what that
    verification found wrong; MissingEnvironment where it cannot be run, with how to get it.
    """
    if STARTED_FOR in os.environ:
        raise CheckFailed("the commit that made the report judges by other rules than it says")
    found = require_ancestor(checkout, commit)
    try:
        with tempfile.TemporaryDirectory(prefix="assay-rules-") as name:
            folder = Path(name)
            write_tree(checkout, found, folder / "tree")
            return _verified(report_dir, found, keys, checkout, folder)
    except OSError as error:
        raise MissingEnvironment(
            f"commit {found[:12]} cannot be put into a temporary folder (TMPDIR names another "
            f"place): {error.strerror or error}"
        ) from error


def as_known_then(report_dir: Path, keys: Sequence[Path], folder: Path) -> Path:
    """Return the report as its own code knew it: a copy in ``folder``, where a stranger signed it,
    too: earlier versions refuse that.
    """
    envelope = parse_envelope(read_bytes(report_dir / ATTESTATION, MOST_ENVELOPE))
    trusted = load_trusted_keys(keys)
    made = {
        signature: key
        for signature in envelope.signatures
        for key in trusted
        if made_by(signature, envelope.pae(), key)
    }
    if len(made) == len(envelope.signatures):
        return report_dir
    copy = folder / report_dir.resolve().name
    shutil.copytree(report_dir, copy)
    write_bytes(copy / ATTESTATION, dump_envelope(replace(envelope, signatures=tuple(made))))
    write_bytes(copy / SIGNER, public_pem(next(iter(made.values())).key))
    return copy


def _verified(
    report_dir: Path, commit: str, keys: Sequence[Path], checkout: Path, folder: Path
) -> dict[str, str]:
    tree, log = folder / "tree", folder / "log"
    today = checkout / LOCK
    alike = today.is_file() and file_of(checkout, commit, LOCK) == today.read_bytes()
    says = "" if alike else ", with the packages that it locks, which takes minutes"
    say(f"{report_dir.name}: commit {commit[:12]} verifies it by its own rules{says}")
    first = os.pathsep.join(map(str, (tree / "src", *host_packages(os.environ))))
    start = ["-c", START, first] if alike else [str(tree / "assay")]
    options = [part for key in keys for part in ("--key", str(key.resolve()))]
    place = _plainly_placed(report_dir.resolve(), folder)
    code = watch(
        [sys.executable, "-I", *start, "verify", str(place), *options],
        log,
        _environment(os.environ, folder),
        tick_s=TICK_S,
        describe=lambda _: "",
        directory=tree,
    )
    text = log.read_text(errors="replace").replace(str(place), shown_line(str(report_dir)))
    return _outcome(code, text, commit)


def _plainly_placed(report_dir: Path, folder: Path) -> Path:
    """Return the report, or a copy in ``folder`` where its path has what no line of text holds.

    Earlier versions print the path as it is, and what they print says what they passed.
    """
    if str(report_dir).isprintable():
        return report_dir
    copy = folder / "report"
    shutil.copytree(report_dir, copy, symlinks=True)
    return copy


def _environment(environ: Mapping[str, str], folder: Path) -> dict[str, str]:
    """The caller's, but for what would change which code runs, where it looks, how it writes."""
    kept = ("ASSAY_PYTHON", "ASSAY_WHEELHOUSE")
    dropped = ("ASSAY_", "GIT_", "PYTHON", "FORCE_COLOR")
    own = {k: v for k, v in environ.items() if k in kept or not k.startswith(dropped)}
    return isolated(own) | {
        STARTED_FOR: "1",
        "GIT_CEILING_DIRECTORIES": str(folder),
        "NO_COLOR": "1",
        "PYTHONNOUSERSITE": "1",
    }


def _outcome(code: int, text: str, commit: str) -> dict[str, str]:
    """What passed. Raises CheckFailed where a check failed, MissingEnvironment where none could."""
    passed: dict[str, str] = dict(_PASSED.findall(text))
    if code == ExitCode.DONE and "verdicts" in passed:
        return passed
    said = [line.removeprefix("assay: ") for line in text.splitlines() if line.strip()]
    if code == ExitCode.CHECK_FAILED and "does not verify" in text:
        failed = [line.strip() for line in said if line.startswith("  ")]
        raise CheckFailed(f"commit {commit[:12]} finds: {'; '.join(failed) or said[-1]}")
    if code == ExitCode.BAD_INPUT:
        raise CheckFailed(f"commit {commit[:12]} cannot read the report: {said[-1:]}")
    quote("\n".join(said[-LINES_TOLD:-1]))
    raise MissingEnvironment(
        f"the code of commit {commit[:12]} ended with code {code} and verified nothing: "
        + (said[-1] if said else "it said nothing")
    )
