"""A small repository and synthetic records for it: what report, sign and verify are tested on.

The samples are made up by a seeded generator and never leave a test's temporary directory.
"""

import json
import math
import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from assay.base.io import read_record, write_record
from assay.catalog.load import catalog_files, load_catalog
from assay.catalog.model import Catalog
from assay.device.tasks.caught_by import CAUGHT_BY
from assay.device.tasks.gate_shapes import REPEAT_SEED, large_shapes, small_shapes
from assay.device.timing.schedule import plan_blocks
from assay.evidence.load import load_evidence
from assay.evidence.stages import (
    benchmark_path,
    build_path,
    cheats_path,
    correctness_path,
    inspections_path,
    pipeline_path,
    plan_path,
    platform_path,
    profile_path,
    program_path,
    sanitizer_path,
    stopwatch_path,
)
from assay.judging.judge import judge
from assay.pipeline.plan import make_plan
from assay.records.attestation import PipelineRecord
from assay.records.builds import (
    BuildRecord,
    FileDigest,
    InspectionResult,
    InspectionsRecord,
    KernelResources,
    ToolchainRecord,
)
from assay.records.measurements import (
    ArmCorrectness,
    ArmFacts,
    BenchmarkRecord,
    Block,
    Check,
    CorrectnessRecord,
    Exclusivity,
    Process,
    ProgramRecord,
    Telemetry,
    Turn,
)
from assay.records.plan import BuildJob, Plan, ProgramJob, Provision, Request, TargetPlan
from assay.records.platform import PlatformRecord
from assay.records.rivals import TuningChoice, TuningFile
from assay.records.side_evidence import (
    CheatOutcome,
    CheatsRecord,
    ProfileRecord,
    Sanitized,
    SanitizerControl,
    SanitizerRecord,
    StopwatchArm,
    StopwatchRecord,
)
from assay.records.workloads import FEWEST_FIXED, Arm, Comparison, as_spec, workload_spec
from assay.report.render import render
from assay.shared.files import sha256_bytes, write_bytes
from assay.shared.launch_facts import launch_facts
from assay.shared.limits import settling_launches, turn_samples
from assay.shared.specs import ProtocolSpec
from assay.shared.stored_blocks import workload_blocks
from assay.verification.sign import sign
from tests import builders as b

SEEDS = {"h100": 0, "h200": 2000}
"""No two targets have the same samples."""
REPOSITORY = Path(__file__).parent.parent
UUID = "GPU-00000000-1111-2222-3333-444444444444"
RAW_PAGE = (
    '"ID","Kernel Name","gpu__time_duration.sum","launch__registers_per_thread"\n'
    '"","","ns","register/thread"\n"0","kernel<float>(int const *)","171234.0","168.0"\n'
)
COMMIT = "0123456789abcdef0123456789abcdef01234567"
WHEN = "2026-01-02T03:04:05Z"

