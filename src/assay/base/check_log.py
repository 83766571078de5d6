"""The log of verifying: named checks, each with what was found."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from assay.base.errors import AssayError, CheckFailed, MissingEnvironment
from assay.base.printable import shown_line
from assay.records.verification import CheckEntry, ProofState

MOST_NAMED = 8
"""Problems of one kind that a sentence names before it counts the rest."""


def passed_check(name: str, detail: str, unproven: Iterable[str] = ()) -> CheckEntry:
    """Return a check that did not fail; without a detail it proves nothing."""
    left = tuple(map(shown_line, unproven))
    state = ProofState.UNPROVEN if left else ProofState.PROVEN
    return CheckEntry(id=name, state=state, code=None, says=shown_line(detail), unproven=left)


def failed_check(name: str, detail: str, code: str | None = None) -> CheckEntry:
    """Return a failed check; its code is its name, where no other is given."""
    says, state = shown_line(detail), ProofState.FAILED
    return CheckEntry(id=name, state=state, code=code or name, says=says, unproven=())


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


@dataclass
class CheckLog:
    """Collects checks; a check that raises is a failed one, whatever it raises."""

    checks: list[CheckEntry] = field(default_factory=list)
    tell: Callable[[CheckEntry], None] = lambda _: None
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

    def add(self, check: CheckEntry) -> None:
        """Take up a check that was made."""
        if self.called is not None:
            copy, original = map(str, self.called)
            left = tuple(line.replace(copy, original) for line in check.unproven)
            says = check.says.replace(copy, original)
            check = check.model_copy(update={"says": says, "unproven": left})
        self.checks.append(check)
        self.tell(check)

    @contextmanager
    def check(self, name: str) -> Iterator[CheckUnderWay]:
        """Run the body as check ``name``; it says what it finds in what is yielded. An error is a
        failed check; MissingEnvironment, which says nothing of the report, is raised.
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
        left = CheckEntry(
            id="", state=ProofState.NOT_CHECKED, code="not-checked",
            says=shown_line(f"not checked, because {because}"), unproven=(),
        )  # fmt: skip
        self.checks += [left.model_copy(update={"id": name}) for name in names]

    def raise_if_failed(self, report_dir: Path) -> None:
        """Raise CheckFailed that lists every failed check; its code is that of the first."""
        failed = [check for check in self.checks if not check.passed]
        if failed:
            together: dict[str, list[str]] = {}
            for check in failed:
                together.setdefault(check.says, []).append(check.id)
            lines = (f"\n  {', '.join(names)}: {detail}" for detail, names in together.items())
            raise CheckFailed(
                f"{shown_line(str(report_dir))} does not verify:{''.join(lines)}",
                code=failed[0].code,
            )


def listed(problems: Sequence[str]) -> str:
    """Return the first MOST_NAMED problems, and how many more there are."""
    rest = len(problems) - MOST_NAMED
    return "; ".join(problems[:MOST_NAMED]) + (f"; and {rest} more" if rest > 0 else "")


def names(of: Iterable[str]) -> str:
    """Return a list for a sentence, in order, cut where it is long."""
    return listed(sorted(of)).replace(";", ",")
