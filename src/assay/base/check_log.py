"""The log of verifying: named checks, each with what was found."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from assay.base.errors import AssayError, CheckFailed, MissingEnvironment
from assay.base.printable import shown_line
from assay.records.verification import ProofState

MOST_NAMED = 8
"""Problems of one kind that a sentence names before it counts the rest."""


@dataclass(frozen=True)
class NamedCheck:
    """One thing that was looked at, and what was found."""

    name: str
    state: ProofState
    detail: str
    """Empty where nothing of it could be proven."""
    code: str = ""
    """Of a failed one, for programs: what its error says, or the check's name."""
    unproven: tuple[str, ...] = ()
    """What it could not prove."""

    @property
    def passed(self) -> bool:
        """Return whether it was made, and did not fail."""
        return self.state in (ProofState.PROVEN, ProofState.UNPROVEN)

    @property
    def is_open(self) -> bool:
        """Return whether it proves nothing at all, though it did not fail."""
        return self.state is ProofState.UNPROVEN and not self.detail


def passed_check(name: str, detail: str, unproven: Iterable[str] = ()) -> NamedCheck:
    """Return a check that did not fail; without a detail it proves nothing."""
    left = tuple(unproven)
    state = ProofState.UNPROVEN if left else ProofState.PROVEN
    return NamedCheck(name, state, detail, unproven=left)


def failed_check(name: str, detail: str, code: str | None = None) -> NamedCheck:
    """Return a failed check; its code is its name, where no other is given."""
    return NamedCheck(name, ProofState.FAILED, shown_line(detail), code or name)


@dataclass
class CheckUnderWay:
    """A check whose body runs: what it will say where it passes, and what it finds meanwhile."""

    detail: str = "done"
    unproven: list[str] = field(default_factory=list)
    refusals: list[tuple[str, str]] = field(default_factory=list)
    """(code in kebab-case, what is wrong), each once: the check fails by the first."""

    def __call__(self, detail: str) -> None:
        """Say ``detail`` where it passes."""
        self.detail = detail

    def leave(self, *unproven: str) -> None:
        """Take up what it cannot prove."""
        self.unproven.extend(unproven)

    def refuse(self, code: str, says: str) -> None:
        """Take up what is wrong, and go on."""
        if (code, says) not in self.refusals:
            self.refusals.append((code, says))


def _tell_nobody(_: NamedCheck) -> None:
    """Pass over a check."""


@dataclass
class CheckLog:
    """Collects checks; a check that raises is a failed one, whatever it raises."""

    checks: list[NamedCheck] = field(default_factory=list)
    tell: Callable[[NamedCheck], None] = _tell_nobody
    """Called with every check that was made, as soon as its outcome is known."""
    called: tuple[Path, Path] | None = None
    """A folder that details name, and what its reader calls it."""

    @property
    def holds(self) -> bool:
        """Return whether every check so far passed."""
        return all(check.passed for check in self.checks)

    @property
    def failed(self) -> bool:
        """Return whether a check failed; one that was not made did not."""
        return any(check.state is ProofState.FAILED for check in self.checks)

    @property
    def unproven(self) -> tuple[str, ...]:
        """Return what the checks could not prove."""
        return tuple(line for check in self.checks for line in check.unproven)

    def add(self, check: NamedCheck) -> None:
        """Take up a check that was made."""
        if self.called is not None:
            copy, original = map(str, self.called)
            check = replace(
                check,
                detail=check.detail.replace(copy, original),
                unproven=tuple(line.replace(copy, original) for line in check.unproven),
            )
        self.checks.append(check)
        self.tell(check)

    @contextmanager
    def check(self, name: str) -> Iterator[CheckUnderWay]:
        """Run the body as check ``name``; what is yielded takes what a pass says.

        What this machine lacks says nothing of the report: MissingEnvironment passes through.
        """
        found = CheckUnderWay()
        try:
            yield found
        except MissingEnvironment:
            raise
        except AssayError as error:
            code = name if error.code == type(error).code else error.code
            self.add(failed_check(name, str(error), code))
        except Exception as error:
            # Whatever a crafted file provokes in a parser or in the judge is a failed check.
            self.add(failed_check(name, f"could not be done: {type(error).__name__}: {error}"))
        else:
            if found.refusals:
                told = listed([says for _, says in found.refusals])
                self.add(failed_check(name, told, found.refusals[0][0]))
            else:
                self.add(passed_check(name, found.detail, found.unproven))

    def skip(self, names: Sequence[str], because: str) -> None:
        """Checks that could not run do not read as passed."""
        detail = f"not checked, because {because}"
        state = ProofState.NOT_CHECKED
        self.checks += [NamedCheck(name, state, detail, code="not-checked") for name in names]

    def raise_if_failed(self, report_dir: Path) -> None:
        """Raise CheckFailed that lists every failed check; its code is that of the first."""
        failed = [check for check in self.checks if not check.passed]
        if failed:
            together: dict[str, list[str]] = {}
            for check in failed:
                together.setdefault(check.detail, []).append(check.name)
            lines = (f"\n  {', '.join(names)}: {detail}" for detail, names in together.items())
            raise CheckFailed(
                f"{shown_line(str(report_dir))} does not verify:{''.join(lines)}",
                code=failed[0].code,
            )


def listed(problems: Sequence[str], most: int = MOST_NAMED) -> str:
    """Return the first problems, ``most`` of them, and how many more there are."""
    rest = len(problems) - most
    return "; ".join(problems[:most]) + (f"; and {rest} more" if rest > 0 else "")


def names(of: Iterable[str]) -> str:
    """Return a list for a sentence, in order, cut where it is long."""
    return listed(sorted(of)).replace(";", ",")