CLAIMS = """
schema: assay/project/1
sources:
  - id: demo
    title: "A demo <source> & more"
    date: "2025-11-01"
    file: demo.txt
    sha256: SHA
claims:
  - id: demo_rate
    kind: measurement
    statement: "Sparse kernel <b>fast</b> | at BK=32"
    place: {section: "Results & <figures>", line: 3}
    value: 200
    unit: tflop_per_s
    resolution: 1
    configuration: {BK: 32}
    hardware: {target: h100, as_stated: "H100 <SXM>"}
    flop_formula: nnz
    unstated: [which driver]
    evaluation: {kind: benchmark, metric: rate, terms: [{comparison: demo_sweep, arm: bk32}]}
    note: "A note with *stars* and a_name."
  - id: demo_ratio
    kind: target
    statement: Deeper tile over shallower one
    place: {section: Results, line: 4}
    value: 1.5
    unit: ratio
    resolution: 0.1
    relation: at_least
    hardware: {target: h100, as_stated: H100}
    evaluation:
      kind: benchmark
      metric: rate_ratio
      terms: [{comparison: demo_sweep, arm: bk96, over: bk32}]
  - id: demo_attention
    kind: measurement
    statement: The original program
    place: {section: Results, line: 5}
    value: 600
    unit: tflop_per_s
    resolution: 1
    hardware: {target: h100, as_stated: H100}
    flop_formula: attention_4bhqkd
    command: ./demo --b=1
    evaluation:
      kind: program
      program: demo_88
      figure: tma_ping_pong
      typed: [--b=1]
      stated: {arguments: [--b=2], shape: {b: 2, h: 8, q: 1024, k: 1024, d: 64, causal: false}}
  - id: demo_elsewhere
    kind: comparator
    statement: A rival without a configuration
    place: {section: Results, line: 6}
    value: 450
    unit: tflop_per_s
    resolution: 1
    hardware: {target: h100, as_stated: H100}
    flop_formula: unstated
    evaluation:
      kind: unanswerable
      reason: configuration_missing
      detail: The source gives no shape.
      nearest: [demo_rate]
  - id: demo_support
    kind: support
    statement: Compiles for sm_90a
    place: {section: Support, line: 9}
    value: null
    unit: null
    resolution: null
    hardware: {target: h100, as_stated: H100}
    evaluation: {kind: support, probe: demo_probe, arch: sm_90a, expect: builds}
audits:
  - id: demo_audit
    statement: The gain is the quotient of the two rates
    place: {section: Results, line: 7}
    claimed: {value: 2.0, resolution: 0.1, what: the printed gain}
    formula: quotient
    operands: [{claim: demo_attention}, {claim: demo_rate}]
"""

TARGET = """
schema: assay/target/1
id: h100
product: NVIDIA H100 80GB HBM3
product_pattern: NVIDIA H100 80GB HBM3
arch: sm_90a
compute_capability: "9.0"
gpu_model: h100
slurm_partition: gpu
multiprocessors: 132
l2_bytes: 52428800
max_shared_bytes_per_block: 232448
power_limit_w: 700.0
peaks:
  fp16_tensor_tflop_per_s: 989.4
  fp8_tensor_tflop_per_s: 1978.9
  fp32_tflop_per_s: 66.9
  memory_gb_per_s: 3350.0
  source: a datasheet
"""

WORKLOADS = """
schema: assay/workloads/1
workloads:
  - id: demo_bsr
    operation: bsr_gemm
    dtype: float16
    distribution: normal
    seed: 1
    m: 4096
    n: 4096
    k: 4096
    pattern: {kind: random, block_rows: 128, block_cols: 128, blocks_per_row: 8}
    relative_tolerance: 1.0e-3
"""

COMPARISONS = """
schema: assay/comparisons/1
comparisons:
  - id: demo_sweep
    title: Demo, tile depth BK
    protocol: standard
    control: bk32
    profile: [bk32, bk96]
    arms:
      - {id: bk32, variant: demo_bk32, workload: demo_bsr}
      - {id: bk64, variant: demo_bk64, workload: demo_bsr}
      - {id: bk96, variant: demo_bk96, workload: demo_bsr}
"""

PROTOCOLS = """
schema: assay/protocols/1
protocols:
  - {id: standard, processes: 5, blocks: 3, samples: 3, l2: cold, timer: events,
     warmup_min_ms: 60.0, warmup_max_ms: 1500.0, warmup_stable_fraction: 0.01,
     telemetry_interval_ms: 25.0, checked_turns: 0.25}
"""

JUDGING = """
schema: assay/judging/1
confidence: 0.90
absolute_margin: 0.08
ratio_margin: 0.05
bootstrap_resamples: 200
bootstrap_seed: 7
program_runs: 5
correctness_seeds: [1, 2]
"""

VARIANT = """
  - id: demo_bk{bk}
    operation: bsr_gemm
    title: Demo kernel with BK={bk}
    kind: kernel
    source: demo.cu
    symbol: demo
    abi: bsr_gemm
    archs: [sm_90a]
    defines: {{BK: {bk}}}
    artifact: reimplemented
    built_from: the demo
"""

