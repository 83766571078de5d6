"""The choice among the reports that ``--recorded`` names, target by target."""

import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.base.errors import BadInput
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.evidence.stages import (
    came_along,
    original_path,
    platform_path,
    recorded_builds,
)
from assay.judging.answers import Asked, make_answers
from assay.pipeline.reuse import (
    _same_original,
    _same_variant,
    check_reports,
    find_recorded,
    require_figures,
)
from assay.records.originals import CheckoutCopy, GivenLine, OriginalJob
from assay.records.plan import Provision, TargetPlan
from assay.verification.trusted_keys import trusted_keys
from tests import builders as b

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog(ROOT)


@pytest.fixture(autouse=True)
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports that are named for the targets they hold."""
    monkeypatch.chdir(tmp_path)
    for name in ("h100", "l4", "h100-l4"):
        for target in name.split("-"):
            platform = Path(name, "evidence", platform_path(target))
            platform.parent.mkdir(parents=True)
            platform.write_text("{}")
        Path(name, "manifest.json").write_text("{}")


@pytest.mark.parametrize("names", [("h100", "l4"), ("h100-l4",)])
def test_reports_that_all_serve_a_target_pass_without_a_word(
    catalog: Catalog, capsys: pytest.CaptureFixture[str], names: tuple[str, ...]
) -> None:
    check_reports(catalog, ("h100", "l4"), map(Path, names))
    assert capsys.readouterr() == ("", "")


def test_a_report_used_in_part_is_told(
    catalog: Catalog, capsys: pytest.CaptureFixture[str]
) -> None:
    check_reports(catalog, ("h100", "l4"), [Path("h100"), Path("h100-l4")])
    assert capsys.readouterr() == (
        "",
        "assay: --recorded h100-l4: is used in part: h100 comes from h100, named before it\n",
    )


@pytest.mark.parametrize(
    ("targets", "names", "why"),
    [
        (("h100", "l4"), ("h100-l4", "h100"), "h100 comes from h100-l4, named before it"),
        (("l4",), ("l4", "l4"), "l4 comes from l4, named before it"),
        (("h100",), ("h100", "h100-l4"), "h100 comes from h100, named before it"),
        (
            ("h100", "l4"),
            ("h100", "l4", "h100-l4"),
            "h100 comes from h100, named before it and l4 comes from l4, named before it",
        ),
    ],
)
def test_a_report_of_which_nothing_would_be_used_is_bad_input(
    catalog: Catalog, targets: tuple[str, ...], names: tuple[str, ...], why: str
) -> None:
    with pytest.raises(BadInput) as caught:
        check_reports(catalog, targets, map(Path, names))
    assert str(caught.value) == f"--recorded {names[-1]}: nothing of it would be used: {why}"


def test_comparisons_measured_otherwise_are_named_with_what_changed(
    catalog: Catalog, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of the run before, whose protocols were longer, the short kernels' comparisons are left."""
    report = ROOT / "reports" / "published" / "h100_20261121_settled.tar.xz"
    (provision, where) = find_recorded(ROOT, catalog, ["h100"], [report], list(trusted_keys(ROOT)))[
        "h100"
    ]
    assert where == report
    assert provision.recorded_in == "reports/published/h100_20261121_settled.tar.xz"
    assert provision.detail.startswith(f"figures come from {provision.recorded_in}, measured on")
    require_figures(provision)
    said = capsys.readouterr().err
    assert "assay: reports/published/h100_20261121_settled.tar.xz: 21 of its 23 comparisons" in said
    assert "another protocol: " in said
    assert "attention_s512" not in said
    # Example 88 was compiled without -DNDEBUG then; 41 and 57 are as their sources type them.
    assert (
        "12 of its 15 program runs on h100 are not taken over: this checkout compiles "
        "cutlass_example_88 otherwise"
    ) in said
    ran = {p for p in provision.recorded_paths if p.startswith("h100/program/")}
    assert not any("cutlass_example_88" in path for path in ran)
    assert any("cutlass_example_57" in path for path in ran)
    assert "h100/benchmark/bsr_bsr_stages.json.gz" not in provision.recorded_paths
    earlier = provision.earlier_sources
    assert {"bsr_gemm_wgmma", "bsr_bsr_stage3"} <= earlier.keys()
    assert all(re.fullmatch("[0-9a-f]{40}", commit) for commit in earlier.values())
    assert "builds/sm_90a/bsr_gemm_wgmma.json" in provision.earlier_builds
    assert len(provision.earlier_builds) == len(earlier)
    assert not set(provision.earlier_builds) & set(provision.recorded_paths)
    assert "timings.json" in provision.recorded_paths


