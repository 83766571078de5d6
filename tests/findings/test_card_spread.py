"""How far cards and runs spread: which runs are compared, how far they lie apart, and by what."""

import math
from typing import Any

import pytest

from assay.findings.card_spread import FigureSpread, causes, other_runs, spreads
from assay.records.report_figures import OtherRunsRecord, ReportFigure, ReportFigures, ReportMachine
from assay.records.verdicts import Status
from assay.report.card_spread import spread_line


def figure(measured: float, half: float = 0.5, **changes: Any) -> ReportFigure:
    fields = {
        "claim": "rate", "source": "post", "target": "h100", "status": Status.REPRODUCED,
        "why": None, "reason": None, "as_if": None, "claimed": 100.0, "measured": measured,
        "unit": "tflop_per_s", "ci90": (measured - half, measured + half),
        "roofline_fraction": None, "protocol": "events:1", "binary_sha256": "b" * 64,
        "question": "q",
    }  # fmt: skip
    return ReportFigure.model_validate({**fields, **changes})


def machine(card: str, at: str, **changes: Any) -> ReportMachine:
    fields = {
        "target": "h100", "product": "H100", "gpu_uuid": card, "driver": "580", "vbios": None,
        "power_limit_w": 700.0, "recorded_at": at, "commit": "c1",
    }  # fmt: skip
    return ReportMachine.model_validate({**fields, **changes})


def report(run: str, on: ReportMachine, *figures: ReportFigure) -> ReportFigures:
    return ReportFigures(
        schema="assay/report_figures/1",
        run=run,
        rules=3,
        commit="c9",
        created=f"2026-11-2{run[-1]}T00:00:00Z",
        manifest_sha256=run[-1] * 64,
        machines=(on,),
        figures=figures,
    )


OWN = report("run_9", machine("card_a", "t9"), figure(100.0))


def found(*reports: ReportFigures, own: ReportFigures = OWN) -> dict[Any, FigureSpread]:
    return spreads(own, other_runs(own, reports))


class TestWhichRunsCount:
    """Each measurement once, of the same question, from whoever signed it last."""

    def test_other_runs_are_named_with_card_and_manifest(self) -> None:
        record = other_runs(OWN, [report("run_1", machine("card_b", "t1"), figure(104.0))])
        (run,) = record.runs
        assert (run.report, run.manifest_sha256, run.machine.gpu_uuid) == (
            "run_1", "1" * 64, "card_b",
        )  # fmt: skip
        assert (run.figures[0].claim, run.figures[0].ci90) == ("rate", (103.5, 104.5))
        assert OtherRunsRecord.model_validate_json(record.model_dump_json(by_alias=True)) == record

    def test_a_measurement_that_was_taken_over_is_no_other_run(self) -> None:
        assert found(report("run_1", machine("card_a", "t9"), figure(101.0))) == {}

    def test_of_two_reports_of_one_measurement_the_one_signed_last_counts(self) -> None:
        once = [report(f"run_{n}", machine("card_b", "t1"), figure(100.0 + n)) for n in (1, 2)]
        (spread,) = found(*once).values()
        assert [each.measured for each in spread.observations] == [100.0, 102.0]

    def test_what_was_asked_otherwise_is_not_compared(self) -> None:
        other = figure(900.0, question="another problem")
        assert found(report("run_1", machine("card_b", "t1"), other)) == {}


class TestHowFar:
    """The extent, whether intervals meet, and what one more card would give."""

    def test_the_extent_is_largest_over_smallest(self) -> None:
        (spread,) = found(report("run_1", machine("card_b", "t1"), figure(110.0))).values()
        assert spread.extent == pytest.approx(0.10)
        assert spread.apart
        assert spread.another is None

    def test_from_three_runs_on_another_is_predicted(self) -> None:
        """Student's t at two degrees of freedom, 95 % one-sided: 2.92."""
        step = math.exp(0.01)
        others = [
            report("run_1", machine("card_b", "t1"), figure(100.0 * step)),
            report("run_2", machine("card_c", "t2"), figure(100.0 / step)),
        ]
        (spread,) = found(*others).values()
        assert spread.another == pytest.approx(
            math.expm1(2.920 * 0.01 * math.sqrt(4 / 3)), rel=1e-3
        )
        assert "A run on one more card is expected within ±" in spread_line(spread)


class TestCauses:
    """Pairs of runs are put together by what differs between them."""

    def test_card_run_driver_protocol_and_binary_are_told_apart(self) -> None:
        others = [
            report("run_1", machine("card_a", "t1"), figure(101.0)),
            report("run_2", machine("card_b", "t2"), figure(104.0)),
            report("run_3", machine("card_a", "t3", driver="590"), figure(108.0)),
        ]
        told = {each.differs: each for each in causes(found(*others).values())}
        assert set(told) == {"run", "card", "driver", "card, driver"}
        assert told["run"].pairs == 1
        assert told["run"].largest == pytest.approx(0.01)
        assert told["card"].pairs == 2
        assert told["card"].apart == 2

    def test_a_commit_is_named_where_nothing_else_differs(self) -> None:
        other = report("run_1", machine("card_a", "t1", commit="c2"), figure(101.0))
        assert [each.differs for each in causes(found(other).values())] == ["commit"]
        other = report("run_1", machine("card_b", "t1", commit="c2"), figure(101.0))
        assert [each.differs for each in causes(found(other).values())] == ["card"]
