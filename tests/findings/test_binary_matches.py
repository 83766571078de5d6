"""Measured binaries beside compiled ones, told in a sentence that a stranger can act on."""

from dataclasses import replace

import pytest

from assay.evidence.model import Evidence, RecordedBuild
from assay.findings.binary_matches import (
    BinaryMatch,
    Sameness,
    binary_matches,
    told,
    told_not_compiled,
)
from assay.records.builds import BuildRecord, FileDigest
from assay.records.plan import BuildJob, Plan, TargetPlan
from tests import builders as b

CUBIN = FileDigest(path="k.cubin", sha256=b.digest("device code"), bytes=10)
OTHER_CUBIN = CUBIN.model_copy(update={"sha256": b.digest("other device code")})
MEASURED = b.build("our_kernel", content="our binary").model_copy(update={"cubins": (CUBIN,)})
"""What was timed: the binary of the benchmark that ``builders`` makes."""


def by(compiler: str, content: str = "here", **changes: object) -> BuildRecord:
    """The same compilation on a machine with another host compiler."""
    record = b.build("our_kernel", content=content)
    toolchain = record.toolchain.model_copy(update={"host_compiler": compiler})
    given = {"cubins": (CUBIN,), "toolchain": toolchain, **changes}
    return record.model_copy(update=given)


def evidence(built: BuildRecord | None, recorded: BuildRecord | None = MEASURED) -> Evidence:
    found = b.evidence(
        [], benchmarks=[b.benchmark()], checks=[b.correctness()],
        builds=[built] if built else [], kinds={"h100": "recorded"},
    )  # fmt: skip
    came = RecordedBuild(recorded, "h100/origin/builds/x", "reports/x") if recorded else None
    return replace(found, recorded_builds={("our_kernel", "sm_90a"): came} if came else {})


def match(built: BuildRecord | None, recorded: BuildRecord | None = MEASURED) -> BinaryMatch:
    matches = binary_matches(b.catalog([]), evidence(built, recorded))
    return next(match for match in matches if match.artifact == "our_kernel")


LINE_INFO = {"command": ("nvcc", "-lineinfo")}


class TestSameness:
    """Each way that a measured binary can stand to the compiled one."""

    def test_the_same_file(self) -> None:
        found = match(by("g++ 12.2.0", "our binary"))
        assert (found.sameness, found.identical) == (Sameness.FILE, True)

    def test_the_same_device_code_by_another_host_compiler(self) -> None:
        found = match(by("g++ 14.2.0"))
        assert (found.sameness, found.identical) == (Sameness.DEVICE_CODE, False)
        assert found.host_compilers == ("g++ 12.2.0", "g++ 14.2.0")

    def test_other_device_code(self) -> None:
        assert match(by("g++ 14.2.0", cubins=(OTHER_CUBIN,))).sameness is Sameness.OTHER

    def test_the_same_machine_code_from_another_text(self) -> None:
        code = {"code_sha256": b.digest("machine code")}
        then = MEASURED.model_copy(update=code)
        assert match(by("g++ 12.2.0", cubins=(OTHER_CUBIN,), **code), then).sameness is (
            Sameness.INSTRUCTIONS
        )
        other = {"code_sha256": b.digest("other machine code")}
        for now, before in ((other, then), ({"code_sha256": None}, MEASURED), (code, MEASURED)):
            built = by("g++ 12.2.0", cubins=(OTHER_CUBIN,), **now)
            assert match(built, before).sameness is Sameness.OTHER

    def test_what_was_made_from_earlier_sources_has_its_own_record(self) -> None:
        code = {"code_sha256": b.digest("machine code")}
        then = MEASURED.model_copy(update=code)
        built = by("g++ 12.2.0", cubins=(OTHER_CUBIN,), **code)
        found = replace(evidence(built, None), earlier_builds={("h100", "our_kernel"): then})
        matches = binary_matches(b.catalog([]), found)
        assert [each.sameness for each in matches] == [Sameness.INSTRUCTIONS]

    def test_no_cubins_vouch_for_nothing(self) -> None:
        bare = MEASURED.model_copy(update={"cubins": ()})
        assert match(by("g++ 14.2.0", cubins=()), bare).sameness is Sameness.OTHER

    def test_line_tables_follow_the_host_compiler(self) -> None:
        then = MEASURED.model_copy(update=LINE_INFO)
        now = by("g++ 14.2.0", cubins=(OTHER_CUBIN,), **LINE_INFO)
        assert match(now, then).sameness is Sameness.LINE_TABLES
        same = by("g++ 12.2.0", cubins=(OTHER_CUBIN,), **LINE_INFO)
        assert match(same, then).sameness is Sameness.OTHER

    def test_a_record_of_another_binary_says_nothing_of_the_measured_one(self) -> None:
        stranger = MEASURED.model_copy(
            update={"artifact": CUBIN.model_copy(update={"sha256": b.digest("never timed")})}
        )
        for recorded in (stranger, None):
            assert match(by("g++ 14.2.0"), recorded).sameness is Sameness.OTHER

    def test_what_does_not_compile_here_is_another(self) -> None:
        failed = by("g++ 14.2.0", artifact=None, status="failed", diagnostics="no")
        assert match(failed).sameness is Sameness.OTHER

    def test_what_was_not_compiled(self) -> None:
        assert match(None).sameness is Sameness.NOT_COMPILED


