"""Whether what is told of Nsight Compute's metrics is what its own page says, and the page of what
was built. Pure."""

import re
from collections.abc import Iterable, Mapping, Sequence

from assay.catalog.model import Catalog
from assay.evidence.model import BuildKey, Evidence
from assay.evidence.nsight_csv import (
    DURATION,
    ProfiledKernel,
    longest_kernel,
    profiled_kernels,
)
from assay.evidence.stages import PROFILES
from assay.records.builds import BuildRecord, KernelResources
from assay.records.plan import TargetPlan
from assay.records.profile import ProfileRecord
from assay.verification.contradictions import Findings, names

REGISTERS = "launch__registers_per_thread"
_FUNCTION = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?=[<(]|$)")
"""Name of a function in front of its template's or its own arguments."""
_NAMELESS = ("<unnamed>", "(anonymous namespace)")


def check_profiles(evidence: Evidence, findings: Findings) -> Findings:
    """Add records whose kernel, metrics or units are not those of the raw page that they hold."""
    for key, record in evidence.profiles.items():
        if record.status != "collected":
            continue
        if record.raw_page is None:
            findings.leave("that metrics are those of Nsight Compute's page, which is not recorded")
        elif wrong := _wrong(record, record.raw_page):
            says = f"{PROFILES.path(*key)}: its page says otherwise of {names(wrong)}"
            findings.refuse("profile", says)
    return findings


def _wrong(record: ProfileRecord, page: str) -> set[str]:
    try:
        kernel, kernels = longest_kernel(page), profiled_kernels(page)
    except ValueError:
        return {"everything: it holds no kernel"}
    wrong = {
        name
        for name, value in record.metrics.items()
        if (value, record.units.get(name)) != (kernel.values.get(name), kernel.units.get(name))
    }
    wrong |= {
        name for name in (DURATION, REGISTERS) if name in kernel.values.keys() - record.metrics
    }
    wrong |= {"the kernel"} if record.kernel != kernel.name else set()
    timeless = any(each.values.get(DURATION, 0.0) <= 0 for each in kernels)
    return wrong | ({"how long each kernel took"} if timeless else set())


def check_kernels(
    catalog: Catalog,
    evidence: Evidence,
    plan: TargetPlan,
    builds: Mapping[BuildKey, BuildRecord],
    findings: Findings,
) -> None:
    """Add profiles of other kernels than were built, by their names and registers.

    ``builds``: of what made the target's binaries.
    """
    arch = catalog.targets[plan.target].arch
    for (target, name, arm_id), profile in evidence.profiles.items():
        arms = {arm.id: arm.variant for arm in catalog.comparisons[name].arms}
        build = builds.get((arms.get(arm_id, ""), arch)) if target == plan.target else None
        if build is None or profile.status != "collected":
            continue
        for seen, registers in _seen(profile):
            had = [entry.registers for entry in _entries(build.resources, seen)]
            if build.resources and not had:
                says = f"saw a kernel that its build does not have: {seen[:80]}"
            elif had and registers is not None and registers not in had:
                has = names(map(str, had))
                says = f"saw a kernel of {registers:.0f} registers, and its build has {has}"
            else:
                continue
            findings.refuse("binary", f"{PROFILES.path(target, name, arm_id)} {says}")


def _seen(profile: ProfileRecord) -> list[tuple[str, float | None]]:
    """Return each kernel's name and registers, by the page where one is held."""
    try:
        kernels: Sequence[ProfiledKernel] = profiled_kernels(profile.raw_page or "")
    except ValueError:  # no page, or one that holds nothing, which is found as such
        return [(profile.kernel or "", profile.metrics.get(REGISTERS))]
    return [(kernel.name, kernel.values.get(REGISTERS)) for kernel in kernels]


def _entries(resources: Iterable[KernelResources], seen: str) -> list[KernelResources]:
    """Return the entries whose name, as the compiler spells it, holds that of a function."""
    for nameless in _NAMELESS:
        seen = seen.replace(nameless, "")
    function = _FUNCTION.search(seen)
    if function is None:
        return []
    name = function[1]
    spelled = f"{len(name)}{name}"
    return [each for each in resources if each.entry == name or spelled in each.entry]
