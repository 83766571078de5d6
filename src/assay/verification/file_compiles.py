"""Whether records of files compiled as published are there, and of what the plan asks for. Pure."""

from collections.abc import Mapping

from assay.building.recipe import file_command
from assay.catalog.model import Catalog
from assay.catalog.published_files import published_file
from assay.evidence.model import Evidence
from assay.evidence.stages import file_compile_path, origin_folder
from assay.records.file_compiles import FileCompileJob, FileCompileRecord
from assay.verification.contradictions import Findings
from assay.verification.origin import Origin


def check_file_compiles(
    catalog: Catalog, evidence: Evidence, origins: Mapping[str, Origin], findings: Findings
) -> None:
    """Add the records that are missing, that are of something else than the plan says, or were not
    taken over.

    ``origins``: what the reports hold that figures were taken over from, by target.
    """
    plan = evidence.plan
    jobs = {job.key: job for job in plan.compilations}
    if len(jobs) < len(plan.compilations):
        findings.refuse("file-compile", "the plan calls for one compilation of a file twice")
    for target in plan.targets:
        for job in target.provision.recorded_compilations:
            jobs.setdefault(job.key, job)
    for key, job in jobs.items():
        record = evidence.file_compiles.get(key)
        path = evidence.file_compile_paths.get(key, file_compile_path(*key))
        if record is None:
            findings.refuse("record-missing", f"{path} is missing, though the plan calls for it")
        elif wrong := _wrong(catalog, job, record):
            findings.refuse("file-compile", f"{path}: {wrong}")
        else:
            if record.exit_code and not record.words:
                findings.leave(f"why {path} does not compile: the compiler's words are not there")
            if record.command != file_command(record.file, record.arch):
                findings.leave(f"that {path} was compiled as its commit compiles such files")
    for source in plan.sources:
        for published in catalog.sources[source].compilations if source in catalog.sources else ():
            for arch in published.archs:
                _check_taken_over((published.id, arch), jobs, origins, findings)


def _wrong(catalog: Catalog, job: FileCompileJob, record: FileCompileRecord) -> str | None:
    """Return what a record says otherwise than its job and the claim file do."""
    if (
        FileCompileJob(
            source=record.source,
            compilation=record.compilation,
            arch=record.arch,
            checkout=record.checkout,
        )
        != job
    ):
        return "is of another file, architecture or checkout than the plan's"
    published = published_file(catalog, job.source, job.compilation)
    if published is None or job.arch not in published.archs:
        return "is of a file that no claim file describes for that architecture"
    if record.file != published.file:
        return f"is of {record.file}, and the claim file names another"
    return None


def _check_taken_over(
    key: tuple[str, str],
    jobs: Mapping[tuple[str, str], FileCompileJob],
    origins: Mapping[str, Origin],
    findings: Findings,
) -> None:
    """What another report compiled is taken over, unless this checkout compiles it otherwise."""
    path = file_compile_path(*key)
    for target, origin in origins.items():
        held = {path, f"{origin_folder(target)}/{path}"} & origin.paths
        if held and key not in jobs:
            findings.leave(f"whether {path}, which was not taken over, was compiled otherwise")