class TestTold:
    """The sentence counts files, device code, and names the host compilers that differ."""

    @staticmethod
    def one(sameness: Sameness) -> BinaryMatch:
        compilers = ("g++ 12.2.0", "g++ 14.2.0")
        return BinaryMatch("k", "sm_90a", "h100", "0" * 64, sameness, compilers)

    def test_all_the_same(self) -> None:
        files = [self.one(Sameness.FILE)] * 44
        assert told(files) == (
            "Of 44 measured binaries, 44 are byte for byte what this run compiled."
        )
        assert told(files[:1]).startswith("Of 1 measured binary, 1 is byte for byte")

    def test_another_host_compiler(self) -> None:
        matches = [self.one(Sameness.DEVICE_CODE)] * 30 + [self.one(Sameness.NOT_COMPILED)] * 14
        assert told(matches) == (
            "Of 44 measured binaries, 0 are byte for byte what this run compiled; 30 have the same "
            "device code, byte for byte, in other host code (by g++ 12.2.0 then, by g++ 14.2.0 "
            "here); 14 were not compiled in this run."
        )

    def test_one_host_compiler_is_not_told_apart_from_itself(self) -> None:
        alike = replace(self.one(Sameness.DEVICE_CODE), host_compilers=("g++ 12.2.0",) * 2)
        assert told([alike]).endswith("1 has the same device code, byte for byte, in other host "
                                      "code.")  # fmt: skip

    @pytest.mark.parametrize("sameness", Sameness)
    def test_each_outcome_is_counted(self, sameness: Sameness) -> None:
        sentence = told([self.one(sameness)])
        assert sentence.count(" 1 ") == 2
        assert ("g++ 14.2.0" in sentence) == (
            sameness in (Sameness.DEVICE_CODE, Sameness.LINE_TABLES)
        )


RECORDED_IN = "reports/published/x"


class TestNotCompiled:
    """The builds that a run leaves to others are told, with who compiles them."""

    JOBS = tuple(BuildJob(kind="program", id=name, arch="sm_90a") for name in ("ex88", "ex57"))

    def plan(self, jobs: tuple[BuildJob, ...], *held: str) -> Plan:
        plan = evidence(by("g++ 14.2.0")).plan
        (target,) = plan.targets
        paths = tuple(f"builds/sm_90a/{name}.json" for name in held)
        provision = target.provision.model_copy(update={"recorded_paths": paths})
        targets: tuple[TargetPlan, ...] = (target.model_copy(update={"provision": provision}),)
        return plan.model_copy(update={"targets": targets, "not_compiled": jobs})

    def test_a_run_that_compiles_all_says_nothing(self) -> None:
        assert told_not_compiled(self.plan(())) is None

    def test_what_the_evidence_holds_is_compiled_by_verify(self) -> None:
        sentence = told_not_compiled(self.plan(self.JOBS, "ex88", "ex57")) or ""
        assert sentence == (
            "Not compiled here: 2 of 2 builds (2 original programs); their measured binaries and "
            "build records are those of the evidence, and "
            f"./assay verify --rebuild {RECORDED_IN} compiles them."
        )

    def test_one_is_told_as_one(self) -> None:
        sentence = told_not_compiled(self.plan(self.JOBS[:1], "ex88")) or ""
        assert sentence == (
            "Not compiled here: 1 of 1 build (1 original program); its measured binary and build "
            f"record are those of the evidence, and ./assay verify --rebuild {RECORDED_IN} "
            "compiles it."
        )

    def test_only_what_was_left_is_named(self) -> None:
        variant = BuildJob(kind="variant", id="narrow", arch="sm_90a")
        both = told_not_compiled(self.plan((*self.JOBS, variant))) or ""
        assert "(2 original programs and 1 variant that no claim rests on)" in both
        assert "(1 variant that no claim rests on)" in (
            told_not_compiled(self.plan((variant,))) or ""
        )

    def test_what_no_evidence_holds_is_compiled_by_reproduce(self) -> None:
        sentence = told_not_compiled(self.plan(self.JOBS)) or ""
        assert "evidence" not in sentence
        assert sentence.endswith("./assay reproduce --rebuild compiles them.")

    def test_some_of_each(self) -> None:
        sentence = told_not_compiled(self.plan(self.JOBS, "ex88")) or ""
        assert "; of 1 the measured binary and build record are those of the" in sentence
        assert sentence.endswith("./assay reproduce --rebuild compiles all.")
