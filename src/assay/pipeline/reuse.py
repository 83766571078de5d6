"""Earlier, signed reports that are taken over whole where no GPU can be asked.

Only a report that a trusted key signed is used. The plan calls for what it measured by definitions
that the configuration still holds; its verdicts are made anew, and the new report's verification
looks at the gates of what was taken.
"""

import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from assay.base.errors import BadInput, CheckFailed
from assay.base.io import read_bytes, read_record
from assay.base.progress import say
from assay.building.recipe import describe
from assay.building.toolchain import toolchain_lock_digest
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.evidence.entries import TargetStage
from assay.evidence.load import own_records
from assay.evidence.stages import (
    OPERATORS,
    ORIGINALS,
    PLATFORMS,
    PROGRAMS,
    TARGET_STAGES,
    earlier_path,
    nested_name,
    plan_path,
    platform_path,
)
from assay.pipeline.original_requests import usable_file_compiles
from assay.records.attestation import MANIFEST, Manifest
from assay.records.builds import BuildRecord
from assay.records.kernels import Variant
from assay.records.plan import EarlierReport, Plan, Provision, TargetPlan
from assay.shared.files import sha256_bytes
from assay.verification.contradictions import Findings
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
    """Return what each target takes of the first verified report that holds it.

    Comparisons that are measured otherwise by now are not taken over, and a line says which. Raises
    CheckFailed where a report is not as a trusted key signed it.
    """
    wanted, found = list(targets), dict[str, Taken]()
    reports = iter(reports)
    while missing := [target for target in wanted if target not in found]:
        report = next(reports, None)
        if report is None:
            break
        if may_measure(report, missing):
            with opened_report(report) as folder:
                log = VerificationLog(called=(folder, report) if folder != report else None)
                found |= _recorded_in(folder, report, root, catalog, missing, keys, log)
    return found


def _recorded_in(
    folder: Path,
    report: Path,
    root: Path,
    catalog: Catalog,
    targets: Collection[str],
    keys: Sequence[Path],
    log: VerificationLog,
) -> dict[str, Taken]:
    """Return what an opened report, which lies at ``report``, holds of ``targets``.

    Raises BadInput for one that is not named as its run: the evidence would name another report.
    """
    if not (folder / MANIFEST).is_file():
        raise BadInput(f"{report}: is no report: it holds no {MANIFEST}")
    require_intact(folder, keys, root, log)
    plans = {target: plan for target, plan in held_plans(folder).items() if target in targets}
    manifest, name = read_record(Manifest, folder / MANIFEST), _relative(report, root)
    if report_name(PurePosixPath(name)) != manifest.run:
        raise BadInput(
            f"{name}: is the report of run '{manifest.run}', and named otherwise: rename it"
        )
    findings = Findings()
    check_nested(folder, manifest, load_trusted_keys(keys), findings)
    findings.raise_if_any()
    # What only took others' figures over is no evidence of them: what it took is nested, not it.
    whole = any(each.provision.within is None for each in plans.values())
    found = {}
    for target, planned in plans.items():
        within = planned.provision.within
        inside = "" if whole or within is None else f"evidence/{earlier_path(nested_name(within))}"
        taken = read_record(Manifest, folder / inside / MANIFEST).run
        there = "/".join(filter(None, (earlier_path(taken), "evidence", within if whole else None)))
        held = _held(root, catalog, folder / "evidence" / (within or ""), target, name)
        provision = held.provision.model_copy(
            update={"within": there if whole or within is None else within}
        )
        found[target] = Taken(
            held.model_copy(update={"provision": provision}),
            EarlierReport(
                name=taken,
                path=str(report.resolve()),
                folder=inside,
                manifest_sha256=sha256_bytes(read_bytes(folder / inside / MANIFEST)),
            ),
        )
    return found


def held_plans(report: Path) -> dict[str, TargetPlan]:
    """Return the plan of each target that an opened report has measurements of."""
    evidence = report / "evidence"
    if not (evidence / plan_path()).is_file():
        return {}
    plans = read_record(Plan, evidence / plan_path()).targets
    return {
        each.target: each
        for each in plans
        if all((evidence / path).is_file() for path in PLATFORMS.paths(each).values())
    }