KERNELS = (
    "schema: assay/kernels/1\nvariants:"
    + "".join(VARIANT.format(bk=bk) for bk in (32, 64, 96))
    + """
programs:
  - {id: demo_88, title: Demo program, package: demo, source: examples/demo_fmha.cu,
     archs: [sm_90a], flags: [], includes: [], parser: cutlass_88}
probes:
  - {id: demo_probe, title: Demo probe, source: probe.cu}
"""
)

CHOICE: dict[str, Any] = {
    "id": "demo_choice", "target": "h100", "operation": "bsr_gemm", "dtype": "float16",
    "block_rows": 128, "block_cols": 128, "shapes": {}, "variant": "demo_bk96",
    "evidence": {"comparison": "demo_sweep", "arm": "bk96"}, "why": "it was the fastest",
}  # fmt: skip
"""An entry of config/tuning.yaml that fits this repository."""

STDOUT_88 = (
    "###### B {b} H 8 Q 1024 K 1024 D 64 Forward Full #SM 132\n"
    " [OK]  tma ping-pong : {rate} TFLOPS/s\n"
)
LOCK = f"nvidia-cuda-nvcc==13.0.88 --hash=sha256:{'01' * 32}\n"
TOOLCHAIN = ToolchainRecord(
    schema="assay/toolchain/1", nvcc="13.0.88", host_compiler="g++ 12", wheels={},
    lock_sha256=sha256_bytes(LOCK.encode()),
)  # fmt: skip


def write_repository(root: Path) -> Path:
    """A repository with one source, three variants, a program and the real report templates."""
    files = {
        "config/claims/demo.yaml": CLAIMS.replace("SHA", "ab" * 32),
        "config/targets/h100.yaml": TARGET,
        "config/workloads/demo.yaml": WORKLOADS,
        "config/comparisons/demo.yaml": COMPARISONS,
        "config/protocols.yaml": PROTOCOLS,
        "config/judging.yaml": JUDGING,
        "kernels/demo/kernel.yaml": KERNELS,
    }
    for path, text in files.items():
        write_bytes(root / path, text.encode())
    shutil.copytree(REPOSITORY / "reports" / "templates", root / "reports" / "templates")
    return root


def choice(**changes: Any) -> TuningChoice:
    return TuningChoice.model_validate_json(json.dumps({**CHOICE, **changes}))


def write_tuning(root: Path, *choices: TuningChoice) -> None:
    """config/tuning.yaml with these choices; JSON is YAML."""
    tuning = TuningFile(schema="assay/tuning/1", choices=choices)
    write_record(tuning, root / "config" / "tuning.yaml")


def said_here(target: str = "h100") -> str:
    """What a plan says of a target's GPU that is here."""
    product = "NVIDIA H100 80GB HBM3" if target == "h100" else f"NVIDIA {target.upper()}"
    return f"measured on this machine's {product} ({gpu_uuid(target)})"


def provision(target: str = "h100", kind: str = "device", **fields: object) -> Provision:
    given = {"target": target, "kind": kind, "recorded_in": None, "detail": said_here(target)}
    return Provision.model_validate({**given, **fields})


def make_request(run: str, provisions: Sequence[Provision], sources: Sequence[str]) -> Request:
    """The request of a run on this host, by a known commit."""
    return Request(
        schema="assay/request/1", run=run, sources=tuple(sources), targets=tuple(provisions),
        runtime="host", executor="local", device_python="/private/python", prebuilt=None,
        signing_key="/private/key", commit=COMMIT, clean_tree=True,
    )  # fmt: skip


def write_run(
    root: Path,
    run: str = "demo_run",
    provisions: Sequence[Provision] = (),
    asking: Callable[[Request], Request] = lambda request: request,
) -> Path:
    """A finished run directory below ``root``: records of every job of the plan, and verdicts.

    ``asking`` returns what is asked for beside that; its records are the caller's to write.
    """
    catalog = load_catalog(root)
    request = asking(make_request(run, provisions or (provision(),), tuple(catalog.sources)))
    plan = make_plan(catalog, request)
    run_dir = root / "results" / run
    write_record(request, run_dir / "request.json")
    write_record(plan, run_dir / plan_path())
    for name in catalog_files(root):
        write_bytes(run_dir / name, (root / name).read_bytes())
    pipeline = PipelineRecord(schema="assay/pipeline/1", commit=COMMIT, clean_tree=True)
    write_record(pipeline, run_dir / pipeline_path())
    write_record(
        InspectionsRecord(schema="assay/inspections/1", inspections=_inspections(catalog)),
        run_dir / inspections_path(),
    )
    for job in plan.builds:
        write_record(_build(job), run_dir / build_path(job.id, job.arch))
    for target_plan in plan.targets:
        if target_plan.provision.kind == "device":
            _write_target(catalog, target_plan, run_dir)
    write_verdicts(root, run_dir)
    return run_dir


