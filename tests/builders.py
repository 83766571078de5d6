"""Synthetic catalogs and evidence with a known truth, for tests of everything after measuring."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.judging.cutlass_output import job_id
from assay.records.arithmetic import SourcePlace
from assay.records.base import Record
from assay.records.builds import (
    BuildRecord,
    DeviceCodeResult,
    FileDigest,
    InspectionResult,
    ToolchainRecord,
)
from assay.records.claims import Audit, Claim, ClaimKind, Hardware, Relation, Source, SourceClaims
from assay.records.evaluations import FlopFormula, NotRun, Unanswerable
from assay.records.kernels import CitedFlag, OriginalProgram, Probe, Variant
from assay.records.measurements import (
    ArmCorrectness,
    ArmFacts,
    BenchmarkRecord,
    Block,
    Check,
    CorrectnessRecord,
    Process,
    ProgramRecord,
    ProgramRun,
    Telemetry,
    Turn,
)
from assay.records.plan import Answer, Plan, ProgramJob, Provision, TargetPlan
from assay.records.platform import Device, Gpu, Peaks, PlatformRecord, Target
from assay.records.units import Unit
from assay.records.workloads import Arm, Comparison, Judging, Operation, Protocol, Workload
from assay.shared.specs import PatternSpec

GPU = "GPU-11111111-2222-3333-4444-555555555555"
OTHER_GPU = "GPU-99999999-2222-3333-4444-555555555555"
WHEN = "2026-11-20T12:00:00Z"
FLOP = {"ours": 2 * 4096**3 // 4, "rival": 2 * 4096**3, "attention": 4 * 8 * 512 * 512 * 64}
"""FLOPs of one launch of each arm of comparison ``duel`` and ``attend``."""
TIMES_MS = {"ours": 0.06, "rival": 0.2}
"""Times of comparison ``duel``: 573 TFLOP/s of stored blocks against 687 dense."""


def digest(text: str) -> str:
    """A SHA-256 that stands for the content ``text``."""
    return hashlib.sha256(text.encode()).hexdigest()


def judging(**changes: Any) -> Judging:
    values: dict[str, Any] = {
        "schema": "assay/judging/1", "confidence": 0.90, "absolute_margin": 0.08,
        "ratio_margin": 0.05, "bootstrap_resamples": 400, "bootstrap_seed": 7, "program_runs": 5,
        "correctness_seeds": (1, 2),
    }  # fmt: skip
    return Judging(**{**values, **changes})


def target(name: str = "h100") -> Target:
    arch, capability = {"h100": ("sm_90a", "9.0"), "l4": ("sm_89", "8.9")}[name]
    return Target(
        schema="assay/target/1",
        id=name,
        product=f"NVIDIA {name.upper()}",
        product_pattern=f"NVIDIA {name.upper()}.*",
        arch=arch,
        compute_capability=capability,
        gpu_model=name,
        slurm_partition="gpu",
        multiprocessors=132,
        l2_bytes=50 * 2**20,
        max_shared_bytes_per_block=232448,
        power_limit_w=700.0,
        peaks=Peaks(
            fp16_tensor_tflop_per_s=989.4,
            fp8_tensor_tflop_per_s=1978.9,
            fp32_tflop_per_s=66.9,
            memory_gb_per_s=3350.0,
            source="a datasheet",
        ),
    )


def workloads() -> dict[str, Workload]:
    alike = {"dtype": "float16", "distribution": "normal", "seed": 1, "relative_tolerance": 2e-3}
    square = {"m": 4096, "n": 4096, "k": 4096}
    blocks = PatternSpec(kind="random", block_rows=128, block_cols=128, blocks_per_row=8)
    heads = {"batch": 1, "heads": 8, "seq_q": 512, "seq_kv": 512, "head_dim": 64}
    given: dict[str, dict[str, Any]] = {
        "sparse": {"operation": Operation.BSR_GEMM, "pattern": blocks, **square},
        "dense": {"operation": Operation.DENSE_GEMM, **square},
        "attention": {"operation": Operation.DENSE_ATTENTION, **heads},
    }
    return {name: Workload.model_validate({"id": name, **alike, **g}) for name, g in given.items()}


def variants() -> dict[str, Variant]:
    ours = Variant(
        id="our_kernel", operation=Operation.BSR_GEMM, title="Our kernel", kind="kernel",
        source="ours.cu", symbol="ours", abi="bsr_gemm", archs=("sm_89", "sm_90a"),
        artifact="reimplemented", built_from="the tile sizes and build line of the source",
    )  # fmt: skip
    rival = Variant(
        id="cublas", operation=Operation.DENSE_GEMM, title="cuBLAS", kind="library", entry="cublas",
        artifact="original", built_from="torch.matmul",
    )  # fmt: skip
    sdpa = rival.model_copy(
        update={"id": "sdpa", "operation": Operation.DENSE_ATTENTION, "title": "SDPA"}
    )
    return {variant.id: variant for variant in (ours, rival, sdpa)}


def comparisons() -> dict[str, Comparison]:
    duel = Comparison(
        id="duel",
        title="Ours against cuBLAS",
        protocol="standard",
        arms=(
            Arm(id="ours", variant="our_kernel", workload="sparse"),
            Arm(id="rival", variant="cublas", workload="dense"),
        ),
        control="rival",
    )
    attend = Comparison(
        id="attend",
        title="Attention",
        protocol="standard",
        arms=(Arm(id="attention", variant="sdpa", workload="attention"),),
        control="attention",
    )
    return {"duel": duel, "attend": attend}


def protocol(**changes: Any) -> Protocol:
    values: dict[str, Any] = {
        "id": "standard", "processes": 5, "blocks": 4, "samples": 3, "l2": "cold",
        "timer": "events", "warmup_min_ms": 60.0, "warmup_max_ms": 1500.0,
        "warmup_stable_fraction": 0.01, "telemetry_interval_ms": 25.0, "checked_turns": 0.25,
    }  # fmt: skip
    return Protocol(**{**values, **changes})


def cited(*words: str) -> tuple[CitedFlag, ...]:
    return tuple(CitedFlag.model_validate({"flag": w, "from": "source 001, line 1"}) for w in words)


def programs() -> dict[str, OriginalProgram]:
    parsers = {"ex41": "cutlass_41", "ex57": "cutlass_57", "ex88": "cutlass_88"}
    return {
        name: OriginalProgram(
            id=name,
            title=f"CUTLASS example {name[2:]}",
            package="nvidia-cutlass",
            source=f"examples/{name}.cu",
            archs=("sm_90a",),
            flags=(),
            includes=("include",),
            parser=parser,  # type: ignore[arg-type]
        )
        for name, parser in parsers.items()
    }


def claim(name: str, evaluation: Record, **changes: Any) -> Claim:
    """A measured claim of 600 TFLOP/s on an H100, unless told otherwise."""
    values: dict[str, Any] = {
        "id": name, "kind": ClaimKind.MEASUREMENT, "statement": "a figure",
        "place": SourcePlace(section="Results", line=1), "value": 600.0, "unit": Unit.TFLOP_PER_S,
        "resolution": 1.0, "relation": Relation.EQUALS,
        "hardware": Hardware(target="h100", as_stated="H100"), "flop_formula": FlopFormula.NNZ,
        "evaluation": evaluation,
    }  # fmt: skip
    values.update(changes)
    if values["unit"] not in (Unit.TFLOP_PER_S, Unit.GFLOP_PER_S) and "flop_formula" not in changes:
        values["flop_formula"] = None
    return Claim(**values)


def catalog(claims: Sequence[Claim] = (), audits: Sequence[Audit] = (), **changes: Any) -> Catalog:
    """A catalog of one source ``paper`` with the given claims."""
    filler = claims or [claim("filler", unanswerable())]
    source = SourceClaims(
        source=Source(
            id="paper", title="A paper", date=None, file="paper.txt", sha256=digest("a paper")
        ),
        claims=tuple(filler),
        audits=tuple(audits),
    )
    values: dict[str, Any] = {
        "sources": {"paper": source}, "claims": {entry.id: entry for entry in filler},
        "audits": {entry.id: entry for entry in audits},
        "source_of": dict.fromkeys([*(c.id for c in filler), *(a.id for a in audits)], "paper"),
        "targets": {"h100": target("h100"), "l4": target("l4")}, "workloads": workloads(),
        "comparisons": comparisons(), "protocols": {"standard": protocol()}, "variants": variants(),
        "programs": programs(),
        "probes": {"probe_tma": Probe(id="probe_tma", title="TMA", source="probe_tma.cu")},
        "kernel_folder": {"our_kernel": "bsr_gemm", "probe_tma": "support"}, "judging": judging(),
    }  # fmt: skip
    return Catalog(**{**values, **changes})


def unanswerable() -> Unanswerable:
    return Unanswerable(
        kind="unanswerable", reason=NotRun.CONFIGURATION_MISSING, detail="No configuration given."
    )


def telemetry() -> Telemetry:
    return Telemetry(
        at_s=(0.0, 1.0), clock_sm_mhz=(1980, 1980), clock_memory_mhz=(2619, 2619),
        power_w=(600.0, 610.0), temperature_c=(50, 51), event_reasons=(0, 0),
    )  # fmt: skip


def facts(arm: str, **changes: Any) -> ArmFacts:
    """What one arm of ``duel`` or ``attend`` computes; stored blocks are a quarter of ``ours``."""
    known = {
        "ours": ("our_kernel", "sparse", 0.25, digest("our binary")),
        "rival": ("cublas", "dense", None, None),
        "attention": ("sdpa", "attention", None, None),
    }
    variant, workload, density, binary = known[arm]
    values: dict[str, Any] = {
        "arm": arm, "variant": variant, "workload": workload, "flop": FLOP[arm],
        "bytes": 3 * 4096 * 4096 * 2,
        "stored_blocks": None if density is None else 256, "density": density,
        "binary_sha256": binary,
    }  # fmt: skip
    return ArmFacts(**{**values, **changes})


def benchmark(
    times_ms: Mapping[str, float] = TIMES_MS,
    *,
    comparison: str = "duel",
    control: str = "rival",
    control_bias: float = 0.0,
    process_sd: float = 0.003,
    block_sd: float = 0.002,
    processes: int = 5,
    blocks: int = 4,
    samples: int = 3,
    seed: int = 1,
    void: str | None = None,
    gpu: str = GPU,
    on: str = "h100",
    arm_facts: Mapping[str, ArmFacts] | None = None,
    relative_error: float = 4e-4,
) -> BenchmarkRecord:
    """Samples whose true times are ``times_ms``; common drift per process, own noise per block."""
    generator = np.random.Generator(np.random.PCG64(seed))
    names = [*times_ms, "control"]
    given = dict(arm_facts or {})
    entries = []
    for index in range(processes):
        drift = generator.normal(0, process_sd)
        own = {name: generator.normal(0, process_sd / 4) for name in names}
        made = []
        for number in range(blocks):
            turns = []
            for name in (*names, *reversed(names)):
                arm = control if name == "control" else name
                bias = control_bias if name == "control" else 0.0
                noise = generator.normal(0, block_sd, samples)
                times = times_ms[arm] * np.exp(drift + own[name] + bias + noise)
                checked = number == 0
                turns.append(
                    Turn(
                        arm=name,
                        times_ms=tuple(float(time) for time in times),
                        started_s=0.1 * number,
                        ended_s=0.1 * number + 0.01,
                        checked=checked,
                        relative_error=relative_error if checked else None,
                    )
                )
            made.append(Block(turns=tuple(turns), void=void))
        entries.append(
            Process(
                index=index,
                arms=tuple(given.get(name) or facts(name) for name in times_ms),
                blocks=tuple(made),
                telemetry=telemetry(),
                seconds=2.0,
            )
        )
    return BenchmarkRecord(
        schema="assay/benchmark/1", comparison=comparison, target=on, gpu_uuid=gpu,
        recorded_at=WHEN, protocol="standard", not_timed={}, processes=tuple(entries), seconds=10.0,
    )  # fmt: skip


def with_turns(
    record: BenchmarkRecord, change: Callable[[int, Turn], Turn | None]
) -> BenchmarkRecord:
    """The record with each turn as ``change`` makes it of the process's number; without None."""
    processes = []
    for number, process in enumerate(record.processes):
        blocks = []
        for block in process.blocks:
            turns = tuple(new for turn in block.turns if (new := change(number, turn)) is not None)
            blocks.append(block.model_copy(update={"turns": turns}))
        processes.append(process.model_copy(update={"blocks": tuple(blocks)}))
    return record.model_copy(update={"processes": tuple(processes)})


