"""What is taken of an earlier report, and what is nested for it."""

import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.base.errors import BadInput, CheckFailed
from assay.base.pip_locks import TOOLCHAIN_LOCK
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.judging.answers import Asked, make_answers
from assay.pipeline.reuse import (
    _measured_alike,
    _same_original,
    _same_variant,
    find_recorded,
    require_figures,
    take_whole,
)
from assay.records.originals import OriginalJob
from assay.records.plan import EarlierReport
from assay.report.render import render
from assay.shared.files import write_bytes
from assay.verification.manifest import walk
from assay.verification.sign import public_key_path, sign
from assay.verification.trusted_keys import trusted_keys
from tests import builders as b
from tests.checkout_fixtures import JOB
from tests.report_fixtures import LOCK, recorded_run, signed_report, write_repository

ROOT = Path(__file__).resolve().parents[2]


def test_comparisons_measured_otherwise_are_named_with_what_changed(catalog, capsys):
    """Of the run before, whose protocols were longer, the short kernels' comparisons are left."""
    report = ROOT / "reports" / "published" / "h100_20261121_settled.tar.xz"
    taken = find_recorded(ROOT, catalog, ["h100"], [report], trusted_keys(ROOT))["h100"]
    held, provision = taken.held, taken.held.provision
    assert (taken.report.name, taken.report.path) == ("h100_20261121_settled", str(report))
    assert provision.within == "earlier/h100_20261121_settled/evidence"
    assert provision.recorded_in == "reports/published/h100_20261121_settled.tar.xz"
    assert provision.detail.startswith(f"figures come from {provision.recorded_in}, measured on")
    require_figures(held)
    said = capsys.readouterr().err
    assert "h100_20261121_settled.tar.xz: " in said
    assert "attention_s512" not in said
    # Example 88 was compiled without -DNDEBUG then; 41 and 57 are as their sources type them.
    assert "bsr_bsr_stages and 18 more" in said
    assert "cutlass_example_57" in {job.program for job in held.programs}
    assert "cutlass_example_88" not in {job.program for job in held.programs}
    assert "bsr_bsr_stages" not in held.comparisons
    earlier = provision.earlier_sources
    assert {"bsr_gemm_wgmma", "bsr_bsr_stage3"} <= earlier.keys()
    assert all(re.fullmatch("[0-9a-f]{40}", commit) for commit in earlier.values())


def test_a_report_under_another_name_is_not_taken_from(catalog: Catalog, tmp_path: Path) -> None:
    """The evidence would say that the figures are of a report that there is not."""
    report = ROOT / "reports" / "published" / "hopper_20261130"
    copy = shutil.copytree(report, tmp_path / "copy" / "official")
    keys = list(trusted_keys(ROOT))
    with pytest.raises(BadInput, match="is the report of run 'hopper_20261130', and named"):
        find_recorded(ROOT, catalog, ["h100"], [copy], keys)


def test_a_report_that_only_took_others_over_is_not_nested_itself(tmp_path: Path) -> None:
    """What it took is: judging again what was judged again piles nothing up."""
    root = write_repository(tmp_path / "repo")
    write_bytes(root / TOOLCHAIN_LOCK, LOCK.encode())
    key, catalog = tmp_path / "key", load_catalog(root)
    measured = signed_report(root, "first_run")
    wrapper = root / "reports" / "second_run"
    render(root, recorded_run(root, "second_run", measured), wrapper)
    sign(wrapper, key)
    keys = [public_key_path(key)]
    found = [
        find_recorded(root, catalog, ["h100"], [report], keys)["h100"]
        for report in (measured, wrapper)
    ]
    assert {each.held.provision.within for each in found} == {"earlier/first_run/evidence"}
    assert [each.report.name for each in found] == ["first_run", "first_run"]
    assert found[1].report.folder == "evidence/earlier/first_run"
    assert found[0].report.manifest_sha256 == found[1].report.manifest_sha256
    assert found[0].held.comparisons == found[1].held.comparisons != ()
    copy = tmp_path / "run" / "earlier" / "first_run"
    take_whole(found[1].report, copy)
    assert {path: (copy / path).read_bytes() for path in walk(copy)} == {
        path: (measured / path).read_bytes() for path in walk(measured)
    }