def recorded_run(root: Path, run: str, first: Path) -> Path:
    """A run of a machine without a GPU, which takes over the signed report ``first``."""
    name = first.name
    given = provision(
        kind="recorded", recorded_in=f"reports/{name}", within=f"earlier/{name}/evidence",
        detail=f"figures come from reports/{name}",
    )  # fmt: skip
    (planned,) = read_record(Plan, first / "evidence" / plan_path()).targets
    held = planned.model_copy(update={"provision": given})
    shutil.copytree(first, root / "results" / run / "earlier" / name)
    return write_run(root, run, [given], lambda asked: asked.model_copy(update={"held": (held,)}))


def write_verdicts(root: Path, run_dir: Path) -> None:
    verdicts = judge(load_catalog(root), load_evidence(run_dir))
    write_record(verdicts, run_dir / "verdicts.json")


def signed_report(root: Path, run: str = "demo_run", key: Path | None = None) -> Path:
    """A rendered and signed report of a synthetic run; the key is made beside ``root``."""
    run_dir = root / "results" / run
    if not run_dir.is_dir():
        write_run(root, run)
    report = root / "reports" / run
    render(root, run_dir, report)
    sign(report, key or root.parent / "key")
    return report


def _write_target(catalog: Catalog, plan: TargetPlan, run_dir: Path) -> None:
    target = plan.target
    arch = catalog.targets[target].arch
    write_record(_platform(catalog, target), run_dir / platform_path(target))
    for number, name in enumerate(plan.comparisons):
        comparison = catalog.comparisons[name]
        facts = {arm.id: _facts(catalog, comparison, arm.id, arch) for arm in comparison.arms}
        write_record(
            _correctness(catalog, comparison, target, facts),
            run_dir / correctness_path(target, name),
        )
        write_record(
            _benchmark(catalog, comparison, target, facts, seed=number + SEEDS.get(target, 1000)),
            run_dir / benchmark_path(target, name),
        )
    for name in plan.stopwatches:
        write_record(stopwatch(catalog, name, target), run_dir / stopwatch_path(target, name))
    if plan.cheats:
        write_record(cheats(target), run_dir / cheats_path(target))
    if plan.sanitized:
        watched = sanitizer(target, arch, plan.sanitized)
        write_record(watched, run_dir / sanitizer_path(target))
    for job in plan.programs:
        write_record(_program(catalog, job, target, arch), run_dir / program_path(target, job.id))
    for number, (name, arm) in enumerate(plan.profiles):
        write_record(
            _profile(name, arm, target, collected=number != 1),
            run_dir / profile_path(target, name, arm),
        )


def binary_sha256(artifact: str, arch: str) -> str:
    return sha256_bytes(f"{artifact} {arch}".encode())


def _inspections(catalog: Catalog) -> tuple[InspectionResult, ...]:
    found = []
    for claim in catalog.claims.values():
        if claim.evaluation.kind == "inspection":
            found.append(
                InspectionResult(
                    claim=claim.id, package=claim.evaluation.package, version="1.0",
                    path=claim.evaluation.path, lines=417, bytes=18666, sha256="cd" * 32,
                )
            )  # fmt: skip
    return tuple(found)


