"""README's results: findings from verdict data, then at most one line a source and ten in all."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tools.readme_findings import factor_apart, findings

from assay.base.io import read_record
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.records.verdicts import Status, Verdict, VerdictReading, VerdictsFile
from tests.report.told import told_report
from tools import readme_table


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Catalog, VerdictsFile]:
    report = told_report(tmp_path_factory.mktemp("readme") / "repo")
    return load_catalog(report / "evidence"), read_record(VerdictsFile, report / "verdicts.json")


def changed(file: VerdictsFile, claim: str, **changes: Any) -> VerdictsFile:
    """``file`` with fields of one claim's verdict changed."""
    return file.model_copy(
        update={
            "verdicts": tuple(
                v.model_copy(update=changes) if v.claim == claim else v for v in file.verdicts
            )
        }
    )


class TestFindings:
    def test_a_misstated_figure_names_its_reading_and_the_factor(
        self, told: tuple[Catalog, VerdictsFile]
    ) -> None:
        first = findings(told[0], told[1].verdicts)[0].replace("\N{NO-BREAK SPACE}", " ")
        assert first.startswith(
            "1 published figure is misstated: had, but of other work than the source states (the "
            "whole dense product, &lt;all&gt; of it). Furthest: "
        )
        (verdict,) = [one for one in told[1].verdicts if one.status is Status.MISSTATED]
        assert verdict.measured is not None
        assert first.endswith(
            f"(demo:3), claimed 800 TFLOP/s, measured {verdict.measured:.4g} TFLOP/s as rebuilt "
            "here, a factor of 4."
        )

    def test_what_was_measured_elsewhere_counts_as_it_would_be_and_says_so(
        self, told: tuple[Catalog, VerdictsFile]
    ) -> None:
        (line,) = [one for one in findings(told[0], told[1].verdicts) if "not reproduced" in one]
        assert line.startswith(
            "Of 4 measurements of published speed figures (1 of them elsewhere than on the "
            "hardware named), 1 is not reproduced. Furthest: *The same kernel on "
            "another GPU* (demo:8)"
        )

    def test_only_the_verdict_that_counts_is_shown(
        self, told: tuple[Catalog, VerdictsFile]
    ) -> None:
        """Beside a verdict on the hardware named, what was measured elsewhere is no finding."""
        exceeded = changed(told[1], "demo_ratio", status=Status.EXCEEDED)
        (row,) = (v for v in exceeded.verdicts if v.claim == "demo_ratio")
        away = row.model_copy(
            update={"status": Status.ELSEWHERE, "as_if": Status.EXCEEDED, "measured": 99.0}
        )
        shown, wrong = findings(told[0], exceeded.verdicts), [*exceeded.verdicts, away]
        assert findings(told[0], wrong) == shown

    def test_a_claim_misstated_on_another_gpu_alone_is_a_finding_of_its_own(
        self, told: tuple[Catalog, VerdictsFile]
    ) -> None:
        (row,) = (v for v in told[1].verdicts if v.claim == "demo_ratio")
        printed = VerdictReading(
            id="original", says="as printed", primary=False, measured=7.5, ci90=None, holds=True
        )
        away = row.model_copy(
            update={
                "status": Status.ELSEWHERE,
                "as_if": Status.MISSTATED,
                "target": "l4",
                "readings": (printed,),
            }
        )
        shown = findings(told[0], [*told[1].verdicts, away])
        (line,) = [one for one in shown if "1 more claim is misstated" in one]
        assert "as measured on NVIDIA L4" in line
        assert "where the author's own program prints 7.5" in line.replace(
            "\N{NO-BREAK SPACE}", " "
        )

    def test_a_claim_on_two_gpus_is_named_once_with_the_better(
        self, told: tuple[Catalog, VerdictsFile]
    ) -> None:
        source = told[0].sources["demo"]
        own = source.model_copy(update={"source": source.source.model_copy(update={"file": None})})
        catalog = replace(told[0], sources={"demo": own})
        (row,) = (v for v in told[1].verdicts if v.claim == "demo_ratio")
        better = row.model_copy(update={"target": "l4", "measured": 9.0})
        (line,) = (each for each in findings(catalog, [row, better]) if "best first" in each)
        assert line.count("(demo:4)") == 1
        assert "on NVIDIA L4 <PCIe> (promised" in line

    def test_arithmetic_that_does_not_hold_comes_last(
        self, told: tuple[Catalog, VerdictsFile]
    ) -> None:
        last = findings(told[0], told[1].verdicts)[-1]
        assert last.startswith("1 of 1 relation between printed figures does not hold")

    def test_nothing_is_said_of_what_nobody_has(self, told: tuple[Catalog, VerdictsFile]) -> None:
        """Verdicts of the first schema have neither readings nor figures elsewhere."""
        plain = [
            v.model_copy(update={"readings": (), "as_if": None, "why": None})
            for v in told[1].verdicts
            if v.claim in ("demo_ratio", "demo_support")
        ]
        assert findings(told[0], plain) == []

    def test_five_at_most(self, told: tuple[Catalog, VerdictsFile]) -> None:
        file = changed(told[1], "demo_ratio", status=Status.EXCEEDED)
        assert len(findings(told[0], file.verdicts)) == 4
        source = told[0].sources["demo"]
        own = source.model_copy(update={"source": source.source.model_copy(update={"file": None})})
        catalog = replace(told[0], sources={"demo": own})
        lines = findings(catalog, file.verdicts)
        assert len(lines) == 2
        assert (
            "Its kernels over their rivals, best first: *Deeper tile over shallower one* (demo:4)"
            in lines[0]
        )


