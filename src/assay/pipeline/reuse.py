"""Measurements recorded in an earlier, signed report, taken over where no GPU can be asked.

Only a report that a trusted key signed is used, and of it only what was measured by the definitions
that the configuration still holds. Its verdicts are made anew, and the new report's verification
looks at the gates of what was taken.
"""

import shutil
from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path, PurePosixPath
from typing import Any

from assay.base.errors import BadInput
from assay.base.io import read_record
from assay.base.progress import say
from assay.building.recipe import describe
from assay.building.toolchain import toolchain_lock_digest
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.evidence.entries import Purpose, TargetStage, with_beside
from assay.evidence.load import load_evidence
from assay.evidence.model import Evidence
from assay.evidence.stages import (
    OPERATORS,
    ORIGINALS,
    PROGRAMS,
    TARGET_STAGES,
    build_path,
    came_along,
    earlier_builds,
    inspections_path,
    of_purpose,
    origin_folder,
    original_path,
    platform_path,
    recorded_builds,
    timings_path,
)
from assay.pipeline.original_requests import usable_file_compiles
from assay.records.builds import BuildRecord
from assay.records.inspections import InspectionsRecord
from assay.records.kernels import Variant
from assay.records.manifest import ATTESTATION, MANIFEST, Manifest
from assay.records.plan import Provision, TargetPlan
from assay.shared.counting import agreeing, counted
from assay.shared.files import write_bytes
from assay.verification.provisions import told_origin
from assay.verification.report_archive import opened_report, report_name
from assay.verification.trust import may_measure
from assay.verification.verify import VerificationLog, require_intact


def find_recorded(
    root: Path,
    catalog: Catalog,
    targets: Iterable[str],
    reports: Sequence[Path],
    keys: Sequence[Path],
) -> dict[str, tuple[Provision, Path]]:
    """Return the first verified report that holds each target, with its directory or archive.

    Comparisons that are measured otherwise by now are not taken over, and a line says which. Raises
    CheckFailed where a report is not as a trusted key signed it.
    """
    wanted, found = set(targets), dict[str, tuple[Provision, Path]]()
    for report in reports:
        missing = wanted - found.keys()
        if not missing:
            break
        if not may_measure(report, missing):
            continue
        with opened_report(report) as folder:
            name = _relative(report, root)
            log = VerificationLog(called=(folder, report) if folder != report else None)
            provisions = _recorded_in(folder, name, root, catalog, missing, keys, log)
        found |= {target: (each, report.resolve()) for target, each in provisions.items()}
    return found


def _recorded_in(
    folder: Path,
    name: str,
    root: Path,
    catalog: Catalog,
    targets: Iterable[str],
    keys: Sequence[Path],
    log: VerificationLog,
) -> dict[str, Provision]:
    """What an opened report, which evidence is to call ``name``, holds of ``targets``.

    Raises BadInput for one that is not named as its run: the evidence would name another report.
    """
    held = [t for t in targets if (folder / "evidence" / platform_path(t)).is_file()]
    if not held:
        return {}
    require_intact(folder, keys, root, log)
    run = read_record(Manifest, folder / MANIFEST).run
    if report_name(PurePosixPath(name)) != run:
        raise BadInput(f"{name}: is the report of run '{run}', and named otherwise: rename it")
    evidence = load_evidence(folder / "evidence")
    then = load_catalog(folder / "evidence")
    programs = usable_programs(root, catalog, evidence)
    found = {}
    for target in held:
        platform = evidence.platforms[target]
        planned = next(plan for plan in evidence.plan.targets if plan.target == target)
        made = _builds_of(evidence, planned)
        builds = usable_builds(root, catalog, made)
        paths = usable_paths(catalog, then, evidence, target, programs) | builds
        paths |= _inspections(folder / "evidence", target)
        paths |= _timings(folder / "evidence", planned)
        compiled = usable_file_compiles(
            catalog, toolchain_lock_digest(root), folder / "evidence", target
        )
        paths |= compiled.keys()
        earlier = _earlier_sources(catalog, made, target, builds)
        commit = platform.commit or "an unknown commit"
        _tell_left_out(name, catalog, then, evidence, target)
        _tell_programs(name, evidence, target, programs)
        found[target] = Provision(
            target=target,
            kind="recorded",
            recorded_in=name,
            recorded_paths=tuple(sorted(paths)),
            earlier_sources=planned.provision.earlier_sources | dict.fromkeys(earlier, commit),
            earlier_builds=tuple(earlier.values()),
            recorded_originals=tuple(
                job for job in planned.originals if original_path(target, job.original) in paths
            ),
            recorded_compilations=tuple(compiled.values()),
            detail=told_origin(name, platform),
        )
    return found