def _build(job: BuildJob) -> BuildRecord:
    artifact = FileDigest(
        path=f"{job.id}.{job.arch}.so", sha256=binary_sha256(job.id, job.arch), bytes=1000
    )
    resources = KernelResources(
        entry="kernel", registers=168, spill_store_bytes=0, spill_load_bytes=16, stack_bytes=0,
        static_shared_bytes=1024,
    )  # fmt: skip
    changes = {"key": "ef" * 32, "artifact": artifact, "resources": (resources,),
               "toolchain": TOOLCHAIN}  # fmt: skip
    return b.build(job.id, job.arch, kind=job.kind).model_copy(update=changes)


def gpu_uuid(target: str) -> str:
    return UUID if target == "h100" else f"{UUID[:-12]}{sha256_bytes(target.encode())[:12]}"


def _platform(catalog: Catalog, target: str) -> PlatformRecord:
    described = catalog.targets[target]
    made = b.platform(target, gpu_uuid(target))
    gpu = made.device.gpu.model_copy(
        update={
            "product": described.product.partition(" (")[0],
            "compute_capability": described.compute_capability,
            "multiprocessors": described.multiprocessors,
            "l2_bytes": described.l2_bytes,
        }
    )
    device = made.device.model_copy(update={"gpu": gpu})
    changes = {"device": device, "recorded_at": WHEN, "commit": COMMIT, "clean_tree": True}
    return made.model_copy(update=changes)


def _facts(catalog: Catalog, comparison: Comparison, name: str, arch: str) -> ArmFacts:
    arm = next(arm for arm in comparison.arms if arm.id == name)
    kernel = catalog.variants[arm.variant].kind == "kernel"
    spec = workload_spec(catalog.workloads[arm.workload])
    facts = launch_facts(spec, *workload_blocks(spec, spec.seed))
    return ArmFacts(
        arm=name, variant=arm.variant, workload=arm.workload, flop=facts.flop, bytes=facts.bytes,
        stored_blocks=facts.stored_blocks,
        density=facts.density, binary_sha256=binary_sha256(arm.variant, arch) if kernel else None,
    )  # fmt: skip


def _correctness(
    catalog: Catalog, comparison: Comparison, target: str, facts: dict[str, ArmFacts]
) -> CorrectnessRecord:
    return CorrectnessRecord(
        schema="assay/correctness/1",
        comparison=comparison.id,
        target=target,
        gpu_uuid=gpu_uuid(target),
        arms=tuple(
            ArmCorrectness(
                arm=arm.id,
                variant=arm.variant,
                workload=arm.workload,
                status="correct",
                checks=tuple(_checks(catalog, arm)),
                detail="",
                refused=(),
                binary_sha256=facts[arm.id].binary_sha256,
            )
            for arm in comparison.arms
        ),
        seconds=1.5,
    )  # fmt: skip


def _checks(catalog: Catalog, arm: Arm) -> Iterator[Check]:
    """What the gate checks of an arm, with its two seeds: of a kernel, further shapes too."""
    kernel = catalog.variants[arm.variant].kind == "kernel"
    spec = workload_spec(catalog.workloads[arm.workload])
    shapes = [shape[0] for shape in (*small_shapes(spec), *large_shapes(spec))]
    compared = [(name, seed) for seed in (1, 2) for name in ("timed_shape", "repeat")]
    compared += [(name, 1) for name in dict.fromkeys(shapes) if kernel]
    for name, seed in compared:
        repeated = REPEAT_SEED if name == "repeat" else 0
        yield Check(name=name, seed=seed + repeated, passed=True, relative_error=2.5e-4,
                    max_abs_error=1e-3, detail="")  # fmt: skip
        for beside in ("poisoned", "inputs_unchanged") if name != "repeat" else ():
            yield Check(name=beside, seed=seed, passed=True, relative_error=None,
                        max_abs_error=None, detail="")  # fmt: skip


