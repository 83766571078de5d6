"""Rebuilding what evidence records: real compilations, tampered records, refused commands."""

import dataclasses
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from assay.base.check_log import CheckLog
from assay.base.errors import BadInput, CheckFailed
from assay.base.io import write_record
from assay.building.build import build
from assay.building.line_tables import OPTION
from assay.building.nvcc import Compiled
from assay.building.recipe import command_of, command_problem
from assay.building.toolchain import LOCK, Toolchain, ensure_toolchain
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.evidence.load import load_evidence
from assay.evidence.stages import build_path
from assay.records.builds import BuildRecord, CompileCost, FileDigest
from assay.records.verification import ProofState
from assay.runtimes.base import Place
from assay.runtimes.host import HostRuntime
from assay.verification import rebuild as module
from assay.verification.rebuild import (
    RebuildResult,
    RebuildStatus,
    Rebuilt,
    compare,
    conclude,
    rebuild,
)
from assay.verification.report_archive import opened_report
from assay.verification.sign import public_key_path, sign
from assay.verification.trust import published_reports
from assay.verification.verify import verify
from tests import report_fixtures
from tests.report_fixtures import signed_report, write_repository

KERNEL = """
#include "scale.cuh"
static __global__ void scale(float* p) { p[threadIdx.x] *= SCALE * BK; }
extern "C" int demo(float* p, void* stream) {
    scale<<<1, 32, 0, (cudaStream_t)stream>>>(p);
    return (int)cudaGetLastError();
}
"""
PROBE = """
__global__ void probe() { asm volatile("tcgen05.wait::ld.sync.aligned;"); }
"""
ARCH = "sm_90a"
REAL = (("variant", "demo_bk32"), ("variant", "demo_bk64"), ("variant", "demo_bk96"),
        ("probe", "demo_probe"))  # fmt: skip
ONE = ("demo_bk32",)


@pytest.fixture(scope="module")
def made(root, toolchain, tmp_path_factory) -> Iterator[Path]:
    """A repository, and a signed report of builds that nvcc really made."""
    base = tmp_path_factory.mktemp("made")
    repo = write_repository(base / "repo")
    (repo / "kernels" / "demo" / "demo.cu").write_text(KERNEL)
    (repo / "kernels" / "demo" / "scale.cuh").write_text("#define SCALE 2.0f\n")
    (repo / "kernels" / "demo" / "probe.cu").write_text(PROBE)
    (repo / LOCK).parent.mkdir()
    shutil.copy(root / LOCK, repo / LOCK)
    (repo / ".toolchain").symlink_to(root / ".toolchain")
    catalog = load_catalog(repo)
    records = {
        name: build(
            repo, catalog, kind, name, ARCH,
            out_dir=base / "out", cache_dir=base / "cache", place=Place(HostRuntime()),
        )
        for kind, name in REAL
    }  # fmt: skip
    invented, digest = report_fixtures._build, report_fixtures.binary_sha256

    def binary_sha256(name: str, arch: str) -> str:
        artifact = records[name].artifact if name in records else None
        return artifact.sha256 if artifact else digest(name, arch)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report_fixtures, "binary_sha256", binary_sha256)
        patch.setattr(report_fixtures, "_build", lambda job: records.get(job.id) or invented(job))
        signed_report(repo)
    yield base


@pytest.fixture
def base(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "base", symlinks=True))


@pytest.fixture
def repo(base: Path) -> Path:
    return base / "repo"


@pytest.fixture
def report(repo: Path) -> Path:
    return repo / "reports" / "demo_run"


def edit(report: Path, name: str, change: Callable[[dict[str, Any]], None]) -> None:
    """Change a build record and sign the report again with its own key."""
    path = report / "evidence" / build_path(name, ARCH)
    document = json.loads(path.read_bytes())
    change(document)
    write_record(BuildRecord.model_validate_json(json.dumps(document)), path)
    sign(report, report.parents[2] / "key")


def run(report: Path, toolchain: Toolchain, *only: str, **options: Any) -> RebuildResult:
    said: list[str] = []
    result = rebuild(
        report, report.parents[1], toolchain, only=only, progress=said.append, **options
    )
    assert len(said) == len(result.builds)
    return result