def test_what_does_not_say_how_its_binaries_were_made_is_not_taken_over(tmp_path: Path) -> None:
    root = write_repository(tmp_path / "repo")
    write_bytes(root / TOOLCHAIN_LOCK, LOCK.encode())
    report = signed_report(root, "first_run")
    (lost, *_) = (report / "evidence" / "builds").glob("sm_90a/*.json")
    lost.unlink()
    sign(report, key := tmp_path / "key")
    with pytest.raises(BadInput, match=f"no record of how.*{lost.stem}"):
        find_recorded(root, load_catalog(root), ["h100"], [report], [public_key_path(key)])


def test_a_report_that_was_changed_since_is_not_copied(report: Path, tmp_path: Path) -> None:
    asked = EarlierReport(name="first_run", path=str(report), folder="", manifest_sha256="0" * 64)
    copy = tmp_path / "run" / "earlier" / "first_run"
    with pytest.raises(CheckFailed, match="was changed since"):
        take_whole(asked, copy)
    assert not copy.exists()


def test_an_own_program_is_taken_over_where_it_is_described_as_it_was(catalog: Catalog) -> None:
    """Where in its output the figures stand may be put otherwise by now: it is read again."""
    described = catalog.sources["002"].original

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
    given = {"source": "003", "original": "s003_sparse_attention_e2e"}
    job = JOB.model_copy(update=given)
    described = catalog.sources["003"].original
    assert described.id == job.original
    claims = catalog.sources["003"].claims

    def ways(*originals: OriginalJob) -> dict[str, str]:
        held = b.held("h200", originals=originals)
        asked = Asked(("003",), (held.provision,), frozenset(), held=(held,))
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
            ({"title": "In other words", "built_from": "the same"}, True),
            ({"defines": {"BM": 128, "PAD": 0}}, True),
            ({"archs": ("sm_80", "sm_89", "sm_90a")}, True),
            ({"defines": {}}, False),
            ({"source": "another.cu"}, False),
        ],
    )
    def test_what_makes_it_another(self, change: dict[str, Any], same: bool) -> None:
        assert _same_variant(self.then.model_copy(update=change), self.then) == same


def test_outputs_that_nothing_timed_are_taken_over(catalog: Catalog) -> None:
    report = ROOT / "reports" / "published" / "l4_on_h200_20261128.tar.xz"
    asked, keys = ["l4_on_h200"], trusted_keys(ROOT)
    held = find_recorded(ROOT, catalog, asked, [report], keys)["l4_on_h200"].held
    require_figures(held)
    assert not held.timed and {"sm89_attention", "sm89_bsr_gemm"} <= {*held.comparisons}


def test_a_platform_alone_holds_no_figures() -> None:
    with pytest.raises(BadInput, match="holds no figure of h100 that"):
        require_figures(b.held("h100"))


def with_samples(catalog: Catalog, processes: int | tuple[int, ...], blocks: int = 2) -> Catalog:
    protocols = {
        name: each.model_copy(update={"processes": processes, "blocks": blocks})
        for name, each in catalog.protocols.items()
    }
    return replace(catalog, protocols=protocols)


@pytest.mark.parametrize(
    ("now", "then", "alike"),
    [
        (((3, 5, 8),), (6,), True),
        (((3, 5, 8),), ((3, 5, 8),), True),
        (((3, 5, 8),), ((3, 5, 12),), False),
        ((6,), ((3, 5, 6),), False),
        ((5,), (8,), False),
        (((3, 5), 2), (5, 3), True),
        (((3, 5), 3), (5, 2), False),
    ],
)
def test_more_samples_do_for_fewer(now, then, alike):
    """And a fixed number of processes for looks. What verifying would refuse is not taken over."""
    catalog = b.catalog()
    given = with_samples(catalog, *now), with_samples(catalog, *then)
    assert _measured_alike(*given, "duel") is alike