def _benchmark(
    catalog: Catalog, comparison: Comparison, target: str, facts: dict[str, ArmFacts], seed: int
) -> BenchmarkRecord:
    """Arms get slower and faster by position; a few per mille of noise between turns.

    Launches that settle are as long as those that are timed; what lies between takes 0.05 ms.
    """
    generator = random.Random(seed)
    protocol = catalog.protocols[comparison.protocol]
    spec = as_spec(ProtocolSpec, protocol)
    base = launch_ms(comparison)
    base["control"] = base[comparison.control]
    processes = []
    for index in range(FEWEST_FIXED):
        clock = 0.05
        blocks = []
        shift = generator.gauss(1, 0.003)
        plan = plan_blocks(
            list(base), protocol.blocks, protocol.checked_turns, f"{comparison.id}:{index}"
        )
        for number, slots in enumerate(plan):
            turns = []
            for slot in slots:
                times = tuple(
                    round(base[slot.name] * shift * generator.gauss(1, 0.002), 6)
                    for _ in range(turn_samples(spec, base[slot.name]))
                )
                settling = settling_launches(spec, base[slot.name])
                clock = round(clock + settling * (base[slot.name] + 0.05) / 1e3, 4)
                lasts = max(0.01, round(len(times) * (base[slot.name] + 0.05) / 1e3, 4))
                turns.append(
                    Turn(arm=slot.name, times_ms=times, started_s=clock, ended_s=clock + lasts,
                         checked=slot.checked, relative_error=2e-4 if slot.checked else None,
                         clock_mhz=1700.0 + len(turns))
                )  # fmt: skip
                clock += lasts + 0.002
            void = "software thermal slowdown" if (index, number) == (1, 0) else None
            regimes = ("software power cap",) if number else ()
            blocks.append(Block(turns=tuple(turns), void=void, regimes=regimes))
        at = tuple(round(0.025 * step, 3) for step in range(int(clock / 0.025) + 2))
        hot_at = round(0.025 * round(blocks[0].turns[0].started_s / 0.025 + 1), 3)
        processes.append(
            Process(
                index=index,
                arms=tuple(facts.values()),
                blocks=tuple(blocks),
                telemetry=_telemetry(
                    at,
                    generator,
                    hot_at=hot_at if index == 1 else None,
                    capped_from=blocks[0].turns[-1].ended_s + 0.026,
                ),
                seconds=clock + 0.5,
            )
        )
    return BenchmarkRecord(
        schema="assay/benchmark/1",
        comparison=comparison.id,
        target=target,
        gpu_uuid=gpu_uuid(target),
        recorded_at=WHEN,
        protocol=comparison.protocol,
        not_timed={},
        processes=tuple(processes),
        exclusivity=Exclusivity(
            lock="/tmp/assay-gpu.lock",
            waited_s=0.0,
            other_processes=0,
            memory_in_use_bytes=0,
            remark="",
        ),
        seconds=max(12.5, math.ceil(math.fsum(each.seconds for each in processes))),
    )


def launch_ms(comparison: Comparison) -> dict[str, float]:
    return {arm.id: 0.1718 / (1 + 0.4 * n) for n, arm in enumerate(comparison.arms)}


def _telemetry(
    at: tuple[float, ...],
    generator: random.Random,
    hot_at: float | None = None,
    capped_from: float = 0.0,
) -> Telemetry:
    """Under the power cap from a time on; too hot, by a software thermal slowdown, in a sample."""
    return Telemetry(
        at_s=at,
        clock_sm_mhz=tuple(1755 + generator.randrange(-2, 3) * 15 for _ in at),
        clock_memory_mhz=tuple(2619 for _ in at),
        power_w=tuple(round(generator.gauss(620, 15), 1) for _ in at),
        temperature_c=tuple(55 for _ in at),
        event_reasons=tuple(0x20 * (each == hot_at) | 0x04 * (each >= capped_from) for each in at),
    )


def _program(catalog: Catalog, job: ProgramJob, target: str, arch: str) -> ProgramRecord:
    """Five runs of the demo program: it prints the batch it was given, and a rate near 600."""
    batch = next((a.removeprefix("--b=") for a in job.arguments if a.startswith("--b=")), "1")
    printed = [
        STDOUT_88.format(b=batch, rate=598.0 + number)
        for number in range(catalog.judging.program_runs)
    ]
    made = b.program_record(job.program, job.arguments, printed, on=target, gpu=gpu_uuid(target))
    changes = {
        "recorded_at": WHEN,
        "binary_sha256": binary_sha256(job.program, arch),
        "telemetry": _telemetry((0.0, 2.5, 5.0), random.Random(5)),
    }
    return made.model_copy(update=changes)


