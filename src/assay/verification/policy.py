"""Whose rules a report was judged by: its configuration against the verifier's own.

Margins, confidence, tolerances, peaks, protocols, workloads and claims come with the evidence. They
are the verifier's where the verifier's own history vouches for them: for a report of an earlier
commit that is that commit's configuration, not today's.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.base.check_log import CheckLog, listed
from assay.base.errors import AssayError, CheckFailed, MissingEnvironment
from assay.base.io import read_bytes
from assay.base.pip_locks import TOOLCHAIN_LOCK
from assay.base.printable import shortened
from assay.base.strict_yaml import parse_yaml
from assay.catalog.load import OWN_CLAIMS, base_files
from assay.catalog.project_folder import project_of
from assay.judging.rules import RULES
from assay.records.site_files import SITE_FILES
from assay.shared.counting import counted
from assay.shared.read_limits import MOST_YAML
from assay.verification.commit_tree import (
    file_of,
    files_below,
    head_of_whole_history,
    require_ancestor,
)

CONFIGURATION = ("config/", "kernels/")
RULES_CODE, ANY_CODE = "src/assay/judging/rules.py", "src/assay/__init__.py"
FIRST_RULES = 1
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

    checkout: Path | None
    """Whose history vouches for them."""
    folder: Path | None = None
    """A directory with config/ and kernels/ that is asked instead."""
    accepted: bool = False
    """Whether differences are listed and accepted."""


@dataclass(frozen=True)
class _Own:
    """The verifier's files by path, and whose they are in words."""

    files: Mapping[str, bytes]
    whose: str
    rules: int | None = None
    """That the code judges by; None where it is not here."""
    lock: bytes | None = None
    """What compilers come by; None where it is not here."""


def check_policy(
    log: CheckLog, report_dir: Path, commit: str | None, policy: Policy, *, rules: int | None
) -> None:
    """Compare the configuration of a report's evidence with the verifier's own.

    What a project claims is its signer's, and compared with nothing.

    Differences are listed by name and value. They fail the check, unless they are accepted. Where
    no history is here that could vouch for any configuration, nothing is proven. ``rules``: those
    that the report says it was judged by, None for today's; one of others is judged by its own
    commit's code or not at all. They must be the commit's.
    """
    with log.check("policy") as says:
        try:
            own = _own(commit, policy, todays=rules is None)
        except MissingEnvironment as lack:
            says("")
            says.leave([f"that margins, protocols and claims are this verifier's: {lack}"])
            return
        judged_by = RULES if rules is None else rules
        if own.rules is not None and own.rules != judged_by:
            problem = (
                f"judged by rules {judged_by}, it says, and {own.whose}, judges by {own.rules}"
            )
            raise CheckFailed(problem, code="rules")
        evidence = report_dir / "evidence"
        of_project = project_of(evidence) is not None
        given = _files(evidence, claims=not of_project)
        theirs = {
            path: content
            for path, content in own.files.items()
            if not (of_project and path.startswith(OWN_CLAIMS))
        }
        found = [*differences(given, theirs), *_other_lock(evidence, own.lock)]
        what = (
            "margins, peaks, protocols" if of_project else "margins, tolerances, peaks, protocols"
        )
        whose = "" if of_project else " and claims"
        told = f"{what}{whose} are those of {own.whose}"
        named = listed(found, MOST_DIFFERENCES)
        others = f"judged by other rules than those of {own.whose}: {named}"
        if not found:
            says(f"{counted(len(given), 'file')}: {told}")
        elif policy.accepted:
            says(f"accepted: {others}")
            says.leave([f"that {told}"])
        else:
            raise CheckFailed(others, code="policy")


def _own(commit: str | None, policy: Policy, *, todays: bool) -> _Own:
    """Return what the verifier vouches for. Raises MissingEnvironment where nothing does.

    A signer may name a commit that nobody has: where the whole history is here and does not hold
    it, what is checked out decides.
    """
    if policy.folder is not None:
        lock = policy.folder / TOOLCHAIN_LOCK
        held = read_bytes(lock, MOST_YAML) if lock.is_file() else None
        return _Own(_files(policy.folder, claims=True), str(policy.folder), lock=held)
    if policy.checkout is None:
        raise MissingEnvironment("there is no checkout whose history would tell")
    try:
        found = require_ancestor(policy.checkout, commit)
        rules = rules_of(policy.checkout, found)
        whose = f"commit {found[:12]}, which this checkout's history holds"
    except MissingEnvironment as lack:
        head = head_of_whole_history(policy.checkout) if todays else None
        if head is None:
            raise
        found, rules = head, None
        whose = f"what is checked out here ({lack})"
    files = files_below(policy.checkout, found, CONFIGURATION)
    kept = {path: content for path, content in files.items() if _is_policy(path)}
    return _Own(kept, whose, rules, file_of(policy.checkout, found, TOOLCHAIN_LOCK))


def rules_of(checkout: Path, commit: str) -> int | None:
    """Return the rules that a commit's code judges by; None for a commit without that code.

    The first ones had no number yet.
    """
    code = file_of(checkout, commit, RULES_CODE)
    if code is None:
        return FIRST_RULES if file_of(checkout, commit, ANY_CODE) is not None else None
    told = re.search(rb"^RULES = ([0-9]+)$", code, re.MULTILINE)
    return int(told[1]) if told else None


def _is_policy(path: str) -> bool:
    """Return whether reports carry a file of a checkout along, as part of their catalog."""
    parts = path.split("/")
    if parts[0] == "kernels":
        return len(parts) == 3 and parts[2] == "kernel.yaml"
    return path.endswith(".yaml") and path not in SITE_FILES


def _files(root: Path, *, claims: bool) -> dict[str, bytes]:
    return {name: read_bytes(root / name, MOST_YAML) for name in base_files(root, claims=claims)}


def _other_lock(evidence: Path, own: bytes | None) -> Iterator[str]:
    """Yield that the compilers' lock is another, where both are here."""
    lock = evidence / TOOLCHAIN_LOCK
    if own is not None and lock.is_file() and read_bytes(lock, MOST_YAML) != own:
        yield f"{TOOLCHAIN_LOCK}: pins other compilers, or other wheels"


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
