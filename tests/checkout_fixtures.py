"""A source's own program and a file of it, from a checkout: claims on them, and their records."""

from collections.abc import Iterator
from pathlib import Path

from assay.base.io import write_record
from assay.building.recipe import file_command
from assay.evidence.stages import file_compile_path, original_path
from assay.records.originals import (
    CheckoutCopy,
    FileCompileJob,
    FileCompileRecord,
    FileCompileRequest,
    GivenLine,
    LineRun,
    OriginalJob,
    OriginalRequest,
    OriginalRunRecord,
)
from assay.records.plan import Request
from tests.library_checkout import add_to_claims
from tests.report_fixtures import TOOLCHAIN, UUID

COUNTED = """
  - id: demo_file_{quantity}
    kind: statistic
    statement: The library's file has {value} {quantity}
    place: {{section: Support, line: {line}}}
    value: {value}
    unit: count
    resolution: 0
    hardware: {{target: null, as_stated: any}}
    evaluation: {{kind: inspection, package: demo, path: include/demo.h, quantity: {quantity}}}"""
COMPILED = """
  - id: demo_file_{name}
    kind: support
    statement: {statement}
    place: {{section: Support, line: {line}}}
    value: null
    unit: null
    resolution: null
    hardware: {{target: h100, as_stated: H100}}
    evaluation: {{kind: compiles, compilation: demo_file, arch: {arch}, expect: {expect}}}"""
COMPILES = (
    COUNTED.format(quantity="lines", value=417, line=12)
    + COUNTED.format(quantity="bytes", value=18666, line=13)
    + COMPILED.format(name="sm90a", statement="The kernel compiles for Hopper", line=10,
                      arch="sm_90a", expect="builds")
    + COMPILED.format(name="sm89", statement="The kernel does not compile for Ada", line=11,
                      arch="sm_89", expect="fails")
    + "\n"
)  # fmt: skip
OWN = """
original:
  id: demo_own
  file: a.cu
  place: {section: Files, line: 1}
  build: {line: nvcc a.cu -o a, place: {section: Files, line: 2}}
  run: null
  figures: [{claim: demo_elsewhere, pattern: '{value} TFLOPS', unit: tflop_per_s}]
"""
PUBLISHED = """
compilations:
  - id: demo_file
    file: b.cu
    place: {section: Files, line: 3}
    public: it is in a public history
    archs: [sm_89, sm_90a]
"""
CHECKOUT = CheckoutCopy(files=2, bytes=20, sha256="a" * 64)
JOB = OriginalJob(
    source="demo",
    original="demo_own",
    checkout=CHECKOUT,
    build=GivenLine(line="nvcc a.cu -o a", by="source"),
    run=GivenLine(line="./a | tail -1", by="user"),
)
JOBS = tuple(
    FileCompileJob(source="demo", compilation="demo_file", arch=arch, checkout=CHECKOUT)
    for arch in ("sm_89", "sm_90a")
)
REFUSAL = 'checkout/b.cu(9): error: identifier "wgmma" is undefined'


def describe_checkout_claims(root: Path) -> None:
    """Have the demo source have a program of its own, and claims on files: of it, of a package."""
    path = root / "config" / "claims" / "demo.yaml"
    add_to_claims(path, COMPILES, OWN.strip() + PUBLISHED)


def with_checkout(request: Request) -> Request:
    return request.model_copy(
        update={
            "originals": (OriginalRequest(job=JOB, directory="/private/checkout"),),
            "compilations": tuple(
                FileCompileRequest(job=job, directory="/private/checkout") for job in JOBS
            ),
        }
    )


def write_checkout_records(run_dir: Path, recorded_at: str) -> None:
    """Write what came of the checkout on the demo machine."""
    write_record(own_run(recorded_at), run_dir / original_path("h100", JOB.original))
    for record in file_compiles(recorded_at):
        path = file_compile_path(record.compilation, record.arch)
        write_record(record, run_dir / path)


def line_run(text: str, seconds: float = 1.0) -> LineRun:
    return LineRun(exit_code=0, seconds=seconds, stdout=text, stderr="", cut=False)


def own_run(recorded_at: str) -> OriginalRunRecord:
    return OriginalRunRecord(
        schema="assay/original_run/1",
        source=JOB.source,
        original=JOB.original,
        target="h100",
        gpu_uuid=UUID,
        recorded_at=recorded_at,
        file="a.cu",
        file_sha256="b" * 64,
        checkout=JOB.checkout,
        compiler=line_run("nvcc\nV13.0", 0.1),
        build_line=JOB.build,
        build=line_run("", 1.5),
        run_line=JOB.run,
        runs=tuple(
            line_run(f"{450 + number % 3} TFLOPS\n", 0.5 + number / 100) for number in range(5)
        ),
    )


def file_compiles(recorded_at: str) -> Iterator[FileCompileRecord]:
    """Yield the records of the file: it compiles for Hopper, and for nothing else."""
    for job in JOBS:
        refused = job.arch != "sm_90a"
        yield FileCompileRecord(
            schema="assay/file_compile/1",
            source=job.source,
            compilation=job.compilation,
            arch=job.arch,
            recorded_at=recorded_at,
            file="b.cu",
            file_sha256="c" * 64,
            checkout=job.checkout,
            command=file_command("b.cu", job.arch),
            exit_code=int(refused),
            words=(REFUSAL,) if refused else (),
            cut=False,
            toolchain=TOOLCHAIN,
        )
