"""Earlier reports that a trusted key signed, taken over whole where no GPU can be asked.

The plan calls for what was measured by definitions that the configuration still holds. Verdicts are
made anew, and the new report's verification looks at the gates of what was taken.
"""

import shutil
import tempfile
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from assay.base.errors import BadInput, CheckFailed
from assay.base.io import read_bytes, read_record
from assay.base.printable import first_named
from assay.base.progress import say
from assay.building.recipe import describe
from assay.building.toolchain import toolchain_lock_digest
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.evidence import stages
from assay.evidence.load import own_records
from assay.pipeline.original_requests import usable_file_compiles
from assay.records.attestation import MANIFEST, Manifest
from assay.records.builds import BuildRecord
from assay.records.kernels import Variant
from assay.records.originals import OriginalSource
from assay.records.plan import EarlierReport, Plan, Provision, TargetPlan
from assay.records.workloads import Protocol
from assay.shared.files import sha256_bytes
from assay.verification.report_archive import opened_report, report_name
from assay.verification.signed_files import check_nested
from assay.verification.trust import may_measure
from assay.verification.trusted_keys import load_trusted_keys
from assay.verification.verify import VerificationLog, require_intact


@dataclass(frozen=True)
class Taken:
    """What one target takes of an earlier report."""

    held: TargetPlan
    """What there is that still means what the configuration says."""
    report: EarlierReport
    """What is nested for it."""


def find_recorded(
    root: Path,
    catalog: Catalog,
    targets: Iterable[str],
    reports: Iterable[Path],
    keys: Sequence[Path],
) -> dict[str, Taken]:
    """Return what each target takes of the first verified report that holds it; says what is
    measured otherwise by now. Raises CheckFailed where a report is not as a trusted key signed it.
    """
    wanted, found = list(targets), dict[str, Taken]()
    for report in reports:
        missing = [target for target in wanted if target not in found]
        if not missing:
            break
        if may_measure(report, missing):
            with opened_report(report) as folder:
                found |= _recorded_in(folder, report, root, catalog, missing, keys)
    return found


def _recorded_in(
    folder: Path,
    report: Path,
    root: Path,
    catalog: Catalog,
    targets: Collection[str],
    keys: Sequence[Path],
) -> dict[str, Taken]:
    """Return what an opened report, which lies at ``report``, holds of ``targets``. Raises BadInput
    for one that is not named as its run: the evidence would name another report.
    """
    manifest, place = _intact(folder, report, root, keys), report.resolve()
    # Evidence holds no machine's paths: of a report elsewhere its name, which can be typed.
    inside = place.is_relative_to(root.resolve())
    name = place.relative_to(root.resolve()).as_posix() if inside else place.name
    if report_name(PurePosixPath(name)) != manifest.run:
        raise BadInput(
            f"{name}: is the report of run '{manifest.run}', and named otherwise: rename it"
        )
    plans = {target: plan for target, plan in held_plans(folder).items() if target in targets}
    # What only took others' figures over is no evidence of them: what it took is nested, not it.
    whole = any(each.provision.within is None for each in plans.values())
    found = {}
    for target, planned in plans.items():
        within = planned.provision.within
        nested = ""
        if not whole and within is not None:
            nested = f"evidence/{stages.earlier_path(stages.nested_name(within))}"
        taken = read_record(Manifest, folder / nested / MANIFEST).run
        there = within
        if not nested:
            there = "/".join(filter(None, (stages.earlier_path(taken), "evidence", within)))
        held = _held(root, catalog, folder / "evidence" / (within or ""), target, name)
        provision = held.provision.model_copy(update={"within": there})
        found[target] = Taken(
            held.model_copy(update={"provision": provision}),
            EarlierReport(
                name=taken,
                path=str(report.resolve()),
                folder=nested,
                manifest_sha256=sha256_bytes(read_bytes(folder / nested / MANIFEST)),
            ),
        )
    return found


