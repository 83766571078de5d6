"""The record of a comparison that was measured in several looks."""

from assay.pipeline.hanging import with_look
from assay.statistics.summaries import CONTROL
from tests import builders as b

LOOKS = (3, 5)


def test_a_further_look_adds_its_processes() -> None:
    first = with_look(None, b.benchmark(processes=3), LOOKS, "rival")
    both = with_look(first, b.benchmark(processes=2, seed=2), LOOKS, "rival")
    assert both.looks == LOOKS
    assert len(both.processes) == 5
    assert both.seconds == 20.0


def test_an_arm_that_is_lost_later_loses_what_it_had_and_its_control_with_it() -> None:
    first = with_look(None, b.benchmark(processes=3), LOOKS, "rival")
    later = b.benchmark({"ours": 1.0}, processes=2, control="ours")
    later = later.model_copy(update={"not_timed": {"rival": "failed"}, "wrong": ("rival",)})
    both = with_look(first, later, LOOKS, "rival")
    assert both.wrong == ("rival",)
    early = both.processes[0]
    assert {turn.arm for block in early.blocks for turn in block.turns} == {"ours"}
    assert {facts.arm for facts in early.arms} == {"ours"}
    assert CONTROL not in {turn.arm for block in early.blocks for turn in block.turns}


def test_a_fixed_number_of_processes_has_no_looks() -> None:
    assert with_look(None, b.benchmark(), (5,), "rival").looks == ()