def check_reports(catalog: Catalog, targets: Sequence[str], reports: Iterable[Path]) -> None:
    """Raise BadInput for a directory that is no report, or of which nothing would be taken.

    The first report that holds a target serves it. Of a report that comes too late for some of its
    targets, and serves others, a line says so.
    """
    serving: dict[str, Path] = {}
    for report in reports:
        with opened_report(report) as folder:
            if not (folder / MANIFEST).is_file():
                raise BadInput(f"--recorded {report}: is no report: it holds no {MANIFEST}")
            evidence = folder / "evidence"
            held = [t for t in catalog.targets if (evidence / platform_path(t)).is_file()]
        asked = [t for t in targets if t in held]
        if not asked:
            raise BadInput(
                f"--recorded {report}: holds no measurements of {' or '.join(targets)}, but of "
                f"{', '.join(held) or 'no target at all'}"
            )
        late = [t for t in asked if t in serving]
        why = " and ".join(f"{t} comes from {serving[t]}, named before it" for t in late)
        if late == asked:
            raise BadInput(f"--recorded {report}: nothing of it would be used: {why}")
        if late:
            say(f"--recorded {report}: is used in part: {why}")
        serving |= {t: report for t in asked if t not in late}


def require_figures(provision: Provision) -> None:
    """Raise BadInput where nothing that is taken over answers a claim."""
    target = provision.target
    folders = tuple(f"{stage.output(target)}/" for stage in of_purpose(Purpose.FIGURES))
    if not any(path.startswith(folders) for path in provision.recorded_paths):
        raise BadInput(
            f"--recorded {provision.recorded_in}: holds no figure of {target} that the "
            f"configuration still measures in the same way"
        )


def _relative(report: Path, root: Path) -> str:
    """Its path below the repository, else its name: evidence holds no machine's paths.

    Of an archive its own, which can be typed: the directory it was made of is not there.
    """
    resolved = report.resolve()
    if resolved.is_relative_to(root.resolve()):
        return resolved.relative_to(root.resolve()).as_posix()
    return resolved.name


def usable_paths(
    now: Catalog, then: Catalog, evidence: Evidence, target: str, programs: Set[str]
) -> set[str]:
    """Return ``target``'s evidence paths whose workloads, variants and protocol still hold.

    Of original programs only what the binaries of ``programs``, by SHA-256, printed; a path is one
    of a list of arguments already.
    """
    planned = next(plan for plan in evidence.plan.targets if plan.target == target)
    usable: set[str] = set()
    for stage in TARGET_STAGES:
        records = getattr(evidence, stage.collection)
        held = [
            path
            for key, path in stage.paths(planned).items()
            if key in records
            and _fits(now, then, stage, key)
            and (stage is not PROGRAMS or records[key].binary_sha256 in programs)
        ]
        usable.update(with_beside(stage, held))
    return usable


def _fits(now: Catalog, then: Catalog, stage: TargetStage[Any, Any], key: Any) -> bool:
    """Whether a record still means what the configuration says."""
    if stage.of_comparison:
        return _changed(now, then, key[1]) is None
    if stage is ORIGINALS:
        return _same_original(now, then, key[1])
    return stage is not OPERATORS or _same_operators(now, then)


def _builds_of(evidence: Evidence, plan: TargetPlan) -> dict[str, BuildRecord]:
    """Return, by evidence path, the records of what made the binaries of a target's figures.

    A report that took the figures over compiled none of them: those came along with them.
    """
    if plan.provision.kind != "recorded":
        return {build_path(each.id, each.arch): each for each in evidence.builds.values()}
    came, earlier = recorded_builds(plan), earlier_builds(plan)
    held = evidence.target_builds.get(plan.target, {})
    return {came[key]: each for key, each in held.items()} | {
        path: evidence.earlier_builds[plan.target, variant] for variant, path in earlier.items()
    }


def usable_builds(root: Path, now: Catalog, builds: Mapping[str, BuildRecord]) -> set[str]:
    """Return evidence paths of builds whose source, command and toolchain are this checkout's."""
    lock = toolchain_lock_digest(root)
    return {path for path, each in builds.items() if _compiles_alike(root, now, each, lock)}


def _inspections(evidence: Path, target: str) -> set[str]:
    """Return the path of a report's inspections where they looked into an optional package.

    Those that came along with the target's figures count before the report's own.
    """
    for path in (f"{origin_folder(target)}/{inspections_path()}", inspections_path()):
        file = evidence / path
        found = read_record(InspectionsRecord, file).device_code if file.is_file() else ()
        if any(each.status == "inspected" for each in found):
            return {path}
    return set()


def _timings(evidence: Path, plan: TargetPlan) -> set[str]:
    """Return the path of the timings of the run that measured a target, where they were kept.

    A report that took the figures over has those of the run that did only where they came along.
    """
    came = f"{origin_folder(plan.target)}/{timings_path()}"
    path = came if plan.provision.kind == "recorded" else timings_path()
    return {path} if (evidence / path).is_file() else set()


def _earlier_sources(
    now: Catalog, builds: Mapping[str, BuildRecord], target: str, usable: Set[str]
) -> dict[str, str]:
    """Return variants measured with other sources than this checkout's, and their builds' paths.

    Their device code may be the same all the same: judging compares what both records say of it.
    """
    arch = now.targets[target].arch
    return {
        record.id: path
        for path, record in builds.items()
        if record.kind == "variant" and record.arch == arch and path not in usable
    }


