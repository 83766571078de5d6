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


@dataclass(frozen=True)
class Policy:
    """Where a verifier's own rules are."""

    folder: Path
    """A directory with config/ and kernels/, as a checkout is."""
    accepted: bool = False
    """Whether differences are listed and accepted."""


def check_policy(log: CheckLog, report_dir: Path, policy: Policy) -> None:
    """Compare the configuration of a report's evidence with the verifier's own.

    Differences are listed by name and value. They fail the check, unless they are accepted. What a
    project claims is its signer's, and compared with nothing.
    """
    with log.check("policy") as says:
        evidence = report_dir / "evidence"
        claims = project_of(evidence) is None
        given, own = (_files(root, claims=claims) for root in (evidence, policy.folder))
        found = [*differences(given, own), *_other_lock(evidence, policy.folder)]
        what = "tolerances, peaks, protocols and claims" if claims else "peaks, protocols"
        told = f"margins, {what} are those of {policy.folder}"
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
            yield from (f"{path}: {each}" for each in _value_differences(given[path], own[path]))


def _value_differences(given: bytes, own: bytes) -> Iterator[str]:
    """Yield how the values of two documents differ; other words for the same are no difference."""
    try:
        one, other = (dict(_values("", parse_yaml(each.decode()))) for each in (given, own))
    except (AssayError, ValueError):
        yield "its bytes are others"
        return
    for name in dict.fromkeys((*one, *other)):
        if one.get(name) != other.get(name):
            values = (shortened(each.get(name, "absent"), LONGEST) for each in (one, other))
            yield "{} is {}, not {}".format(name.removeprefix("."), *values)
    if one == other and list(one) != list(other):
        yield "its entries have another order"


def _values(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield (name, spelling) of each value of a document; entries of lists by their ids."""
    if isinstance(value, dict) and value:
        for key, each in value.items():
            yield from _values(f"{name}.{key}", each)
    elif isinstance(value, list) and value:
        ids = [str(each.get("id", n)) if isinstance(each, dict) else str(n)
               for n, each in enumerate(value)]  # fmt: skip
        named = ids if len(set(ids)) == len(ids) else map(str, range(len(value)))
        for key, each in zip(named, value, strict=True):
            yield from _values(f"{name}.{key}", each)
    else:
        yield name, repr(value)
