"""Claims on what compiles as published: judged by the record, and not run without one."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.base.errors import BadInput
from assay.base.io import write_record
from assay.building.recipe import file_command
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.catalog.references import check_references
from assay.evidence.model import Evidence
from assay.evidence.stages import file_compile_path
from assay.judging.answers import Asked, make_answers
from assay.judging.judge import judge
from assay.pipeline.original_requests import usable_file_compiles
from assay.records.builds import ToolchainRecord
from assay.records.evaluations import Compiles, Metric, Quantity, Term
from assay.records.file_compiles import FileCompileJob, FileCompileRecord
from assay.records.originals import CheckoutCopy
from assay.records.plan import Plan
from assay.records.verdicts import Status, Verdict, Why
from assay.report.file_compiles import file_compile_rows
from assay.verification.contradictions import Findings
from assay.verification.file_compiles import check_file_compiles
from assay.verification.origin import Origin
from tests import builders as b
from tests.library_checkout import REPOSITORY

NAME, FILE = "s004_triage", "csrc/kernels/attention_bleeding_edge_tma.cu"
COPY = CheckoutCopy(files=1, bytes=1, sha256="c" * 64)
ZERO = f'checkout/{FILE}(9): error: zero-sized variable "made_up" is not allowed in device code'
OTHER = f'checkout/{FILE}(8): error: identifier "tma_load" is undefined'
LOCK = "a" * 64
CLAIMS = ("s004_triage_l4", "s004_triage_arrays", "s004_triage_sm90a")


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    """This repository's own, with a claim beside its own that the file compiles for Hopper."""
    own = load_catalog(REPOSITORY)
    refused = own.claims[CLAIMS[0]]
    evaluation = Compiles(kind="compiles", compilation=NAME, arch="sm_90a", expect="builds")
    claim = refused.model_copy(update={"id": CLAIMS[2], "evaluation": evaluation})
    source = own.sources["004"]
    (listed,) = source.compilations
    both = listed.model_copy(update={"archs": ("sm_89", "sm_90a")})
    changes = {"claims": (*source.claims, claim), "compilations": (both,)}
    return replace(
        own,
        sources=own.sources | {"004": source.model_copy(update=changes)},
        claims=own.claims | {claim.id: claim},
        source_of=own.source_of | {claim.id: "004"},
    )


def record(arch: str, *words: str, **changes: Any) -> FileCompileRecord:
    made = FileCompileRecord(
        schema="assay/file_compile/1",
        source="004",
        compilation=NAME,
        arch=arch,
        recorded_at="2026-11-22T16:00:00Z",
        file=FILE,
        file_sha256="b" * 64,
        checkout=COPY,
        command=file_command(FILE, arch),
        exit_code=1 if words else 0,
        words=words,
        cut=False,
        toolchain=ToolchainRecord(
            schema="assay/toolchain/1", nvcc="13.0.88", host_compiler="g++ 12", wheels={},
            lock_sha256=LOCK,
        ),
    )  # fmt: skip
    return made.model_copy(update=changes)


def job(arch: str, **changes: Any) -> FileCompileJob:
    made = FileCompileJob(source="004", compilation=NAME, arch=arch, checkout=COPY)
    return made.model_copy(update=changes)


def evidence(catalog: Catalog, *records: FileCompileRecord, planned: bool = True) -> Evidence:
    """A run for source 004 without a target."""
    jobs = tuple(job(arch) for arch in ("sm_89", "sm_90a")) if planned else ()
    asked = Asked(("004",), (), frozenset(), frozenset(each.key for each in jobs))
    claims = [catalog.claims[name] for name in CLAIMS]
    answers = tuple(a for a in make_answers(catalog, asked, claims) if a.claim in CLAIMS)
    plan = Plan(
        schema="assay/plan/1", run="made", sources=("004",), builds=(), compilations=jobs,
        targets=(), answers=answers,
    )  # fmt: skip
    keys = {(each.compilation, each.arch): each for each in records}
    return Evidence(
        plan, {}, {}, {}, {}, {}, {}, {}, file_compiles=keys,
        file_compile_paths={key: file_compile_path(*key) for key in keys},
    )  # fmt: skip


