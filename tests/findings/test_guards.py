"""Guards: of what was tried how much held, and nothing said of what was not tried."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from assay.findings.binary_matches import BinaryMatch, Sameness
from assay.findings.guards import Guards, Share, guards
from assay.findings.stopwatch_agreement import Agreement


@dataclass
class Confirmed:
    """An arm beside a second stopwatch, as far as it is asked."""

    time: bool
    clock: bool
    compared: bool = True
    asked: list[float] = field(default_factory=list)

    @property
    def from_judged(self) -> "Confirmed":
        return self

    def in_time(self, limit: float) -> bool:
        """Return whether the two are further apart than ``limit``."""
        self.asked.append(limit)
        return not self.time

    def by_clock(self, limit: float) -> bool:
        """Return whether clocks explain it."""
        return self.clock


CATALOG = SimpleNamespace(judging=SimpleNamespace(stopwatch_agreement=0.03))


def found(
    cheats: Sequence[tuple[str | None, str | None]] = (),
    sanitized: Sequence[str] = (),
    matches: Sequence[Sameness] = (),
    arms: Sequence[Confirmed] = (),
) -> Guards:
    """``cheats``: (what it is meant to be caught by, what caught it)."""
    evidence = SimpleNamespace(
        cheats={"h100": SimpleNamespace(
            cheats=[SimpleNamespace(meant=meant, caught_by=by) for meant, by in cheats]
        )},
        sanitizers={"h100": SimpleNamespace(
            runs=[SimpleNamespace(status=status) for status in sanitized]
        )},
    )  # fmt: skip
    made = [cast("BinaryMatch", SimpleNamespace(sameness=each)) for each in matches]
    return guards(
        cast("Any", CATALOG), cast("Any", evidence), made, cast("Sequence[Agreement]", arms)
    )


def test_a_cheat_that_nothing_caught_is_missing_from_the_share() -> None:
    share = found(cheats=[("oracle", "oracle"), ("oracle", None)]).cheats
    assert share == Share(1, 2)
    assert not share.whole
    assert replace(share, good=2).whole


def test_an_honest_control_is_no_cheat() -> None:
    assert found(cheats=[("oracle", "oracle"), (None, None)]).cheats == Share(1, 1)


def test_a_tool_that_cannot_run_here_is_no_clean_run() -> None:
    share = found(sanitized=["clean", "unsupported", "clean", "failed"]).sanitizer
    assert share == Share(2, 3)
    assert found(sanitized=["unsupported"]).sanitizer is None


@pytest.mark.parametrize(
    ("sameness", "share"),
    [(Sameness.FILE, Share(1, 1)), (Sameness.DEVICE_CODE, Share(1, 1)),
     (Sameness.INSTRUCTIONS, Share(1, 1)), (Sameness.OTHER, Share(0, 1)),
     (Sameness.NOT_COMPILED, None)],
)  # fmt: skip
def test_a_binary_counts_by_its_device_code_if_it_was_compiled(
    sameness: Sameness, share: Share | None
) -> None:
    assert found(matches=[sameness]).binaries == share


def test_a_stopwatch_that_differs_confirms_where_clocks_explain_it() -> None:
    arms = [Confirmed(time=True, clock=False), Confirmed(time=False, clock=True),
            Confirmed(time=False, clock=False), Confirmed(True, True, compared=False)]  # fmt: skip
    assert found(arms=arms).stopwatches == Share(2, 3)
    assert arms[0].asked == [0.03]
