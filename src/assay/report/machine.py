"""The machine's part of the report: what was compiled, and on which platform it ran."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from assay.evidence.model import Evidence
from assay.evidence.stages import build_path, platform_path
from assay.findings.binary_matches import BinaryMatch, Sameness
from assay.records.builds import BuildRecord
from assay.records.platform import PlatformRecord
from assay.report import formatting as fmt
from assay.report.facts import Fact
from assay.report.links import Link, link
from assay.shared.counting import counted


@dataclass(frozen=True)
class BuildRow:
    """One compilation."""

    id: str
    arch: str
    kind: str
    status: str
    registers: str
    spills: str
    shared: str
    stack: str
    sha256: str
    where: str
    diagnostics: str | None
    link: Link


@dataclass(frozen=True)
class PlatformSection:
    """The machine behind one target's figures."""

    target: str
    title: str
    facts: tuple[Fact, ...]
    link: Link


def build_rows(evidence: Evidence, measured: Sequence[BinaryMatch]) -> tuple[BuildRow, ...]:
    """Return every compilation of the plan, each beside the measured binary of the same name."""
    return tuple(
        _build(
            evidence.builds[job.id, job.arch],
            job.kind,
            [match for match in measured if (match.artifact, match.arch) == (job.id, job.arch)],
        )
        for job in evidence.plan.builds
        if (job.id, job.arch) in evidence.builds
    )


def _build(record: BuildRecord, kind: str, measured: Sequence[BinaryMatch]) -> BuildRow:
    resources = record.resources
    where = [_beside(match) for match in measured] or ["not measured"]
    if record.built_elsewhere:
        where.append("built elsewhere")
    return BuildRow(
        id=record.id,
        arch=record.arch,
        kind=kind,
        status=record.status,
        registers=_span(r.registers for r in resources),
        spills=_span(r.spill_store_bytes + r.spill_load_bytes for r in resources),
        shared=_span(r.static_shared_bytes for r in resources),
        stack=_span(r.stack_bytes for r in resources),
        sha256=record.artifact.sha256 if record.artifact else "",
        where="; ".join(where),
        diagnostics=record.diagnostics if record.status == "failed" else None,
        link=link(f"evidence/{build_path(record.id, record.arch)}"),
    )


def _beside(match: BinaryMatch) -> str:
    """Return how a build stands to a measured binary of its name."""
    other = f"the one measured on {match.target}"
    if match.identical:
        return f"identical to {other}"
    if match.sameness is Sameness.DEVICE_CODE:
        return f"device code identical to that of {other}, host code by another compiler"
    if match.sameness is Sameness.INSTRUCTIONS:
        return f"machine code identical to that of {other}, line tables of another source text"
    return f"differs from {other} ({fmt.short_hash(match.measured_sha256)})"


def _span(values: Iterable[int]) -> str:
    """Return one number, or the range over a binary's kernels."""
    found = list(values)
    if not found:
        return fmt.NOTHING
    low, high = min(found), max(found)
    return str(low) if low == high else f"{low} to {high}"


def platform_sections(evidence: Evidence) -> tuple[PlatformSection, ...]:
    """Return the platform records, label by label."""
    return tuple(
        PlatformSection(
            target=target,
            title=platform.device.gpu.product,
            facts=tuple(_platform_facts(platform)),
            link=link(f"evidence/{platform_path(target)}"),
        )
        for target, platform in evidence.platforms.items()
    )


def _platform_facts(platform: PlatformRecord) -> Iterator[Fact]:
    device, gpu, show = platform.device, platform.device.gpu, fmt.optional
    yield Fact("recorded", platform.recorded_at)
    yield Fact("GPU", f"{gpu.product}, {gpu.uuid}, PCI {gpu.pci_bus_id}")
    for other in platform.others:
        limit = show(other.gpu.power_limit_w, "W")
        yield Fact(
            "another GPU",
            f"{other.gpu.product}, {other.gpu.uuid}, PCI {other.gpu.pci_bus_id}, VBIOS "
            f"{show(other.gpu.vbios)}, {limit}, driver {other.driver}",
        )
    yield Fact("compute capability", gpu.compute_capability)
    yield Fact("VBIOS", show(gpu.vbios))
    yield Fact("multiprocessors", str(gpu.multiprocessors))
    yield Fact("memory, L2", f"{fmt.size(gpu.memory_bytes)}, {fmt.size(gpu.l2_bytes)}")
    limits = f"{show(gpu.power_limit_w, 'W')} (default {show(gpu.power_limit_default_w, 'W')})"
    yield Fact("power limit", limits)
    yield Fact("ECC, MIG", f"{fmt.yes_no(gpu.ecc)}, {fmt.yes_no(gpu.mig)}")
    yield Fact(
        "persistence, compute mode", f"{fmt.yes_no(gpu.persistence)}, {show(gpu.compute_mode)}"
    )
    most = f"SM {show(gpu.clock_sm_max_mhz, 'MHz')}, memory {show(gpu.clock_memory_max_mhz, 'MHz')}"
    yield Fact("highest clocks", most)
    asked = (
        f"SM {show(gpu.application_clock_sm_mhz, 'MHz')}, "
        f"memory {show(gpu.application_clock_memory_mhz, 'MHz')}"
    )
    yield Fact("applications clocks", asked)
    yield Fact("PCIe", f"generation {show(gpu.pcie_generation)}, width {show(gpu.pcie_width)}")
    compat = ", through a compat libcuda" if device.compat_libcuda else ""
    yield Fact("driver", f"{device.driver}, CUDA {device.cuda_driver}{compat}")
    yield Fact("CUDA runtime", device.cuda_runtime)
    libraries = f"{device.torch}, cuDNN {show(device.cudnn)}, Triton {show(device.triton)}"
    yield Fact("PyTorch", libraries)
    yield Fact("Nsight Compute", show(device.nsight_compute))
    yield Fact("device Python", device.python)
    for directory in platform.device_paths or ():
        found = ", ".join(f"{name} {version}" for name, version in directory.packages.items())
        yield Fact("packages before its own", f"{directory.path}: {found or 'none'}")
    yield Fact(
        "host CPU",
        f"{platform.cpu}, {counted(platform.cores, 'core')}, {fmt.size(platform.memory_bytes)}",
    )
    yield Fact("kernel, distribution", f"{platform.kernel}, {platform.distribution}")
    yield Fact("container runtime", f"{platform.runtime}, image {show(platform.image_digest)}")
    if job := platform.allocation:
        yield Fact(
            "allocation",
            f"{job.scheduler} job {job.job_id} on {job.node}, partition {job.partition}, "
            f"{job.gpu_count} of {job.gpu_model}",
        )
    yield Fact("commit", f"{show(platform.commit)}, clean tree: {fmt.yes_no(platform.clean_tree)}")