def judged(catalog: Catalog, *records: FileCompileRecord, planned: bool = True) -> list[Verdict]:
    return list(judge(catalog, evidence(catalog, *records, planned=planned)).verdicts)


def test_beside_a_file_for_hopper_stands_what_runs_there(catalog: Catalog) -> None:
    """A compiler's word says nothing of a rate; what was timed is shown, and decides nothing."""
    quantity = Quantity(metric=Metric.RATE, term=Term(comparison="duel", arm="ours"))
    claim = catalog.claims[CLAIMS[2]]
    evaluation = claim.evaluation.model_copy(update={"nearest": (quantity,)})
    claim = claim.model_copy(update={"evaluation": evaluation})
    small = b.catalog((claim,))
    found = record("sm_90a", ZERO)
    key = (found.compilation, found.arch)
    answer = b.measure(claim.id, None).model_copy(update={"kind": "compile"})
    for timed, shown in (([b.benchmark()], ["rate of ours in duel"]), ([], [])):
        held = replace(
            b.evidence([answer], benchmarks=timed, checks=[b.correctness()]),
            file_compiles={key: found},
            file_compile_paths={key: file_compile_path(*key)},
        )
        (verdict,) = judge(small, held).verdicts
        assert verdict.status is Status.NOT_REPRODUCED
        assert [entry.what for entry in verdict.nearest] == shown


class TestVerdicts:
    """In the order of CLAIMS: fails for sm_89; in words on arrays; builds for sm_90a."""

    def test_what_fails_for_both_in_words_on_arrays(self, catalog: Catalog) -> None:
        found = judged(catalog, record("sm_89", OTHER, ZERO), record("sm_90a", ZERO))
        assert [each.status for each in found] == [
            Status.REPRODUCED, Status.REPRODUCED, Status.NOT_REPRODUCED,
        ]  # fmt: skip
        assert [(each.claimed, each.measured) for each in found] == [
            ("fails", "fails"), ("shown", "shown"), ("builds", "fails"),
        ]  # fmt: skip
        assert found[2].why is Why.OTHER_OUTCOME
        assert {each.artifact for each in found} == {"original"}
        assert OTHER in found[0].explanation
        assert ZERO in found[1].explanation and "in 1 error" in found[1].explanation
        assert "ours: `nvcc -ccbin" in found[0].explanation
        assert found[0].evidence == ("evidence/compiled_files/sm_89/s004_triage.json",)

    def test_a_refusal_in_other_words_shows_no_arrays(self, catalog: Catalog) -> None:
        found = judged(catalog, record("sm_89", OTHER), record("sm_90a"))
        assert [each.status for each in found] == [
            Status.REPRODUCED, Status.NOT_REPRODUCED, Status.REPRODUCED,
        ]  # fmt: skip
        assert found[1].measured == "not shown"
        assert "nowhere" in found[1].explanation

    def test_what_compiles_has_none_either(self, catalog: Catalog) -> None:
        found = judged(catalog, record("sm_89"), record("sm_90a"))
        assert [each.status for each in found[:2]] == [Status.NOT_REPRODUCED] * 2

    def test_words_that_were_cut_off_decide_nothing(self, catalog: Catalog) -> None:
        found = judged(catalog, record("sm_89", OTHER, cut=True), record("sm_90a"))
        assert (found[1].status, found[1].reason) == (Status.NOT_RUN, "not_recorded")
        assert found[0].status is Status.REPRODUCED

    def test_without_a_checkout_it_says_how_to_get_there(self, catalog: Catalog) -> None:
        found = judged(catalog, planned=False)
        assert {(each.status, each.reason) for each in found} == {
            (Status.NOT_RUN, "original_unavailable")
        }
        assert "--original 004=DIR and --runtime host" in found[0].explanation
        assert {each.why for each in found} == {Why.ORIGINAL_ABSENT}


