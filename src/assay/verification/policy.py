"""Whose rules a report was judged by: its configuration against the verifier's own.

Margins, confidence, tolerances, peaks, protocols, workloads and claims come with the evidence. They
must be those of the verifier's own checkout.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.base.check_log import CheckLog, listed
from assay.base.errors import AssayError, CheckFailed
from assay.base.io import read_bytes
from assay.base.pip_locks import TOOLCHAIN_LOCK
from assay.base.printable import shortened
from assay.base.strict_yaml import parse_yaml
from assay.catalog.load import base_files
from assay.catalog.project_folder import project_of
from assay.shared.counting import counted
from assay.shared.read_limits import MOST_YAML

LONGEST = 60
"""Characters of a value that a sentence quotes."""
MOST_DIFFERENCES = 1000
"""That are listed: one that is not named might be the one that matters."""


class _Absent:
    """The value of a member that is not there, unlike any that could be."""

    def __str__(self) -> str:
        return "absent"


ABSENT = _Absent()


@dataclass(frozen=True)
class Policy:
    """Where a verifier's own rules are."""

    folder: Path
    """A directory with config/ and kernels/, as a checkout is."""
    accepted: bool = False
    """Whether differences are listed and accepted."""


def check_policy(log: CheckLog, report_dir: Path, policy: Policy) -> None:
    """Compare the configuration of a report's evidence with the verifier's own.

    What a project claims is its signer's, and compared with nothing.

    Differences are listed by name and value. They fail the check, unless they are accepted.
    """
    with log.check("policy") as says:
        evidence = report_dir / "evidence"
        of_project = project_of(evidence) is not None
        given, own = (_files(root, claims=not of_project) for root in (evidence, policy.folder))
        found = [*differences(given, own), *_other_lock(evidence, policy.folder)]
        what = (
            "margins, peaks, protocols" if of_project else "margins, tolerances, peaks, protocols"
        )
        whose = "" if of_project else " and claims"
        told = f"{what}{whose} are those of {policy.folder}"
        others = f"judged by other rules than those of {policy.folder}: "
        others += listed(found, MOST_DIFFERENCES)
        if not found:
            says(f"{counted(len(given), 'file')}: {told}")
        elif policy.accepted:
            says(f"accepted: {others}")
            says.leave([f"that {told}"])
        else:
            raise CheckFailed(others, code="policy")


def _files(root: Path, *, claims: bool) -> dict[str, bytes]:
    return {name: _bytes(root / name) for name in base_files(root, claims=claims)}


def _other_lock(evidence: Path, own: Path) -> Iterator[str]:
    """Yield that the compilers' lock is another, where both are here."""
    theirs, ours = evidence / TOOLCHAIN_LOCK, own / TOOLCHAIN_LOCK
    if theirs.is_file() and ours.is_file() and _bytes(theirs) != _bytes(ours):
        yield f"{TOOLCHAIN_LOCK}: pins other compilers, or other wheels"


def _bytes(path: Path) -> bytes:
    return read_bytes(path, MOST_YAML)


def differences(given: Mapping[str, bytes], own: Mapping[str, bytes]) -> Iterator[str]:
    """Yield each value that is another, by its file and name."""
    for path in sorted(given.keys() | own.keys()):
        if path not in given or path not in own:
            yield f"{path} {'is not among the evidence' if path in own else 'is no file of theirs'}"
        elif given[path] != own[path]:
            yield from (f"{path}: {each}" for each in _values(given[path], own[path]))


def _values(given: bytes, own: bytes) -> Iterator[str]:
    """Yield how two documents differ; those that say the same in other words do not."""
    try:
        found = list(value_differences(given, own))
    except (AssayError, ValueError):
        yield "its bytes are others"
        return
    yield from (says for _, says in found)


def value_differences(given: bytes, own: bytes) -> Iterator[tuple[str, str]]:
    """Yield (name, how it differs) of each value of a document that is another. Raises AssayError
    or ValueError for what is no YAML.
    """
    for name, *values in _unlike("", parse_yaml(given.decode()), parse_yaml(own.decode())):
        one, other = _quoted(*map(str, values))
        yield name.lstrip("."), f"{name.lstrip('.')} is {one}, not {other}"


def _quoted(one: str, other: str) -> tuple[str, str]:
    """Return what is quoted of two values: of long ones the place where they part."""
    alike = next((n for n, pair in enumerate(zip(one, other, strict=False)) if len(set(pair)) > 1),
                 min(len(one), len(other)))  # fmt: skip
    begin = alike - LONGEST // 2 if alike > LONGEST // 2 else 0
    first, second = (
        ("..." if begin else "") + shortened(text[begin:], LONGEST) for text in (one, other)
    )
    return first, second


def _unlike(name: str, given: Any, own: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield (name, given, own) of every value that differs; entries of lists by their ids."""
    one, other = _entries(given), _entries(own)
    if one is None or other is None or type(given) is not type(own):
        if given != own or type(given) is not type(own):
            yield name, given, own
        return
    if isinstance(given, list):
        orders = [key for key in one if key in other], [key for key in other if key in one]
        if orders[0] != orders[1]:
            yield f"{name} in its order", ", ".join(orders[0]), ", ".join(orders[1])
    for key in dict.fromkeys((*one, *other)):
        yield from _unlike(f"{name}.{key}", one.get(key, ABSENT), other.get(key, ABSENT))


def _entries(value: Any) -> dict[str, Any] | None:
    """Return the parts of a mapping, or of a list, by name; None for a plain value."""
    if isinstance(value, dict):
        return value
    if not isinstance(value, list):
        return None
    ids = [str(entry.get("id", n)) if isinstance(entry, dict) else str(n)
           for n, entry in enumerate(value)]  # fmt: skip
    names = ids if len(set(ids)) == len(ids) else [str(n) for n in range(len(value))]
    return dict(zip(names, value, strict=True))