def correctness(
    arms: Sequence[str] = ("ours", "rival"),
    *,
    comparison: str = "duel",
    on: str = "h100",
    gpu: str = GPU,
    statuses: Mapping[str, str] | None = None,
    binaries: Mapping[str, str] | None = None,
    detail: str = "as told",
) -> CorrectnessRecord:
    """All arms correct, unless ``statuses`` says otherwise."""
    entries = []
    for arm in arms:
        status = (statuses or {}).get(arm, "correct")
        known = facts(arm)
        check = Check(
            name="timed_shape", seed=1, passed=status == "correct",
            relative_error=4e-4 if status == "correct" else 0.7, max_abs_error=None, detail="",
        )  # fmt: skip
        entries.append(
            ArmCorrectness(
                arm=arm,
                variant=known.variant,
                workload=known.workload,
                status=status,  # type: ignore[arg-type]
                checks=(check,) if status in ("correct", "incorrect") else (),
                detail=detail,
                binary_sha256=(binaries or {}).get(arm, known.binary_sha256),
            )
        )
    return CorrectnessRecord(
        schema="assay/correctness/1", comparison=comparison, target=on, gpu_uuid=gpu,
        arms=tuple(entries), seconds=3.0,
    )  # fmt: skip


def platform(on: str = "h100", gpu: str = GPU) -> PlatformRecord:
    device = Device(
        schema="assay/device/1",
        gpu=Gpu(
            index=0,
            product=f"NVIDIA {on.upper()}",
            uuid=gpu,
            pci_bus_id="00000000:01:00.0",
            compute_capability="9.0",
            vbios="96.00.00.00.01",
            multiprocessors=132,
            memory_bytes=85 * 10**9,
            l2_bytes=50 * 2**20,
            power_limit_w=700.0,
            power_limit_default_w=700.0,
            ecc=True,
            mig=False,
            persistence=True,
            compute_mode="default",
            clock_sm_max_mhz=1980,
            clock_memory_max_mhz=2619,
            application_clock_sm_mhz=None,
            application_clock_memory_mhz=None,
            pcie_generation=5,
            pcie_width=16,
        ),
        driver="580.0",
        cuda_driver="13.0",
        cuda_runtime="13.0",
        compat_libcuda=False,
        torch="2.11.0",
        cudnn="9.1",
        triton="3.5",
        python="3.12.3",
        nsight_compute="2025.3.1",
    )
    return PlatformRecord(
        schema="assay/platform/1", target=on, recorded_at=WHEN, hostname_sha256=digest("host"),
        cpu="A CPU", cores=16, memory_bytes=2**37, kernel="6.8", distribution="Some Linux",
        runtime="host", image_digest=None, device=device, allocation=None, commit=None,
        clean_tree=None, packages={},
    )  # fmt: skip