def statuses(result: RebuildResult) -> dict[str, RebuildStatus]:
    return {entry.id: entry.status for entry in result.builds}


@pytest.fixture
def never_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError("a compiler was started")

    monkeypatch.setattr(module, "compiled", refuse)


@pytest.mark.compiler
class TestFaithfulEvidence:
    """The recorded builds come out again."""

    def test_every_build_is_identical_measured_ones_first(self, report: Path, toolchain: Toolchain):
        names = [name for _, name in REAL]
        result = run(report, toolchain, *names)
        assert statuses(result) == dict.fromkeys(names, RebuildStatus.IDENTICAL)
        assert [entry.measured for entry in result.builds] == [True, True, True, False]
        assert result.builds[-1].detail == "refused again, in the same words"

    def test_the_check_says_how_many_and_what_rests_on_them(self, repo, report, toolchain):
        log = CheckLog()
        conclude(log, report, run(report, toolchain, *ONE))
        sources, passed = log.checks
        assert sources.id == "sources" and sources.state is ProofState.PROVEN
        assert passed.id == "rebuild" and passed.passed
        assert "1 identical" in passed.says and "measurements rest on 1" in passed.says
        assert all("--only left out" in line for line in passed.unproven)

    def test_another_host_compiler_is_a_note(self, base, report, tmp_path, monkeypatch):
        """A g++ of another name, which optimises less: the same cubins in another library."""
        compiler = shutil.which("g++")
        other = tmp_path / "bin" / "g++"
        other.parent.mkdir()
        other.write_text(
            f'#!/bin/sh\n[ "$1" = --version ] && echo "g++ (another) 12" && exit\n'
            f'exec {compiler} "$@" -O0\n'
        )
        other.chmod(0o755)
        monkeypatch.setenv("PATH", f"{other.parent}:{os.environ['PATH']}")
        toolchain = ensure_toolchain(report.parents[1])
        result = run(report, toolchain, *ONE)
        assert statuses(result) == {"demo_bk32": RebuildStatus.SAME_DEVICE_CODE}
        detail = result.builds[0].detail
        assert "by g++ (another) 12 here" in detail
        log = CheckLog()
        conclude(log, report, result)
        notes = log.checks[-1].unproven
        assert "host code is other" in notes[0] and "demo_bk32 for sm_90a" in notes[0]
        assert "not shown to come from these sources" in notes[0]


@pytest.mark.compiler
class TestTamperedEvidence:
    """A signature by a trusted key does not make a hash true."""

    def test_another_artifact_hash_fails_and_is_named(self, report: Path, toolchain: Toolchain):
        edit(report, "demo_bk32", lambda record: record["artifact"].update(sha256="0" * 64))
        key = public_key_path(report.parents[2] / "key")
        with pytest.raises(CheckFailed) as refused:
            verify(report, [key])
        assert refused.value.code == "binary", "what was timed is another binary than the record's"
        with pytest.raises(CheckFailed, match="demo_bk32 for sm_90a: differs") as raised:
            conclude(CheckLog(), report, run(report, toolchain, *ONE))
        assert raised.value.exit_code == 1

    @pytest.mark.parametrize(
        ("change", "sentence"),
        [
            (lambda r: r["cubins"][0].update(sha256="0" * 64), "other device code in demo.cubin"),
            (lambda r: r["resources"][0].update(registers=255), "other registers"),
        ],
    )
    def test_other_device_code_or_resources_fail(self, report, toolchain, change, sentence):
        edit(report, "demo_bk32", change)
        result = run(report, toolchain, *ONE)
        assert statuses(result) == {"demo_bk32": RebuildStatus.DIFFERS}
        assert sentence in result.builds[0].detail

    def test_a_refusal_that_was_invented_fails(self, report: Path, toolchain: Toolchain):
        def change(record: dict[str, Any]) -> None:
            record.update(status="failed", artifact=None, cubins=[], resources=[])

        edit(report, "demo_bk32", change)
        assert statuses(run(report, toolchain, *ONE)) == {"demo_bk32": RebuildStatus.DIFFERS}

    def test_a_refusal_for_want_of_a_file_confirms_nothing(self, report, toolchain):
        def change(record: dict[str, Any]) -> None:
            record.update(status="failed", artifact=None, cubins=[], resources=[])
            record["sources"] = [s for s in record["sources"] if s["path"].endswith(".cu")]

        edit(report, "demo_bk32", change)
        result = run(report, toolchain, *ONE)
        assert statuses(result) == {"demo_bk32": RebuildStatus.DIFFERS}
        assert "scale.cuh" in result.builds[0].detail


