"""The log of verifying: named checks, each with what was found."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from assay.base.errors import AssayError, CheckFailed, MissingEnvironment
from assay.base.printable import shown_line

MOST_NAMED = 8
"""Problems of one kind that a sentence names before it counts the rest."""


@dataclass(frozen=True)
class NamedCheck:
    """One thing that was looked at, and what was found."""

    name: str
    passed: bool
    detail: str
    code: str = ""
    """Of a failed one, for programs: what its error says, or the check's name."""


@dataclass
class CheckLog:
    """Collects checks; a check that raises is a failed one, whatever it raises."""

    checks: list[NamedCheck] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Return whether every check so far passed."""
        return all(check.passed for check in self.checks)

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
            code = name if error.code == type(error).code else error.code
            self.checks.append(NamedCheck(name, False, shown_line(str(error)), code))
        except Exception as error:
            # Whatever a crafted file provokes in a parser or in the judge is a failed check.
            detail = f"could not be done: {type(error).__name__}: {error}"
            self.checks.append(NamedCheck(name, False, shown_line(detail), name))
        else:
            self.checks.append(NamedCheck(name, True, found[0]))

    def skip(self, names: Sequence[str], because: str) -> None:
        """Checks that could not run do not read as passed."""
        detail = f"not checked, because {because}"
        self.checks.append(NamedCheck(", ".join(names), False, detail, "not-checked"))

    def raise_if_failed(self, report_dir: Path) -> None:
        """Raise CheckFailed that lists every failed check; its code is that of the first."""
        failed = [check for check in self.checks if not check.passed]
        if failed:
            lines = "".join(f"\n  {check.name}: {check.detail}" for check in failed)
            raise CheckFailed(
                f"{shown_line(str(report_dir))} does not verify:{lines}", code=failed[0].code
            )


def none(problems: Sequence[str], code: str | None = None) -> None:
    """Raise CheckFailed unless there is no problem."""
    if problems:
        raise CheckFailed(listed(problems), code=code)


def listed(problems: Sequence[str]) -> str:
    """Return the first problems, and how many more there are."""
    rest = len(problems) - MOST_NAMED
    return "; ".join(problems[:MOST_NAMED]) + (f"; and {rest} more" if rest > 0 else "")
