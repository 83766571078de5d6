"""Where a plan says that its figures come from."""

from pathlib import PurePosixPath

from assay.evidence.model import Evidence
from assay.records.platform import PlatformRecord
from assay.verification.contradictions import Findings


def told_origin(name: str, platform: PlatformRecord) -> str:
    """Return what a plan says of figures that it takes from the report ``name``."""
    gpu = platform.device.gpu
    return (
        f"figures come from {name}, measured on {gpu.product} "
        f"({gpu.uuid}) at {platform.recorded_at}"
    )


def check_provisions(evidence: Evidence, findings: Findings) -> None:
    """Add figures whose report is named by more than its place below a repository."""
    for plan in evidence.plan.targets:
        if plan.provision.kind != "recorded":
            continue
        name = plan.provision.recorded_in or ""
        path = PurePosixPath(name)
        # By its name alone, or below the repository: evidence holds no machine's paths.
        if name != path.as_posix() or path.is_absolute() or ".." in path.parts or ":" in name:
            says = f"{plan.target}: '{name}' is no place of a report below a repository"
            findings.refuse("provision", says)