def program_record(
    program: str,
    arguments: Sequence[str],
    outputs: Sequence[str],
    *,
    on: str = "h100",
    gpu: str = GPU,
    exit_code: int = 0,
) -> ProgramRecord:
    return ProgramRecord(
        schema="assay/program/1",
        program=program,
        arguments=tuple(arguments),
        target=on,
        gpu_uuid=gpu,
        recorded_at=WHEN,
        binary_sha256=digest(program),
        runs=tuple(
            ProgramRun(exit_code=exit_code, seconds=1.0, stdout=text, stderr="") for text in outputs
        ),
        telemetry=telemetry(),
    )


def build(
    name: str,
    arch: str = "sm_90a",
    *,
    kind: str = "variant",
    diagnostics: str = "",
    content: str | None = None,
) -> BuildRecord:
    """A build; failed where ``diagnostics`` says why."""
    artifact = FileDigest(path=f"{name}.so", sha256=digest(content or name), bytes=1000)
    toolchain = ToolchainRecord(
        schema="assay/toolchain/1",
        nvcc="13.0.88",
        host_compiler="g++ 12.2.0",
        wheels={},
        lock_sha256=digest("lock"),
    )
    return BuildRecord(
        schema="assay/build/1",
        id=name,
        kind=kind,  # type: ignore[arg-type]
        arch=arch,
        status="failed" if diagnostics else "built",
        command=("nvcc", "-O3"),
        sources=(),
        key=digest(f"{name}{arch}"),
        artifact=None if diagnostics else artifact,
        cubins=(),
        resources=(),
        toolchain=toolchain,
        diagnostics=diagnostics,
        built_elsewhere=False,
    )


