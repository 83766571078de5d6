"""Measured binaries beside compiled ones: the same file, the same machine code, or another."""

from dataclasses import replace
from typing import Any

import pytest

from assay.evidence.model import RecordedBuild
from assay.findings.binary_matches import BinaryMatch, Sameness, binary_matches
from assay.records.builds import BuildRecord, FileDigest
from tests import builders as b

CUBIN = FileDigest(path="k.cubin", sha256=b.digest("device code"), bytes=10)
OTHER_CUBIN = CUBIN.model_copy(update={"sha256": b.digest("other device code")})
MEASURED = b.build("our_kernel", content="our binary").model_copy(update={"cubins": (CUBIN,)})
"""What was timed: the binary of the benchmark that ``builders`` makes."""


def by(compiler: str, **changes: Any) -> BuildRecord:
    """The same compilation on a machine with another host compiler, of other device code."""
    record = b.build("our_kernel", content="here")
    toolchain = record.toolchain.model_copy(update={"host_compiler": compiler})
    given = {"cubins": (OTHER_CUBIN,), "toolchain": toolchain, **changes}
    return record.model_copy(update=given)


def match(built: BuildRecord, recorded: BuildRecord | None) -> BinaryMatch:
    found = b.evidence(
        [], benchmarks=[b.benchmark()], checks=[b.correctness()], builds=[built],
        kinds={"h100": "recorded"},
    )  # fmt: skip
    came = RecordedBuild(recorded, "h100/origin/builds/x", "reports/x") if recorded else None
    found = replace(found, recorded_builds={("our_kernel", "sm_90a"): came} if came else {})
    matches = binary_matches(b.catalog([]), found)
    return next(match for match in matches if match.artifact == "our_kernel")


CODE = {"code_sha256": b.digest("machine code")}
OTHER_CODE = {"code_sha256": b.digest("other machine code")}
LINED = MEASURED.model_copy(update={"command": ("nvcc", "-lineinfo")})
CODED = MEASURED.model_copy(update=CODE)
LATER = (FileDigest(path="kernels/k.cu", sha256=b.digest("a later text"), bytes=10),)
STRANGER = MEASURED.model_copy(
    update={"artifact": CUBIN.model_copy(update={"sha256": b.digest("never timed")})}
)
SAME, OTHER = "g++ 12.2.0", "g++ 14.2.0"


@pytest.mark.parametrize(
    ("compiler", "changes", "then", "sameness"),
    [
        (OTHER, {"cubins": (CUBIN,)}, MEASURED, Sameness.DEVICE_CODE),
        (OTHER, {}, MEASURED, Sameness.OTHER),
        # Line tables follow the host compiler.
        (OTHER, {}, LINED, Sameness.LINE_TABLES),
        (SAME, {}, LINED, Sameness.OTHER),
        (SAME, CODE, CODED, Sameness.INSTRUCTIONS),
        (SAME, OTHER_CODE, CODED, Sameness.OTHER),
        (SAME, {"code_sha256": None}, MEASURED, Sameness.OTHER),
        (SAME, CODE, MEASURED, Sameness.OTHER),
        (SAME, {"sources": LATER}, MEASURED, Sameness.CHANGED),
        # A record of another binary says nothing of the measured one.
        (OTHER, {"cubins": (CUBIN,)}, STRANGER, Sameness.OTHER),
        (OTHER, {"cubins": (CUBIN,)}, None, Sameness.OTHER),
    ],
)
def test_how_a_measured_binary_stands_to_the_compiled_one(compiler, changes, then, sameness):
    assert match(by(compiler, **changes), then).sameness is sameness