class TestVerified:
    """A report without the record, or with another one, is refused."""

    def codes(self, catalog: Catalog, given: Evidence, **origins: Origin) -> list[str]:
        findings = Findings()
        check_file_compiles(catalog, given, origins, findings)
        return [each.code for each in findings.contradictions]

    def test_what_the_plan_calls_for_is_there(self, catalog: Catalog) -> None:
        both = record("sm_89", ZERO), record("sm_90a", ZERO)
        assert self.codes(catalog, evidence(catalog, *both)) == []
        assert self.codes(catalog, evidence(catalog, both[0])) == ["record-missing"]

    @pytest.mark.parametrize(
        "changes",
        [
            {"checkout": COPY.model_copy(update={"sha256": "d" * 64})},
            {"source": "003"},
            {"file": "another.cu"},
        ],
    )
    def test_a_record_of_something_else(self, catalog: Catalog, changes: dict[str, Any]) -> None:
        given = evidence(catalog, record("sm_89", ZERO, **changes), record("sm_90a", ZERO))
        assert self.codes(catalog, given) == ["file-compile"]

    def test_a_file_that_no_claim_file_describes(self, catalog: Catalog) -> None:
        given = evidence(catalog, record("sm_89", ZERO), record("sm_90a", ZERO))
        sources = catalog.sources | {
            "004": catalog.sources["004"].model_copy(update={"compilations": ()})
        }
        assert self.codes(replace(catalog, sources=sources), given) == ["file-compile"] * 2

    def test_what_another_report_has_and_was_not_taken_is_told(self, catalog: Catalog) -> None:
        findings = Findings()
        held = frozenset({file_compile_path(NAME, "sm_89")})
        origins = {"h100": Origin(held, defined_alike=True)}
        check_file_compiles(catalog, evidence(catalog, planned=False), origins, findings)
        assert findings.contradictions == []
        assert "compiled_files/sm_89/s004_triage.json" in findings.unproven[0]


class TestTakenOver:
    """Of a report that figures come from, what this checkout would compile alike is taken."""

    def held(self, folder: Path, path: str, given: FileCompileRecord) -> None:
        write_record(given, folder / path)

    def test_where_it_lies(self, catalog: Catalog, tmp_path: Path) -> None:
        own = file_compile_path(NAME, "sm_89")
        self.held(tmp_path, own, record("sm_89", ZERO))
        came = f"h100/origin/{file_compile_path(NAME, 'sm_90a')}"
        self.held(tmp_path, came, record("sm_90a", ZERO))
        found = usable_file_compiles(catalog, LOCK, tmp_path, "h100")
        assert found == {own: job("sm_89"), came: job("sm_90a")}
        assert usable_file_compiles(catalog, LOCK, tmp_path, "h200").keys() == {own}

    def test_not_by_another_command_or_toolchain(self, catalog: Catalog, tmp_path: Path) -> None:
        path = file_compile_path(NAME, "sm_89")
        self.held(tmp_path, path, record("sm_89", ZERO, command=("nvcc",)))
        assert usable_file_compiles(catalog, LOCK, tmp_path, "h100") == {}
        self.held(tmp_path, path, record("sm_89", ZERO))
        assert usable_file_compiles(catalog, "e" * 64, tmp_path, "h100") == {}


def test_the_report_shows_the_words(catalog: Catalog) -> None:
    first, second = file_compile_rows(
        evidence(catalog, record("sm_89", ZERO, cut=True), record("sm_90a"))
    )
    assert (first.outcome, first.words, first.more) == ("does not compile", (ZERO,), True)
    assert (second.outcome, second.words) == ("compiles", ())


def test_a_claim_names_a_file_that_its_source_lists(catalog: Catalog) -> None:
    listed = catalog.sources["004"].compilations[0]
    fewer = listed.model_copy(update={"archs": ("sm_89",)})
    sources = catalog.sources | {
        "004": catalog.sources["004"].model_copy(update={"compilations": (fewer,)})
    }
    with pytest.raises(BadInput, match="no compilation 's004_triage' for sm_90a"):
        check_references(replace(catalog, sources=sources))