def inspection(name: str, lines: int, size: int) -> InspectionResult:
    return InspectionResult(
        claim=name, package="nvidia-cutlass", version="4.2.0.0", path="file.hpp", lines=lines,
        bytes=size, sha256=digest("file"),
    )  # fmt: skip


def measure(name: str, on: str | None = "h100") -> Answer:
    """An answer by measuring on a target, or by computing where there is none."""
    way = "compute" if on is None else "measure"
    return Answer(claim=name, target=on, way=way, reason=None, detail="")  # type: ignore[arg-type]


def held(target: str, **fields: Any) -> TargetPlan:
    """What there is of a target in an earlier report."""
    provision = Provision(
        target=target, kind="recorded", recorded_in="reports/published/old",
        within="earlier/old/evidence", detail=f"figures of {target} come from a report",
    )  # fmt: skip
    given = {"comparisons": (), "programs": (), "profiles": (), **fields}
    return TargetPlan(target=target, provision=provision, **given)


def evidence(
    answers: Sequence[Answer],
    *,
    benchmarks: Sequence[BenchmarkRecord] = (),
    checks: Sequence[CorrectnessRecord] = (),
    programs: Sequence[ProgramRecord] = (),
    builds: Sequence[BuildRecord] = (),
    inspections: Sequence[InspectionResult] = (),
    device_code: Sequence[DeviceCodeResult] = (),
    platforms: Sequence[PlatformRecord] | None = None,
    kinds: Mapping[str, str] | None = None,
) -> Evidence:
    """Evidence of a run on an H100, with no L4."""
    found = (platform(),) if platforms is None else tuple(platforms)
    provided = dict(kinds or {"h100": "device", "l4": "none"})
    jobs = {
        (record.target, job_id(record.program, record.arguments)): record for record in programs
    }
    targets = tuple(
        TargetPlan(
            target=name,
            provision=Provision(
                target=name,
                kind=kind,  # type: ignore[arg-type]
                recorded_in="reports/published/x" if kind == "recorded" else None,
                detail=f"{name}: {kind}",
            ),
            comparisons=tuple(r.comparison for r in benchmarks if r.target == name),
            programs=tuple(
                ProgramJob(id=job, program=record.program, arguments=record.arguments)
                for (on, job), record in jobs.items()
                if on == name
            ),
            profiles=(),
        )
        for name, kind in provided.items()
    )
    plan = Plan(
        schema="assay/plan/1", run="test", sources=("paper",), builds=(), targets=targets,
        answers=tuple(answers),
    )  # fmt: skip
    return Evidence(
        plan=plan,
        builds={(record.id, record.arch): record for record in builds},
        platforms={record.target: record for record in found},
        correctness={(record.target, record.comparison): record for record in checks},
        benchmarks={(record.target, record.comparison): record for record in benchmarks},
        programs=jobs,
        profiles={},
        inspections={entry.claim: entry for entry in inspections},
        device_code={entry.claim: entry for entry in device_code},
    )


