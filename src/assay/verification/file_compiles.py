"""Whether records of files compiled as published are there, and of what the plan asks for. Pure."""

from collections.abc import Mapping

from assay.building.compiler_errors import first_errors
from assay.building.recipe import CHECKOUT, file_command, gencode
from assay.catalog.model import Catalog
from assay.catalog.published_files import published_file
from assay.evidence.model import Evidence
from assay.evidence.stages import file_compile_path, origin_folder
from assay.records.file_compiles import LONGEST_LINE, FileCompileJob, FileCompileRecord
from assay.verification.contradictions import Findings, names
from assay.verification.origin import Origin

_CHANGING = ("-D", "-U", "-include", "--include", "-imacros", "--pre-include", "-X", "@", "-optf")
"""Of nvcc's options, those that change what is read of a file, or hand on others."""
_OTHER_OUTPUT = ("-E", "-M", "-dryrun", "--dryrun", "-x")
_ARCHITECTURES = ("-gencode", "--generate-code", "-arch", "--gpu-architecture", "-code")


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
    _check_alike(evidence, findings)
    for key, job in jobs.items():
        record = evidence.file_compiles.get(key)
        path = evidence.file_compile_paths.get(key, file_compile_path(*key))
        if record is None:
            findings.refuse("record-missing", f"{path} is missing, though the plan calls for it")
        elif wrong := _wrong(catalog, job, record) or _of_itself(record):
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
    if not {gencode(record.arch), f"{CHECKOUT}/{record.file}"} <= set(record.command):
        return "holds a command that compiles another file, or for another architecture"
    return None


def _of_itself(record: FileCompileRecord) -> str | None:
    """Return how a record contradicts itself: its words are errors, where it was refused, and its
    command has nothing that changes what is compiled.
    """
    if not record.exit_code and (record.words or record.cut):
        return "holds errors of a compiler that found none"
    whole = [line for line in record.words if len(line) < LONGEST_LINE]
    if first_errors("\n".join(whole))[0] != tuple(whole):
        return "holds words that are no errors of a compiler"
    first, *words = record.command or ("",)
    others = [word for word in words if word.startswith(_CHANGING) or word in _OTHER_OUTPUT]
    archs = [word for word in words if word.startswith(_ARCHITECTURES)]
    if first != "nvcc" or words[-1:] != [f"{CHECKOUT}/{record.file}"]:
        return "holds a command that compiles another file, or nothing"
    if others or archs != [gencode(record.arch)]:
        return f"holds a command that changes what is compiled: {names([*others, *archs])}"
    return None


def _check_alike(evidence: Evidence, findings: Findings) -> None:
    """A file of one checkout has one content, and a run has one compiler."""
    files: dict[tuple[str, str], set[str]] = {}
    for record in evidence.file_compiles.values():
        digests = files.setdefault((record.checkout.sha256, record.file), set())
        digests.add(record.file_sha256)
    if any(len(digests) > 1 for digests in files.values()):
        findings.refuse("file-compile", "one file of one checkout has several digests")
    compiled = [evidence.file_compiles.get(job.key) for job in evidence.plan.compilations]
    built = [build for build in evidence.builds.values() if not build.built_elsewhere]
    own = [each.toolchain for each in compiled if each is not None]
    used = {(each.nvcc, each.lock_sha256) for each in own}
    others = {(each.toolchain.nvcc, each.toolchain.lock_sha256) for each in built}
    if own and len(used | others) > 1:
        findings.refuse("file-compile", "one run has compiled by several compilers")


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
