"""Measured binaries beside compiled ones: the same file, the same machine code, or another."""

from dataclasses import replace

from assay.evidence.model import Evidence, RecordedBuild
from assay.findings.binary_matches import BinaryMatch, Sameness, binary_matches
from assay.records.builds import BuildRecord, FileDigest
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


class TestSameness:
    """Each way that a measured binary can stand to the compiled one."""

    def test_the_same_device_code_by_another_host_compiler(self) -> None:
        assert match(by("g++ 14.2.0")).sameness is Sameness.DEVICE_CODE

    def test_other_device_code(self) -> None:
        assert match(by("g++ 14.2.0", cubins=(OTHER_CUBIN,))).sameness is Sameness.OTHER

    def test_line_tables_follow_the_host_compiler(self) -> None:
        then = MEASURED.model_copy(update={"command": ("nvcc", "-lineinfo")})
        assert match(by("g++ 14.2.0", cubins=(OTHER_CUBIN,)), then).sameness is Sameness.LINE_TABLES
        assert match(by("g++ 12.2.0", cubins=(OTHER_CUBIN,)), then).sameness is Sameness.OTHER

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

    def test_a_source_that_was_changed_since(self) -> None:
        sources = (FileDigest(path="kernels/k.cu", sha256=b.digest("a later text"), bytes=10),)
        now = by("g++ 12.2.0", cubins=(OTHER_CUBIN,), sources=sources)
        assert match(now).sameness is Sameness.CHANGED

    def test_a_record_of_another_binary_says_nothing_of_the_measured_one(self) -> None:
        stranger = MEASURED.model_copy(
            update={"artifact": CUBIN.model_copy(update={"sha256": b.digest("never timed")})}
        )
        for recorded in (stranger, None):
            assert match(by("g++ 14.2.0"), recorded).sameness is Sameness.OTHER