def output_88(
    rates: Mapping[str, float],
    *,
    shape: tuple[int, int, int, int, int] = (1, 8, 1024, 1024, 64),
    mask: str = "Full",
    mark: str = "OK",
) -> str:
    """What CUTLASS example 88 prints; ``rates`` by printed description."""
    b, h, q, k, d = shape
    lines = [f"###### B {b} H {h} Q {q} K {k} D {d} Forward {mask} #SM 132"]
    tag = {"OK": " [OK]  ", "--": " [--] ", "FAIL": "[FAIL] "}[mark]
    lines += [f"{tag}{name:<32} : {rate} TFLOPS/s" for name, rate in rates.items()]
    return "\n".join(lines) + "\n"


def output_57(
    schedules: Mapping[str, tuple[float, float]],
    *,
    problems: Sequence[tuple[int, int, int]] = ((128, 128, 64),) * 3,
    disposition: str = "Passed",
) -> str:
    """What CUTLASS example 57 prints; (ms, TFLOP/s) by the schedule's title."""
    text = ""
    for title, (time, rate) in schedules.items():
        text += f"\n*** {title} ***\n  Problem Sizes, Alpha, Beta \n"
        text += "".join(f"    ({m},{n},{k}), 1, 0\n" for m, n, k in problems)
        text += f"  Groups      : {len(problems)}\n  Disposition: {disposition}\n"
        if disposition == "Failed":
            break
        text += f"  Avg runtime : {time} ms\n  TFLOPS      : {rate}\n"
    return text


def output_41(
    gflop_per_s: float,
    milliseconds: float,
    *,
    shape: tuple[int, int, int, int, int, int] = (512, 512, 64, 64, 8, 1),
    end: str = "Passed",
) -> str:
    sizes = ", ".join(map(str, shape))
    return (
        "\nCUTLASS Attention:\n====================================================\n"
        "     {seq length Q, seq length KV, head size, head size V, head number, batch size} = "
        f"{{{sizes}}}.\n\n    Runtime: {milliseconds} ms\n    GFLOPs: {gflop_per_s}\n\n{end}\n"
    )