def usable_programs(root: Path, now: Catalog, evidence: Evidence) -> set[str]:
    """Return the SHA-256 of the evidence's original programs that this checkout compiles alike.

    That is from the same source with the same flags. Both a build of the evidence's own run and one
    that it took over may have made the binary that ran.
    """
    lock = toolchain_lock_digest(root)
    taken_over = (recorded.record for recorded in evidence.recorded_builds.values())
    return {
        record.artifact.sha256
        for record in (*evidence.builds.values(), *taken_over)
        if record.kind == "program" and record.artifact and _compiles_alike(root, now, record, lock)
    }


def _compiles_alike(root: Path, now: Catalog, record: BuildRecord, lock: str) -> bool:
    try:
        return describe(root, now, record.kind, record.id, record.arch, lock).key == record.key
    except BadInput:  # it is no more
        return False


def _changed(now: Catalog, then: Catalog, name: str) -> str | None:
    """What is no longer as it was when the comparison was measured, or None."""
    if name not in now.comparisons:
        return "it exists no more"
    comparison = now.comparisons[name]
    if comparison != then.comparisons[name]:
        return "other arms"
    if now.protocols[comparison.protocol] != then.protocols[comparison.protocol]:
        return "another protocol"
    arms = comparison.arms
    if any(now.workloads[arm.workload] != then.workloads[arm.workload] for arm in arms):
        return "other workloads"
    pairs = [(now.variants[arm.variant], then.variants[arm.variant]) for arm in arms]
    if not all(_same_variant(*pair) for pair in pairs):
        return "other variants"
    return None


def _same_variant(now: Variant, then: Variant) -> bool:
    """Whether two descriptions are of one configuration of one kernel.

    What is said of it may have changed (its title, whose code it is, the package that holds it),
    and the architectures it is built for besides; a source that has become another may ask for
    more: a verdict names the commit whose source was measured.
    """
    words: dict[str, object] = {
        "title": "",
        "built_from": "",
        "artifact": "original",
        "package": None,
        "defines": {},
        "archs": (),
    }
    kept = then.defines.items() <= now.defines.items()
    return kept and now.model_copy(update=words) == then.model_copy(update=words)


def _tell_left_out(
    report: str, now: Catalog, then: Catalog, evidence: Evidence, target: str
) -> None:
    measured = [c for t, c in evidence.benchmarks if t == target]
    left: dict[str, list[str]] = {}
    for comparison in measured:
        if (change := _changed(now, then, comparison)) is not None:
            left.setdefault(change, []).append(comparison)
    if left:
        count = sum(map(len, left.values()))
        why = "; ".join(f"{change}: {', '.join(names)}" for change, names in left.items())
        say(
            f"{report}: {count} of its {counted(len(measured), 'comparison')} on {target} "
            f"{agreeing(count, 'is', 'are')} not taken over, "
            f"for the configuration measures them otherwise by now ({why})"
        )


def _tell_programs(report: str, evidence: Evidence, target: str, usable: Set[str]) -> None:
    run = [record for (on, _), record in evidence.programs.items() if on == target]
    left = [record.program for record in run if record.binary_sha256 not in usable]
    if left:
        say(
            f"{report}: {len(left)} of its {counted(len(run), 'program run')} on {target} "
            f"{agreeing(len(left), 'is', 'are')} not taken over: this checkout compiles "
            f"{', '.join(dict.fromkeys(left))} otherwise"
        )


def _same_original(now: Catalog, then: Catalog, name: str) -> bool:
    """Whether a source's own program is described as it was, but for where its figures stand.

    What it printed is in the record, and is read again.
    """
    described = [
        {each.id: each for file in catalog.sources.values() for each in file.own_programs}
        for catalog in (now, then)
    ]
    if not all(name in known for known in described):
        return False
    ours, theirs = (known[name].model_copy(update={"figures": ()}) for known in described)
    return ours == theirs


def _same_operators(now: Catalog, then: Catalog) -> bool:
    return now.operators == then.operators and all(
        now.variants[entry.variant] == then.variants[entry.variant] for entry in now.operators
    )


def take(report: Path, path: str, run_dir: Path, into: str | None = None) -> None:
    """Copy one evidence file of a report into a run directory, whole or not at all.

    To the same path, or to ``into``.
    """
    source = report / "evidence" / path
    try:
        data = source.read_bytes()
    except OSError as error:
        raise BadInput(f"{source}: cannot be taken over: {error.strerror}") from error
    write_bytes(run_dir / (into or path), data)


def take_origin(report: Path, plan: TargetPlan, run_dir: Path) -> None:
    """Copy what vouches for a target's records: the report's manifest and attestation, and the
    build records of what was measured."""
    origin = run_dir / origin_folder(plan.target)
    shutil.rmtree(origin, ignore_errors=True)
    origin.mkdir(parents=True)
    for name in (MANIFEST, ATTESTATION):
        shutil.copyfile(report / name, origin / name)
    for path, source in came_along(plan).items():
        take(report, source, run_dir, into=path)
