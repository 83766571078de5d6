"""Whether a plan says of where its figures come from what the records of the machine say. Pure.

What it says of a GPU that was measured follows from the machine's record. Of one that was not
there no record tells: it is said as Assay says it, of this target, and with no driver nothing was
measured beside it. Which other GPUs are there, and what a Python lacks, is the signer's word.
"""

import re
from pathlib import PurePosixPath

from assay.catalog.model import Catalog
from assay.evidence.model import Evidence
from assay.measuring.host_driver import NO_DRIVER
from assay.records.evaluations import NotRun
from assay.records.plan import Provision
from assay.records.platform import PlatformRecord
from assay.records.targets import Target
from assay.verification.contradictions import Findings

LONGEST_SAID = 2000
"""Characters; patterns take a time that grows with the square of them."""
HERE = "measured on this machine's "
_MEASURED = re.compile(
    re.escape(HERE) + r"(?P<product>.+) \((?P<gpus>GPU-[0-9a-f-]+(, GPU-[0-9a-f-]+)*)\)"
    r"( in (?P<runtime>\w+))?"
)
_PACKAGES = re.compile(r".+: name (another|one that has .+) with --device-python(, or .+)?")
_OLD_DRIVER = re.compile(r".+ cannot be measured on, for its driver .+ is too old(: .+)?")


def told_origin(name: str, platform: PlatformRecord) -> str:
    """Return what a plan says of figures that it takes from the report ``name``."""
    gpu = platform.device.gpu
    return (
        f"figures come from {name}, measured on {gpu.product} "
        f"({gpu.uuid}) at {platform.recorded_at}"
    )


def check_provisions(
    catalog: Catalog, evidence: Evidence, findings: Findings, *, todays: bool
) -> None:
    """Add figures that are said to come from elsewhere than their records do, or not to be there
    for what Assay does not say.

    ``todays``: whether today's rules made the report; others may say it in other words.
    """
    driver = any(plan.provision.detail.startswith(HERE) for plan in evidence.plan.targets)
    for plan in evidence.plan.targets:
        given, platform = plan.provision, evidence.platforms.get(plan.target)
        target = catalog.targets.get(plan.target)
        if target is not None and not _is_told(given, target, platform, driver=driver):
            said = given.absence or given.detail
            findings.refuse_or_leave(
                "provision",
                f"{plan.target}: the plan says of this machine: {said[:120]}"
                if todays
                else f"what the plan says in words of this machine and {plan.target}",
                refused=todays,
            )
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


def _is_told(
    given: Provision, target: Target, platform: PlatformRecord | None, *, driver: bool
) -> bool:
    """Return whether a plan says of this machine what planning would.

    ``driver``: whether something is measured here, by the plan's own word.
    """
    if max(len(given.detail), len(given.absence or "")) > LONGEST_SAID:
        return False
    if given.kind == "device":
        return _measured_here(given, target, platform)
    absence = given.detail if given.kind == "none" else given.absence
    return absence is None or _absent(absence, given.reason, target, driver=driver)


def _measured_here(given: Provision, target: Target, platform: PlatformRecord | None) -> bool:
    detail = given.detail
    if detail == f"measured on the cluster's {target.gpu_model} nodes":
        return True
    found = _MEASURED.fullmatch(detail)
    if found is not None and given.gpus and found["gpus"] != ", ".join(given.gpus):
        return False
    if found is None or platform is None:
        return found is not None
    product = platform.device.gpu.product
    if re.fullmatch(target.product_pattern, product) is None:
        return True  # another GPU than the target's is found as such
    return (found["product"], found["runtime"] or "host") == (product, platform.runtime)


def _absent(detail: str, reason: NotRun | None, target: Target, *, driver: bool) -> bool:
    if reason is NotRun.DRIVER_TOO_OLD:
        return _OLD_DRIVER.fullmatch(detail) is not None
    if detail == NO_DRIVER:
        return not driver
    none_here = detail.startswith(f"no {target.product} here (") and detail.endswith(")")
    on_cluster = detail == f"the cluster offers no GPU of type {target.gpu_model}"
    old = reason is None and _OLD_DRIVER.fullmatch(detail) is not None
    return none_here or on_cluster or old or _PACKAGES.fullmatch(detail) is not None