def _held(root: Path, now: Catalog, evidence: Path, target: str, name: str) -> TargetPlan:
    """Return what the evidence of the run that measured a target holds of it, as far as that still
    means what the configuration says. ``name``: of the report that it is taken from.
    """
    then, lock = load_catalog(evidence), toolchain_lock_digest(root)
    planned = next(
        each for each in read_record(Plan, evidence / plan_path()).targets if each.target == target
    )
    planned = planned.model_copy(
        update={"provision": planned.provision.model_copy(update={"within": None})}
    )
    paths = (own_records(evidence, target) / "builds").glob("*/*.json")
    builds = [read_record(BuildRecord, path) for path in sorted(paths)]
    builds.sort(key=lambda each: each.arch == now.targets[target].arch)  # which decides, being last
    alike = {each.id: _compiles_alike(root, now, each, lock) for each in builds}
    same = {each.artifact.sha256 for each in builds if each.artifact and alike[each.id]}

    def fits(stage: TargetStage[Any, Any], key: Any, path: str) -> bool:
        if not (evidence / path).is_file():
            return False
        if stage is PROGRAMS:
            return read_record(PROGRAMS.record, evidence / path).binary_sha256 in same
        if stage.of_comparison:
            return _changed(now, then, key[1]) is None
        if stage is ORIGINALS:
            return _same_original(now, then, key[1])
        return stage is not OPERATORS or _same_operators(now, then)

    held = _holding(planned, fits)
    platform = read_record(PLATFORMS.record, evidence / platform_path(target))
    commit, gpu = platform.commit or "an unknown commit", platform.device.gpu
    _tell_left_out(name, now, then, held, planned)
    before = {k: v for k, v in planned.provision.earlier_sources.items() if k not in alike}
    provision = Provision(
        target=target,
        kind="recorded",
        recorded_in=name,
        earlier_sources=before | {each: commit for each, whether in alike.items() if not whether},
        detail=f"figures come from {name}, measured on {gpu.product} ({gpu.uuid}) at "
        f"{platform.recorded_at}",
    )
    compiled = usable_file_compiles(now, lock, own_records(evidence, target))
    return held.model_copy(update={"provision": provision, "compilations": compiled})


def _holding(
    planned: TargetPlan, fits: Callable[[TargetStage[Any, Any], Any, str], bool]
) -> TargetPlan:
    """Return the plan of a target, calling for those of its records only that fit."""
    for stage in TARGET_STAGES:
        if stage.field is None:
            continue
        wanted = getattr(planned, stage.field)
        if stage.each is not None:
            paths = [((planned.target, *stage.each(e)), e) for e in wanted]
            kept: Any = tuple(e for key, e in paths if fits(stage, key, stage.path(*key)))
        else:
            path = stage.path(planned.target)
            kept = wanted if wanted and fits(stage, planned.target, path) else type(wanted)()
        planned = planned.model_copy(update={stage.field: kept})
    return planned


def require_figures(held: TargetPlan) -> None:
    """Raise BadInput where nothing that is taken over answers a claim."""
    if not (held.comparisons or held.programs or held.originals):
        raise BadInput(
            f"--recorded {held.provision.recorded_in}: holds no figure of {held.target} that the "
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
    report: str, now: Catalog, then: Catalog, held: TargetPlan, of: TargetPlan
) -> None:
    """Say what of a report's figures is not taken over, and why."""
    left: dict[str, list[str]] = {}
    for comparison in of.comparisons:
        if (change := _changed(now, then, comparison)) is not None:
            left.setdefault(change, []).append(comparison)
    if programs := dict.fromkeys(job.program for job in of.programs if job not in held.programs):
        left["compiled otherwise by this checkout"] = list(programs)
    for why, names in left.items():
        say(f"{report}: not taken over on {held.target} ({why}): {', '.join(names)}")


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


def take_whole(report: EarlierReport, into: Path) -> None:
    """Copy a report byte for byte, whole or not at all. Raises CheckFailed where it is not the one
    that was asked for any more.
    """
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