def _profile(comparison: str, arm: str, target: str, *, collected: bool) -> ProfileRecord:
    return ProfileRecord(
        schema="assay/profile/1",
        comparison=comparison,
        arm=arm,
        target=target,
        gpu_uuid=gpu_uuid(target),
        status="collected" if collected else "permission_denied",
        detail="" if collected else "ERR_NVGPUCTRPERM",
        kernel="kernel<float>(int const *)" if collected else None,
        metrics={"gpu__time_duration.sum": 171234.0, "launch__registers_per_thread": 168.0}
        if collected
        else {},
        units={"gpu__time_duration.sum": "ns", "launch__registers_per_thread": "register/thread"}
        if collected
        else {},
        raw_page=RAW_PAGE if collected else None,
    )


def stopwatch(catalog: Catalog, name: str, target: str) -> StopwatchRecord:
    """NVBench on the profiled arms of a comparison: the first agrees, the second is 5 % off."""
    arms = {arm.id: arm for arm in catalog.comparisons[name].arms}
    base = launch_ms(catalog.comparisons[name])
    return StopwatchRecord(
        schema="assay/stopwatch/1",
        comparison=name,
        target=target,
        gpu_uuid=gpu_uuid(target),
        recorded_at=WHEN,
        nvbench="0.3.0",
        arms=tuple(
            StopwatchArm(
                arm=arm, variant=arms[arm].variant, workload=arms[arm].workload,
                binary_sha256=None, status="collected", detail="",
                events_median_ms=0.17 * base[arm] / 0.1718,
                nvbench_cold_ms=(0.1785 if number else 0.1717) * base[arm] / 0.1718,
                nvbench_statistic="median",
                nvbench_samples=100, nvbench_clock_mhz=1905.0,
            )
            for number, arm in enumerate(catalog.comparisons[name].profile)
        ),
    )  # fmt: skip


def cheats(target: str, *, caught: bool = True) -> CheatsRecord:
    """Every kernel that cheats, and an honest one; one of them the timed run may miss."""
    outcomes = [
        (name, meant, (meant,) if meant else (), True, "wrong" if meant else "passed")
        for name, meant in CAUGHT_BY.items()
        if name != "warm_up_detector"
    ]
    outcomes.append(
        ("warm_up_detector", "timed_run", ("timed_run",) if caught else (), caught, "passed")
    )
    return CheatsRecord(
        schema="assay/cheats/1",
        target=target,
        gpu_uuid=gpu_uuid(target),
        recorded_at=WHEN,
        cheats=tuple(
            CheatOutcome(
                name=name, what=f"what {name} does", meant=meant, caught_by=by, as_meant=as_meant,
                timed_run=timed,
            )
            for name, meant, by, as_meant, timed in outcomes
        ),
    )  # fmt: skip


def sanitizer(
    target: str, arch: str, variants: Sequence[str], *, racy: str | None = None
) -> SanitizerRecord:
    """Clean kernels, but for ``racy``."""
    tools = ("memcheck", "racecheck", "synccheck")
    race = "Error: Race reported between Write access at kernel+0x90 and Read access"
    return SanitizerRecord(
        schema="assay/sanitizer/1",
        target=target,
        gpu_uuid=gpu_uuid(target),
        recorded_at=WHEN,
        status="collected",
        detail="",
        version="2025.3.1.0",
        controls=tuple(
            SanitizerControl(tool=tool, caught=True, detail="found") for tool in tools
        ),
        runs=tuple(
            Sanitized(
                variant=variant, tool=tool, status="errors" if found else "clean",
                shapes=("regular", "ragged", "unaligned"), errors=1 if found else 0, warnings=0,
                messages=(race,) if found else (), detail="",
                binary_sha256=binary_sha256(variant, arch),
            )
            for variant in variants
            for tool in tools
            for found in [variant == racy and tool == "racecheck"]
        ),
        seconds=31.5,
    )  # fmt: skip
