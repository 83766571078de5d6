"""A small report that has it all: readings, a figure measured elsewhere, twins of an original."""

from pathlib import Path

from assay.base.io import read_record, write_record
from assay.evidence.stages import benchmark_path, build_path, plan_path
from assay.records.builds import BuildRecord
from assay.records.measurements import BenchmarkRecord
from assay.records.plan import Plan
from assay.report.render import render
from tests.report_fixtures import (
    CLAIMS,
    KERNELS,
    TARGET,
    said_here,
    write_repository,
    write_run,
    write_verdicts,
)

COUNTS = {"m": 4096.0, "n": 4096.0, "k": 4096.0, "products": 65536.0, "true_products": 70000.0}
"""What the record of every arm counts: products of blocks that are done, and that should be."""
READ = """reading: the stored blocks alone
    readings:
      - id: whole
        says: "the whole dense product, <all> of it"
        differs: work
        flops: "2 * m * n * k"
        evaluation: {kind: benchmark, metric: rate, terms: [{comparison: demo_sweep, arm: bk32}]}
      - id: wide
        says: a tile of 64
        differs: words
        evaluation: {kind: benchmark, metric: rate, terms: [{comparison: demo_sweep, arm: bk64}]}
    """
TWIN = """reading: as the source types the build line
    readings:
      - id: release
        says: the author's Release build
        differs: words
        evaluation:
          kind: program
          program: demo_88_release
          figure: tma_ping_pong
          typed: null
          stated: {arguments: [--b=2], shape: {b: 2, h: 8, q: 1024, k: 1024, d: 64, causal: false}}
    evaluation:
      kind: program"""
ELSEWHERE = """  - id: demo_there
    kind: measurement
    statement: The same kernel on another GPU
    place: {section: Results, line: 8}
    value: 450
    unit: tflop_per_s
    resolution: 1
    hardware: {target: l4, as_stated: "L4 <PCIe>"}
    flop_formula: nnz
    evaluation: {kind: benchmark, metric: rate, terms: [{comparison: demo_sweep, arm: bk64}]}
audits:"""
PROGRAMS = """  - id: demo_88
    title: Demo program
    package: demo
    source: examples/demo_fmha.cu
    archs: [sm_90a]
    build: typed
    flags: [{flag: -O3, from: "the demo, line 5"}]
    includes: []
    parser: cutlass_88
  - id: demo_88_release
    title: Demo program, Release
    package: demo
    source: examples/demo_fmha.cu
    archs: [sm_90a]
    build: release
    flags:
      - {flag: -O3, from: "CMake's Release default"}
      - {flag: -DNDEBUG, from: "CMake's Release default"}
      - {flag: --use_fast_math, from: "the example's own", file: examples/CMakeLists.txt, line: 77}
    left_out: [{flag: -Wall, from: "CMakeLists.txt:3", why: warnings}]
    includes: []
    parser: cutlass_88
probes:"""


def told_report(root: Path) -> Path:
    """Write a repository at ``root`` and return its rendered report directory."""
    write_repository(root)
    claims = CLAIMS.replace("SHA", "ab" * 32).replace("value: 200\n", "value: 800\n")
    claims = claims.replace("configuration: {BK: 32}", READ + "configuration: {BK: 32}")
    claims = claims.replace("evaluation:\n      kind: program", TWIN)
    (root / "config/claims/demo.yaml").write_text(claims.replace("audits:", ELSEWHERE))
    l4 = TARGET.replace("id: h100", "id: l4").replace("H100 80GB HBM3", "L4 <PCIe>")
    (root / "config/targets/l4.yaml").write_text(l4)
    head, rest = KERNELS.split("  - {id: demo_88,")
    (root / "kernels/demo/kernel.yaml").write_text(head + PROGRAMS + rest.split("probes:")[1])
    run_dir = write_run(root)
    _measure_elsewhere(run_dir)
    _count_products(run_dir)
    _look_for_asserts(run_dir)
    write_verdicts(root, run_dir)
    render(root, run_dir, root / "reports" / "demo_run")
    return root / "reports" / "demo_run"


def _measure_elsewhere(run_dir: Path) -> None:
    """The claim for an L4 is answered on the H100 that is there."""
    plan = read_record(Plan, run_dir / plan_path())
    there = [answer for answer in plan.answers if answer.claim == "demo_there"]
    others = [answer for answer in plan.answers if answer.claim != "demo_there"]
    here = there[0].model_copy(
        update={"target": "h100", "way": "measure", "reason": None, "detail": said_here()}
    )
    write_record(plan.model_copy(update={"answers": (*others, here)}), run_dir / plan_path())


def _count_products(run_dir: Path) -> None:
    path = run_dir / benchmark_path("h100", "demo_sweep")
    record = read_record(BenchmarkRecord, path)
    processes = tuple(
        process.model_copy(
            update={"arms": tuple(a.model_copy(update={"counts": COUNTS}) for a in process.arms)}
        )
        for process in record.processes
    )
    write_record(record.model_copy(update={"processes": processes}), path)


def _look_for_asserts(run_dir: Path) -> None:
    for program, asserts in (("demo_88", True), ("demo_88_release", False)):
        path = run_dir / build_path(program, "sm_90a")
        if path.is_file():
            record = read_record(BuildRecord, path)
            write_record(record.model_copy(update={"asserts": asserts}), path)
