"""Claims on what compiles as published: judged by the record, and not run without one."""

from dataclasses import replace

import pytest

from assay.base.errors import BadInput
from assay.building.recipe import file_command
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.catalog.references import check_references
from assay.evidence.model import Evidence
from assay.evidence.stages import file_compile_path
from assay.judging.answers import Asked, make_answers
from assay.judging.judge import judge
from assay.records.builds import ToolchainRecord
from assay.records.evaluations import Compiles
from assay.records.originals import CheckoutCopy, FileCompileJob, FileCompileRecord
from assay.records.plan import Plan
from assay.records.verdicts import Status, Verdict
from tests.library_checkout import REPOSITORY

NAME, FILE = "s004_triage", "csrc/kernels/attention_bleeding_edge_tma.cu"
COPY = CheckoutCopy(files=1, bytes=1, sha256="c" * 64)
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


def record(arch: str, *words: str, cut: bool = False) -> FileCompileRecord:
    return FileCompileRecord(
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
        cut=cut,
        toolchain=ToolchainRecord(
            schema="assay/toolchain/1", nvcc="13.0.88", host_compiler="g++ 12", wheels={},
            lock_sha256=LOCK,
        ),
    )  # fmt: skip


def judged(catalog: Catalog, *records: FileCompileRecord) -> list[Verdict]:
    """Verdicts of a run for source 004 without a target."""
    jobs = tuple(
        FileCompileJob(source="004", compilation=NAME, arch=arch, checkout=COPY)
        for arch in ("sm_89", "sm_90a")
    )
    asked = Asked(("004",), (), frozenset(), frozenset(each.key for each in jobs))
    claims = [catalog.claims[name] for name in CLAIMS]
    answers = tuple(a for a in make_answers(catalog, asked, claims) if a.claim in CLAIMS)
    plan = Plan(
        schema="assay/plan/1", run="made", sources=("004",), builds=(), compilations=jobs,
        targets=(), answers=answers,
    )  # fmt: skip
    keys = {(each.compilation, each.arch): each for each in records}
    found = Evidence(
        plan, {}, {}, {}, {}, {}, {}, {}, file_compiles=keys,
        file_compile_paths={key: file_compile_path(*key) for key in keys},
    )  # fmt: skip
    return list(judge(catalog, found).verdicts)


class TestVerdicts:
    """In the order of CLAIMS: fails for sm_89; in words on arrays; builds for sm_90a."""

    def test_a_refusal_in_other_words_shows_no_arrays(self, catalog: Catalog) -> None:
        found = judged(catalog, record("sm_89", OTHER), record("sm_90a"))
        assert [each.status for each in found] == [
            Status.REPRODUCED, Status.NOT_REPRODUCED, Status.REPRODUCED,
        ]  # fmt: skip
        assert found[1].measured == "not shown"

    def test_words_that_were_cut_off_decide_nothing(self, catalog: Catalog) -> None:
        found = judged(catalog, record("sm_89", OTHER, cut=True), record("sm_90a"))
        assert (found[1].status, found[1].reason) == (Status.NOT_RUN, "not_recorded")
        assert found[0].status is Status.REPRODUCED


def test_a_claim_names_a_file_that_its_source_lists(catalog: Catalog) -> None:
    listed = catalog.sources["004"].compilations[0]
    fewer = listed.model_copy(update={"archs": ("sm_89",)})
    sources = catalog.sources | {
        "004": catalog.sources["004"].model_copy(update={"compilations": (fewer,)})
    }
    with pytest.raises(BadInput, match="no compilation 's004_triage' for sm_90a"):
        check_references(replace(catalog, sources=sources))
