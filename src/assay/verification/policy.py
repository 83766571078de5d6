"""Whose rules a report was judged by: its configuration against the verifier's own.

Margins, confidence, tolerances, peaks, protocols, workloads and claims come with the evidence. They
must be those of the verifier's own checkout, which may know GPUs, sources and kernels that came
later.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.base.check_log import CheckLog, listed
from assay.base.errors import AssayError, CheckFailed
from assay.base.io import read_bytes
from assay.base.pip_locks import TOOLCHAIN_LOCK
from assay.base.strict_yaml import parse_yaml
from assay.catalog.load import base_files
from assay.catalog.project_folder import project_of
from assay.shared.counting import counted
from assay.shared.read_limits import MOST_YAML

LATER = ("config/targets/", "config/claims/", "config/comparisons/", "config/workloads/")
"""Where files may be added: a report tells of no GPU, source or comparison that came after it."""
KERNELS = "kernels/"
"""Where entries may be, for the same reason."""


@dataclass(frozen=True)
class Policy:
    """Where a verifier's own rules are."""

    folder: Path
    """A directory with config/ and kernels/, as a checkout is."""
    accepted: bool = False
    """Whether differences are listed and accepted."""


def check_policy(log: CheckLog, report_dir: Path, policy: Policy) -> None:
    """Compare the configuration of a report's evidence with the verifier's own, file by file.

    Files that say other things fail the check, unless they are accepted. What a project claims is
    its signer's, and compared with nothing.
    """
    with log.check("policy") as says:
        evidence = report_dir / "evidence"
        claims = project_of(evidence) is None
        found = list(_differing(evidence, policy.folder, claims=claims))
        what = "tolerances, peaks, protocols and claims" if claims else "peaks, protocols"
        told = f"margins, {what} are those of {policy.folder}"
        others = f"judged by other rules than those of {policy.folder}: {listed(found)}"
        if not found:
            files = counted(len(base_files(evidence, claims=claims)), "file")
            says(f"{files}: {told}")
        elif policy.accepted:
            says(f"accepted: {others}")
            says.leave(f"that {told}")
        else:
            raise CheckFailed(others, code="policy")


def _differing(evidence: Path, own: Path, *, claims: bool) -> Iterator[str]:
    """Yield each file that means something else; other words for the same are no difference."""
    given, ours = (set(base_files(root, claims=claims)) for root in (evidence, own))
    for name in sorted(given | ours):
        if name not in given:
            if not name.startswith(LATER):
                yield f"{name} is not among the evidence"
        elif name not in ours:
            yield f"{name} is no file of theirs"
        elif not _alike(
            *(read_bytes(root / name, MOST_YAML) for root in (evidence, own)),
            grows=name.startswith(KERNELS),
        ):
            yield f"{name} says other things"
    theirs, lock = evidence / TOOLCHAIN_LOCK, own / TOOLCHAIN_LOCK
    if theirs.is_file() and lock.is_file() and theirs.read_bytes() != lock.read_bytes():
        yield f"{TOOLCHAIN_LOCK}: pins other compilers, or other wheels"


def _alike(one: bytes, other: bytes, *, grows: bool) -> bool:
    """Return whether documents say the same, types and orders of their entries included; where one
    ``grows``, whether ``other`` says all that ``one`` does.
    """
    try:
        return one == other or _says(parse_yaml(one.decode()), parse_yaml(other.decode()), grows)
    except (AssayError, ValueError):
        return False


def _says(one: Any, other: Any, grows: bool) -> bool:
    if not (grows and isinstance(one, dict) and isinstance(other, dict)):
        return repr(one) == repr(other)
    return all(set(_entries(one[key])) <= set(_entries(other.get(key))) for key in one)


def _entries(value: Any) -> list[str]:
    """Return what a list or mapping holds, or the value alone, as texts that show types."""
    if isinstance(value, dict):
        return [repr(entry) for entry in value.items()]
    return [repr(entry) for entry in value] if isinstance(value, list) else [repr(value)]
