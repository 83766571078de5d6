"""What ran for a figure: a library's own kernel, the author's own code, or what was rebuilt here.

A variant that calls a library runs the kernel of its published package, as that is installed: it is
no rebuild, whatever document speaks of it. The gate's record tells the package's version, and where
that was made before it did, or for PyTorch itself, the platform's.
"""

import re
from collections.abc import Iterable

from assay.evidence.model import build_of
from assay.judging.case import ORIGINAL, Case, Ran, WhatRan
from assay.records.claims import Claim
from assay.records.evaluations import Derived, Program
from assay.records.kernels import Variant
from assay.records.platform import PlatformRecord

PYTORCH = "torch"


def what_ran(case: Case, target: str, variants: Iterable[str]) -> WhatRan:
    """Return what the arms of a figure ran, by their variants: rebuilt where any of them was."""
    every = [case.catalog.variants[name] for name in dict.fromkeys(variants)]
    if rebuilt := [each for each in every if each.artifact == "reimplemented"]:
        return WhatRan("reimplemented", _made_from(rebuilt[:1]))
    if libraries := [each for each in every if each.kind == "library" or each.package is not None]:
        packages = dict.fromkeys(_package(case, target, each) for each in libraries)
        return WhatRan("library", _made_from(libraries), tuple(packages))
    return ORIGINAL


def together(sides: Iterable[WhatRan]) -> WhatRan:
    """Return what ran for a figure that is formed from several: rebuilt where any of them was."""
    order: tuple[Ran, ...] = ("reimplemented", "library", "original")
    every = sorted(sides, key=lambda side: order.index(side.artifact))
    of = [side for side in every if side.artifact == every[0].artifact]
    texts = dict.fromkeys(side.made_from for side in of if side.made_from)
    packages = dict.fromkeys(name for side in of for name in side.packages)
    return WhatRan(of[0].artifact, "; ".join(texts) or None, tuple(packages))


def _made_from(variants: Iterable[Variant]) -> str:
    return "; ".join(dict.fromkeys(variant.built_from.rstrip(".") for variant in variants))


def _package(case: Case, target: str, variant: Variant) -> str:
    """Return a library's package with the version that was imported, or lay there to be."""
    rival = case.catalog.rivals.get(variant.rival) if variant.rival else None
    name = variant.package or (rival.main.name if rival else PYTORCH)
    platform = case.evidence.platforms.get(target)
    gates = (gate for (on, _), gate in case.evidence.correctness.items() if on == target)
    arms = (arm for gate in gates for arm in gate.arms if arm.variant == variant.id)
    imported = next((arm.packages for arm in arms if arm.packages), {})
    version = {_normal(key): value for key, value in imported.items()}.get(_normal(name))
    if platform is not None and (name == PYTORCH or version is None):
        version = _version(platform, name)
    return f"{name} {version}" if version else f"{name}, or another build of it (none is recorded)"


def _version(platform: PlatformRecord, name: str) -> str | None:
    if name == PYTORCH:
        device = platform.device
        number = cudnn = device.cudnn or ""
        if number.isdigit():  # 91900 is 9.19.0, and 8902 was 8.9.2
            major, rest = divmod(int(number), 10000 if len(number) > 4 else 1000)
            cudnn = ".".join(map(str, (major, *divmod(rest, 100))))
        cudnn = f" and cuDNN {cudnn}" if cudnn else ""
        return f"{device.torch} with CUDA {device.cuda_runtime}{cudnn}"
    installed = {
        _normal(package): version
        for directory in platform.device_paths or ()
        for package, version in directory.packages.items()
    }
    return installed.get(_normal(name))


def _normal(name: str) -> str:
    """Return a distribution's name in the one spelling that stands for all."""
    return re.sub(r"[-_.]+", "-", name).lower()


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


def compiler_words(claim: Claim, nvcc: str) -> str:
    """Return a sentence on the compiler's version where the claim states another CUDA."""
    stated = claim.software.get("cuda")
    if stated is None or _alike(nvcc, stated, CUDA_PARTS):
        return ""
    return f"nvcc {nvcc} compiled it; the source states CUDA {stated}."


CUDA_PARTS = 2
"""Of a version of CUDA that tell one release from another."""


def _alike(one: str, other: str, parts: int | None) -> bool:
    return one.split(".")[:parts] == other.split(".")[:parts]


def versions_words(case: Case, target: str, claim: Claim) -> str:
    """Return sentences on versions other than a claim states: of the programs that a ratio is of,
    of CUDA and of the driver.
    """
    evaluation, platform = claim.evaluation, case.evidence.platforms.get(target)
    sides = (
        (evaluation.numerator, evaluation.denominator) if isinstance(evaluation, Derived) else ()
    )
    of = [case.catalog.claims[name].evaluation for name in sides]
    programs = dict.fromkeys(part.program for part in of if isinstance(part, Program))
    told = [program_version(case, target, claim, name) for name in programs]
    if platform is not None:
        ran = (
            ("CUDA", platform.device.cuda_runtime, CUDA_PARTS),
            ("driver", platform.device.driver, None),
        )
        others = [
            (name, version, stated)
            for name, version, parts in ran
            if (stated := claim.software.get(name.lower())) and not _alike(version, stated, parts)
        ]
        here = " and ".join(f"{name} {version}" for name, version, _ in others)
        there = " and ".join(f"{name} {stated}" for name, _, stated in others)
        told.append(f"It ran with {here}; the source states {there}." if others else "")
    return " ".join(dict.fromkeys(words for words in told if words))