def _intact(folder: Path, report: Path, root: Path, keys: Sequence[Path]) -> Manifest:
    """Return the manifest of a report that is as a trusted key signed it, and all in it."""
    if not (folder / MANIFEST).is_file():
        raise BadInput(f"{report}: is not a report: it has no {MANIFEST}")
    log = VerificationLog(called=(folder, report))
    require_intact(folder, keys, root, log)
    manifest = read_record(Manifest, folder / MANIFEST)
    with log.check("origins") as says:
        check_nested(folder, manifest, load_trusted_keys(keys), says)
    log.raise_if_failed(folder)
    return manifest


def held_plans(report: Path) -> dict[str, TargetPlan]:
    """Return the plan of each target that an opened report has measurements of."""
    evidence = report / "evidence"
    if not (evidence / stages.plan_path()).is_file():
        return {}
    plans = read_record(Plan, evidence / stages.plan_path()).targets
    return {
        each.target: each
        for each in plans
        if all((evidence / path).is_file() for path in stages.PLATFORMS.paths(each).values())
    }


def _held(root: Path, now: Catalog, evidence: Path, target: str, name: str) -> TargetPlan:
    """Return what the evidence of a measuring run holds of its target that still means what the
    configuration says. ``name``: of the report that it is taken from.
    """
    then, lock = load_catalog(evidence), toolchain_lock_digest(root)
    plans = read_record(Plan, evidence / stages.plan_path()).targets
    planned = next(each for each in plans if each.target == target)
    earlier = planned.provision.earlier_sources
    own = own_records(evidence, target)
    builds = [read_record(BuildRecord, path) for path in sorted((own / "builds").glob("*/*.json"))]
    builds.sort(key=lambda each: each.arch == now.targets[target].arch)  # which decides, being last
    _require_builds(evidence, planned, builds, name)
    alike = dict[str, bool]()
    for each in builds:
        try:
            today = describe(root, now, each.kind, each.id, each.arch, lock).key
        except BadInput:  # it is no more
            today = None
        alike[each.id] = today == each.key
    same = {each.artifact.sha256 for each in builds if each.artifact and alike[each.id]}

    def fits(stage: stages.AnyStage, key: tuple[str, ...]) -> bool:
        path = evidence / stage.path(*key)
        if not path.is_file():
            return False
        if stage is stages.PROGRAMS:
            return read_record(stages.PROGRAMS.record, path).binary_sha256 in same
        if stage.of_comparison:
            return _measured_alike(now, then, key[1])
        if stage is stages.ORIGINALS:
            return _same_original(now, then, key[1])
        return True

    held: dict[str, Any] = {}
    for stage in (
        each for each in stages.TARGET_STAGES if each.field is not None and each.keys(planned)
    ):
        wanted = getattr(planned, stage.field or "")
        if stage.each is None:
            held[stage.field or ""] = wanted if fits(stage, (target,)) else type(wanted)()
        else:
            of = [(entry, (target, *stage.each(entry))) for entry in wanted]
            held[stage.field or ""] = tuple(entry for entry, key in of if fits(stage, key))
    left = {c for c in planned.comparisons if not _measured_alike(now, then, c)}
    left |= {job.program for job in planned.programs if job not in held["programs"]}
    if left:
        others = first_named(sorted(left))
        say(f"{name}: these have changed since and are not taken over on {target}: {others}")
    platform = read_record(stages.PLATFORMS.record, evidence / stages.platform_path(target))
    commit, gpu = platform.commit or "an unknown commit", platform.device.gpu
    before = {k: v for k, v in earlier.items() if k not in alike}
    held["provision"] = Provision(
        target=target,
        kind="recorded",
        recorded_in=name,
        earlier_sources=before | {each: commit for each, whether in alike.items() if not whether},
        detail=f"figures come from {name}, measured on {gpu.product} ({gpu.uuid}) at "
        f"{platform.recorded_at}",
    )
    held["compilations"] = usable_file_compiles(now, lock, own)
    return planned.model_copy(update=held)