@pytest.mark.compiler
@pytest.mark.usefixtures("never_compiled")
class TestNothingToCompile:
    """Without the recorded sources, toolchain or a safe command no compiler starts."""

    def test_a_source_that_is_another(self, report: Path, toolchain: Toolchain):
        edit(report, "demo_bk32", lambda record: record["sources"][0].update(sha256="0" * 64))
        result = run(report, toolchain, *ONE)
        assert statuses(result) == {"demo_bk32": RebuildStatus.SOURCE_MISSING}
        assert "demo.cu" in result.builds[0].detail
        with pytest.raises(CheckFailed, match="check that out and rebuild there"):
            conclude(log := CheckLog(), report, result)
        assert [(entry.id, entry.code) for entry in log.checks] == [
            ("sources", "source-missing"), ("rebuild", "not-checked"),
        ]  # fmt: skip

    def test_another_toolchain(self, report: Path, toolchain: Toolchain):
        record = toolchain.record.model_copy(update={"lock_sha256": "0" * 64})
        result = run(report, dataclasses.replace(toolchain, record=record), *ONE)
        assert statuses(result) == {"demo_bk32": RebuildStatus.NOT_COMPILED}

    def test_a_malicious_command(self, report: Path, toolchain: Toolchain):
        edit(report, "demo_bk32", lambda record: record["command"].insert(1, "-run"))
        result = run(report, toolchain, *ONE)
        assert statuses(result) == {"demo_bk32": RebuildStatus.NOT_COMPILED}
        with pytest.raises(CheckFailed, match="its recorded command is not run"):
            conclude(log := CheckLog(), report, result)
        sources, rebuilt = log.checks
        assert sources.state is ProofState.UNPROVEN
        assert (rebuilt.id, rebuilt.code) == ("rebuild", "rebuild")

    def test_an_unknown_selection_is_bad_input(self, report: Path, toolchain: Toolchain):
        with pytest.raises(BadInput, match="no build 'demo_bk33'"):
            run(report, toolchain, "demo_bk33")


def newest_with_kernels() -> tuple[Catalog, dict[tuple[str, str], BuildRecord]]:
    """The newest report whose run built kernels and programs: one of a single source need not."""
    for path in published_reports(Path(__file__).resolve().parents[2]):
        with opened_report(path) as report:
            builds = load_evidence(report / "evidence").builds
            if {("bsr_gemm_mma", ARCH), ("cutlass_example_57", ARCH)} <= builds.keys():
                return load_catalog(report / "evidence"), builds
    raise AssertionError("no published report built both")


CATALOG, RECORDS = newest_with_kernels()
RECORD = RECORDS["bsr_gemm_mma", ARCH]


class TestRecordedCommands:
    """Only what our recipe makes of the evidence's kernel.yaml is run, and that only compiles."""

    def test_all_published_commands_are_accepted(self):
        for record in RECORDS.values():
            assert command_problem(record, CATALOG) is None

    @pytest.mark.parametrize(
        "changes",
        [
            {"command": ("sh", *RECORD.command[1:])},
            {"command": (*RECORD.command, "-run")},
            {"command": (*RECORD.command[:-1], "/etc/passwd.cu")},
            {"arch": "../../x"},
            {"id": "another"},
            {"kind": "program"},
            *(
                {"sources": (FileDigest(path=path, sha256="0" * 64, bytes=1),)}
                for path in ("../secret", "kernels/.git/config", "kernels/-x", "/etc/passwd")
            ),
        ],
    )
    def test_what_does_not_fit_its_record_is_refused(self, changes: dict[str, Any]):
        assert command_problem(RECORD.model_copy(update=changes), CATALOG) is not None

    @pytest.mark.parametrize(
        "flag", ["-run", "-ccbin=/bin/evil", "-Xcompiler=-fplugin=evil.so", "-optf=x", "@x",
                 "-I/usr/include", "-DX=$(touch)", "/etc/passwd.cu", "x.o", "-", ""],
    )  # fmt: skip
    def test_a_flag_of_the_evidence_that_does_more_is_refused(self, flag: str):
        variant = CATALOG.variants[RECORD.id]
        variant = variant.model_copy(update={"flags": (*variant.flags, flag)})
        catalog = dataclasses.replace(CATALOG, variants={**CATALOG.variants, RECORD.id: variant})
        command, _ = command_of(catalog, RECORD.kind, RECORD.id, ARCH)
        record = RECORD.model_copy(update={"command": command})
        assert command_problem(record, catalog) is not None