def test_a_report_under_another_name_is_not_taken_from(catalog: Catalog, tmp_path: Path) -> None:
    """The evidence would say that the figures are of a report that there is not."""
    report = ROOT / "reports" / "published" / "h100_20261124"
    copy = shutil.copytree(report, tmp_path / "copy" / "official")
    keys = list(trusted_keys(ROOT))
    with pytest.raises(BadInput, match="is the report of run 'h100_20261124', and named"):
        find_recorded(ROOT, catalog, ["h100"], [copy], keys)


def test_of_figures_at_second_hand_the_builds_are_those_that_came_along(catalog: Catalog) -> None:
    """What the report in between compiled itself made none of the binaries that were measured."""
    report = ROOT / "reports" / "published" / "h100_20261124"
    found = find_recorded(ROOT, catalog, ["h200"], [report], list(trusted_keys(ROOT)))
    assert [job.original for job in found["h200"][0].recorded_originals] == [
        "s002_sparse_h100_winner"
    ]
    for target, (provision, _) in found.items():
        # Its own steps took the figures over: their times are not those of measuring.
        assert "timings.json" not in provision.recorded_paths
        builds = [path for path in provision.recorded_paths if "builds/" in path]
        assert builds
        for path in (*builds, *provision.earlier_builds):
            assert path.startswith(f"{target}/origin/builds/sm_")
            assert (report / "evidence" / path).is_file()
        plan = TargetPlan(
            target=target, provision=provision, comparisons=(), programs=(), profiles=()
        )
        came = {path: source for path, source in came_along(plan).items() if "builds/" in path}
        assert came == {path: path for path in (*builds, *provision.earlier_builds)}
        assert set(recorded_builds(plan).values()) == set(builds)


def test_an_own_program_is_taken_over_where_it_is_described_as_it_was(catalog: Catalog) -> None:
    """Where in its output the figures stand may be put otherwise by now: it is read again."""
    described = catalog.sources["002"].original
    assert described is not None

    def holding(**changes: Any) -> Catalog:
        source = catalog.sources["002"].model_copy(
            update={"original": described.model_copy(update=changes)}
        )
        return replace(catalog, sources={**catalog.sources, "002": source})

    read_otherwise = described.figures[0].model_copy(update={"pattern": "rate {value}"})
    assert _same_original(holding(figures=(read_otherwise,)), catalog, described.id)
    assert not _same_original(holding(file="src/other.cu"), catalog, described.id)
    assert not _same_original(holding(id="another"), catalog, described.id)


def test_the_plan_of_recorded_figures_has_the_own_program_that_ran_there(catalog: Catalog) -> None:
    job = OriginalJob(
        source="003",
        original="s003_sparse_attention_e2e",
        checkout=CheckoutCopy(files=1, bytes=1, sha256="c" * 64),
        build=None,
        run=GivenLine(line="./sparse_e2e 800", by="source"),
    )
    described = catalog.sources["003"].original
    assert described is not None
    assert described.id == job.original
    path = original_path("h200", job.original)
    claims = catalog.sources["003"].claims

    def ways(*originals: OriginalJob) -> dict[str, str]:
        provision = Provision(
            target="h200",
            kind="recorded",
            recorded_in="r",
            recorded_paths=(path,),
            recorded_originals=originals,
            detail="figures come from r",
        )
        asked = Asked(("003",), (provision,), frozenset())
        answers = make_answers(catalog, asked, claims)
        return {each.claim: each.way for each in answers if each.target == "h200"}

    assert "s003_e2e_latency" not in ways()
    assert ways(job)["s003_e2e_latency"] == "recorded"


class TestVariants:
    """A kernel that asks for more by now is still the one that was measured; another is not."""

    then = b.variants()["our_kernel"].model_copy(update={"defines": {"BM": 128}})

    @pytest.mark.parametrize(
        ("change", "same"),
        [
            ({}, True),
            ({"title": "In other words", "built_from": "the same"}, True),
            ({"artifact": "original", "package": "a-library"}, True),
            ({"defines": {"BM": 128, "PAD": 0}}, True),
            ({"archs": ("sm_80", "sm_89", "sm_90a")}, True),
            ({"defines": {"BM": 256}}, False),
            ({"defines": {}}, False),
            ({"source": "another.cu"}, False),
            ({"flags": ("--use_fast_math",)}, False),
        ],
    )
    def test_what_makes_it_another(self, change: dict[str, Any], same: bool) -> None:
        assert _same_variant(self.then.model_copy(update=change), self.then) == same


def test_a_platform_alone_holds_no_figures() -> None:
    provision = Provision(
        target="h100",
        kind="recorded",
        recorded_in="r",
        recorded_paths=("h100/platform.json", "h100/sanitizer.json"),
        detail="",
    )
    with pytest.raises(BadInput, match="--recorded r: holds no figure of h100 that"):
        require_figures(provision)