def _require_builds(
    evidence: Path, planned: TargetPlan, builds: Sequence[BuildRecord], name: str
) -> None:
    """Raise BadInput where the evidence lacks a record of what made a binary that it measured."""
    made = {each.artifact.sha256 for each in builds if each.artifact}
    gates = stages.CORRECTNESS
    records = [
        read_record(gates.record, path)
        for comparison in planned.comparisons
        if (path := evidence / gates.path(planned.target, comparison)).is_file()
    ]
    arms = [arm for record in records for arm in record.arms if arm.binary_sha256]
    if unmade := {arm.variant for arm in arms if arm.binary_sha256 not in made}:
        what = first_named(sorted(unmade))
        raise BadInput(
            f"{name}: has no record of how its binaries on {planned.target} were made ({what}), so "
            f"it can't be judged again"
        )


def require_figures(held: TargetPlan) -> None:
    """Raise BadInput where nothing that is taken over answers a claim."""
    if not (held.comparisons or held.programs or held.originals):
        raise BadInput(
            f"--recorded {held.provision.recorded_in}: holds no figure of {held.target} that the "
            f"configuration still measures in the same way"
        )


def _measured_alike(now: Catalog, then: Catalog, name: str) -> bool:
    """Whether a comparison is still what was measured."""
    if not (name in now.comparisons and name in then.comparisons):
        return False
    asked, had = (each.protocols.get(now.comparisons[name].protocol) for each in (now, then))
    if asked and had and _samples_more(had, asked):
        had = had.model_copy(update={field: getattr(asked, field) for field in MORE})

    def described(catalog: Catalog) -> tuple[object, ...]:
        comparison = catalog.comparisons[name]
        return comparison, [catalog.workloads[arm.workload] for arm in comparison.arms]

    variants = [arm.variant for arm in now.comparisons[name].arms]
    return (asked, described(now)) == (had, described(then)) and all(
        _same_variant(now.variants[each], then.variants[each]) for each in variants
    )


MORE = ("processes", "blocks", "samples")
"""Numbers of a protocol; what was measured by more does for fewer."""


def _samples_more(had: Protocol, asked: Protocol) -> bool:
    """Whether enough samples were taken; a fixed number of processes does for looks."""
    enough = had.blocks >= asked.blocks and had.samples >= asked.samples
    return enough and (had.looks == asked.looks or len(had.looks) == 1 < len(asked.looks))


def _same_variant(now: Variant, then: Variant) -> bool:
    """Whether two descriptions are of one configuration of one kernel, whatever is said of it: its
    title, whose code it is, its package, more architectures, or settings that a new source added.
    """
    words = ("title", "built_from", "artifact", "package", "defines", "archs")
    kept = then.defines.items() <= now.defines.items()
    return kept and now.model_copy(update={word: getattr(then, word) for word in words}) == then


def _same_original(now: Catalog, then: Catalog, name: str) -> bool:
    """Whether a program is described as it was; its recorded output is read again."""

    def described(catalog: Catalog) -> OriginalSource | None:
        every = (each for file in catalog.sources.values() for each in file.own_programs)
        found = (each.model_copy(update={"figures": ()}) for each in every if each.id == name)
        return next(found, None)

    return described(now) is not None and described(now) == described(then)


def take_whole(report: EarlierReport, into: Path) -> None:
    """Copy a report whole or not at all. Raises CheckFailed where it was changed meanwhile."""
    into.parent.mkdir(parents=True, exist_ok=True)
    with (
        opened_report(Path(report.path)) as opened,
        tempfile.TemporaryDirectory(dir=into.parent, prefix=".copy.") as folder,
    ):
        copy = Path(folder, report.name)
        shutil.copytree(opened / report.folder, copy, symlinks=True, copy_function=shutil.copyfile)
        if sha256_bytes(read_bytes(copy / MANIFEST)) != report.manifest_sha256:
            raise CheckFailed(f"{report.path}: was changed since this run was asked for")
        shutil.rmtree(into, ignore_errors=True)
        copy.rename(into)