COST = CompileCost(seconds=1.0, cpu_seconds=1.0, peak_bytes=1)


OTHERS = RECORD.toolchain.model_copy(update={"host_compiler": "g++ 14"})
REFUSED = {"cubins": (), "resources": (), "diagnostics": "ptxas fatal: no"}


@pytest.mark.parametrize(
    ("refused", "ours", "status", "word"),
    [
        (False, RECORD.toolchain, RebuildStatus.DIFFERS, "another linker or C library"),
        (False, OTHERS, RebuildStatus.SAME_DEVICE_CODE, ""),
        (True, RECORD.toolchain, RebuildStatus.DIFFERS, "ptxas fatal: no"),
    ],
)
def test_each_outcome_has_its_status(tmp_path, refused, ours, status, word):
    (tmp_path / "other.so").write_bytes(b"other bytes")
    given = {"cubins": RECORD.cubins, "resources": RECORD.resources, "diagnostics": ""}
    made = Compiled(
        artifact=None if refused else tmp_path / "other.so", asserts=False, code_sha256=None,
        cost=COST, **{**given, **(REFUSED if refused else {})},
    )  # fmt: skip
    found, detail = compare(RECORD, made, ours)
    assert found is status
    assert word in detail


class TestLineTables:
    """By another host compiler, a cubin with line tables is the same but for these."""

    LINED = RECORD.model_copy(
        update={"command": (*RECORD.command, OPTION), "code_sha256": "c0" * 32}
    )

    @pytest.mark.parametrize(
        ("record", "outcome", "same"),
        [
            ({}, {}, True),
            ({"command": RECORD.command}, {}, False),
            ({"code_sha256": None}, {"code_sha256": None}, False),
            ({}, {"code_sha256": "c1" * 32}, False),
            ({}, {"resources": ()}, False),
        ],
    )
    def test_the_digest_of_all_else_decides(self, tmp_path, record, outcome, same):
        (tmp_path / "other.so").write_bytes(b"other bytes")
        given = {"resources": RECORD.resources, "code_sha256": "c0" * 32, **outcome}
        cubin = FileDigest(path="k.cubin", sha256="ab" * 32, bytes=1)
        made = Compiled(
            artifact=tmp_path / "other.so", cubins=(cubin,), asserts=False, diagnostics="",
            cost=COST, **given,
        )  # fmt: skip
        held = self.LINED.model_copy(update=record)
        for ours in (OTHERS, RECORD.toolchain):
            status, detail = compare(held, made, ours)
            assert (status is RebuildStatus.SAME_DEVICE_CODE) is same
        assert not same or detail.startswith("but for line tables, by ")

    def test_it_passes_and_a_note_says_what_was_excused(self, tmp_path: Path) -> None:
        details = ("by g++ 12 then, by g++ 14 here", "but for line tables, by g++ 12 then")
        builds = tuple(
            Rebuilt(detail[:3].strip(), ARCH, RebuildStatus.SAME_DEVICE_CODE, detail, measured=True)
            for detail in details
        )
        conclude(log := CheckLog(), tmp_path, RebuildResult(builds, None))
        found = log.checks[-1]
        assert found.state is ProofState.UNPROVEN
        assert "2 same_device_code" in found.says
        for said, detail in zip(found.unproven, details, strict=True):
            assert f"1 build has the same device code ({detail}); its host code is other" in said
