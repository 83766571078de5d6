"""Whether a plan says of where its figures come from what the records of the machine say. Pure."""

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


def check_provisions(evidence: Evidence, findings: Findings, *, todays: bool) -> None:
    """Add figures that are said to come from elsewhere than their records do.

    ``todays``: whether today's rules made the report; others may say it in other words.
    """
    for plan in evidence.plan.targets:
        given, platform = plan.provision, evidence.platforms.get(plan.target)
        if given.kind != "recorded":
            continue
        name = given.recorded_in or ""
        path = PurePosixPath(name)
        # By its name alone, or below the repository: evidence holds no machine's paths.
        if name != path.as_posix() or path.is_absolute() or ".." in path.parts or ":" in name:
            says = f"{plan.target}: '{name}' is no place of a report below a repository"
            findings.refuse("provision", says)
        if platform is not None and given.detail != told_origin(name, platform):
            findings.refuse_or_leave(
                "provision",
                f"{plan.target}: the plan says of its figures: {given.detail[:120]}"
                if todays
                else f"what the plan says in words of the figures of {plan.target}",
                refused=todays,
            )