@pytest.mark.parametrize(
    ("claimed", "measured", "unit", "factor"),
    [(600.0, 60.0, "tflop_per_s", 10), (2.0, 8.0, "ratio", 4), (100.0, 0.0, "percent", 2)],
)
def test_the_factor_between_two_figures_is_one_or_more(
    told: tuple[Catalog, VerdictsFile], claimed: float, measured: float, unit: str, factor: float
) -> None:
    verdict: Verdict = told[1].verdicts[0]
    shown = verdict.model_copy(update={"claimed": claimed, "measured": measured, "unit": unit})
    assert factor_apart(shown) == pytest.approx(factor)


class TestTable:
    def test_one_line_a_source_with_its_counts(self, told: tuple[Catalog, VerdictsFile]) -> None:
        text = readme_table.result_tables(*told, "reports/demo_run")
        table = [line for line in text.splitlines() if line.startswith("|")]
        assert table[0] == (
            "| source | figures | measured elsewhere only, as they would be there "
            "| compile probes and others | arithmetic and statements |"
        )
        assert table[2:] == [
            "| demo: A demo &lt;source&gt; & more | 2 reproduced, 1 misstated, 1 not run "
            "| 1 not reproduced | 1 reproduced | 1 inconsistent |"
        ]

    def test_which_gpu_stood_in_is_said_once(self, told: tuple[Catalog, VerdictsFile]) -> None:
        text = readme_table.result_tables(*told, "reports/demo_run")
        assert text.count("the source names NVIDIA L4 &lt;PCIe&gt;") == 1

    def test_more_than_ten_sources_share_the_last_line(
        self, told: tuple[Catalog, VerdictsFile]
    ) -> None:
        catalog, file = told
        names = [f"s{number}" for number in range(12)]
        verdicts = [
            v.model_copy(update={"source": name})
            for name in names
            for v in file.verdicts
            if v.claim == "demo_support"
        ]
        many = replace(catalog, sources=dict.fromkeys(names, catalog.sources["demo"]))
        text = readme_table.result_tables(
            many, file.model_copy(update={"verdicts": tuple(verdicts)}), "reports/x"
        )
        rows = [line for line in text.splitlines() if line.startswith("|")][2:]
        assert len(rows) == 10
        assert rows[-1].startswith("| 3 more |")


def test_markers_stay(tmp_path: Path) -> None:
    text = f"a\n{readme_table.BEGIN}\nold\n{readme_table.END}\nb\n"
    new = readme_table.replaced(text, "tables")
    assert new == f"a\n{readme_table.BEGIN}\n\ntables\n\n{readme_table.END}\nb\n"
