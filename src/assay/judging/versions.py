"""Which version of CUTLASS answered, where its source states another one. Pure."""

from assay.evidence.model import build_of
from assay.judging.case import Case
from assay.records.claims import Claim

PACKAGE, STATED = "nvidia-cutlass", "cutlass"
"""Its package, and its name among the versions that a claim states."""
PARTS = 3
"""Of a version that its documents print: the package has one more."""


def version_words(claim: Claim, package: str, version: str | None) -> str:
    """Return a sentence on a package's version where the claim states another; else nothing."""
    stated = claim.software.get(STATED)
    if package != PACKAGE or version is None or stated is None:
        return ""
    ran = ".".join(version.split(".")[:PARTS])
    if stated.split()[0] == ran:
        return ""
    return f"CUTLASS {ran} answered; the source states {stated}."


def program_version(case: Case, target: str, claim: Claim, program: str) -> str:
    """Return the same of a program as it was built for a target."""
    build = build_of(case.evidence, program, case.catalog.targets[target].arch)
    package = case.catalog.programs[program].package
    return version_words(claim, package, build.toolchain.wheels.get(package) if build else None)
