"""The log of verifying: named checks, each with what was found."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from assay.base.errors import AssayError, CheckFailed, MissingEnvironment

MOST_NAMED = 8
"""Problems of one kind that a sentence names before it counts the rest."""


@dataclass(frozen=True)
class NamedCheck:
    """One thing that was looked at, and what was found."""

    name: str
    passed: bool
    detail: str


@dataclass
class CheckLog:
    """Collects checks; a check that raises is a failed one, whatever it raises."""

    checks: list[NamedCheck] = field(default_factory=list)

    @contextmanager
    def check(self, name: str) -> Iterator[Callable[[str], None]]:
        """Run the body as check ``name``; the yielded function sets what a pass says.

        What this machine lacks says nothing of the report: MissingEnvironment passes through.
        """
        found = ["done"]
        try:
            yield lambda text: found.__setitem__(0, text)
        except MissingEnvironment:
            raise
        except AssayError as error:
            self.checks.append(NamedCheck(name, False, str(error)))
        except Exception as error:
            # Whatever a crafted file provokes in a parser or in the judge is a failed check.
            detail = f"could not be done: {type(error).__name__}: {error}"
            self.checks.append(NamedCheck(name, False, detail))
        else:
            self.checks.append(NamedCheck(name, True, found[0]))

    def skip(self, names: Sequence[str], because: str) -> None:
        """Checks that could not run do not read as passed."""
        self.checks.append(NamedCheck(", ".join(names), False, f"not checked, because {because}"))

    def raise_if_failed(self, report_dir: Path) -> None:
        """Raise CheckFailed that lists every failed check."""
        failed = [check for check in self.checks if not check.passed]
        if failed:
            lines = "".join(f"\n  {check.name}: {check.detail}" for check in failed)
            raise CheckFailed(f"{report_dir} does not verify:{lines}")


def none(problems: Sequence[str]) -> None:
    """Raise CheckFailed unless there is no problem."""
    if problems:
        raise CheckFailed(listed(problems))


def listed(problems: Sequence[str]) -> str:
    """Return the first problems, and how many more there are."""
    rest = len(problems) - MOST_NAMED
    return "; ".join(problems[:MOST_NAMED]) + (f"; and {rest} more" if rest > 0 else "")
