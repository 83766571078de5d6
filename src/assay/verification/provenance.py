"""How a report's binaries were made, as SLSA provenance: derived from the records of their builds.

Nothing is stated that the evidence does not hold, so whoever verifies derives the same bytes again.
What was taken over from another report was built for that one, whose own provenance tells of it.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from assay.base.commits import COMMIT
from assay.base.errors import BadInput
from assay.base.io import read_record
from assay.base.pip_locks import TOOLCHAIN_LOCK, lock_digest, lock_hashes, normal
from assay.evidence.load import load_evidence
from assay.evidence.model import Evidence
from assay.evidence.stages import (
    pipeline_path,
    runner_image_path,
    sbom_path,
    toolchain_image_path,
)
from assay.records.attestation import STATEMENT_TYPE, PipelineRecord
from assay.records.base import Record
from assay.records.builds import BuildRecord, ToolchainRecord
from assay.records.images import ImageRecord
from assay.records.provenance import (
    BUILD_TYPE,
    SLSA_PROVENANCE,
    BinaryParameters,
    BuildDefinition,
    Builder,
    BuildMetadata,
    BuiltSubject,
    ExternalParameters,
    ImageParameters,
    InternalParameters,
    ProvenancePredicate,
    ProvenanceStatement,
    ResourceDescriptor,
    RunDetails,
    UsedToolchain,
)
from assay.records.timings import Stage

R = TypeVar("R", bound=Record)

BUILDING = (Stage.BUILD, Stage.TOOLCHAIN_IMAGE, Stage.RUNNER_IMAGE)
COMPILERS = "compiler image"
IMAGE_ID = {"digestOf": "image id"}
"""An image's digest is that of its configuration, by which engines name it; not of a registry's
manifest, which it has none of."""


def provenance_payload(evidence_dir: Path, evidence: Evidence | None = None) -> bytes | None:
    """Return the statement of an evidence directory: JSON with sorted keys, without white space.

    None where the run built nothing. Raises BadInput for records that cannot be read.
    """
    known = load_evidence(evidence_dir) if evidence is None else evidence
    try:
        statement = _statement(evidence_dir, known)
    except (ValidationError, OverflowError) as error:
        problem = "the build records hold what no provenance can state"
        raise BadInput(problem, code="provenance-records") from error
    if statement is None:
        return None
    data = statement.model_dump(mode="json", by_alias=True, exclude_none=True)
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _statement(evidence_dir: Path, evidence: Evidence) -> ProvenanceStatement | None:
    builds = [build for _, build in sorted(evidence.builds.items()) if build.artifact]
    images = _images(evidence)
    subjects = [*_binaries(builds), *_image_subjects(record for _, record in images)]
    if not subjects:
        return None
    toolchains = _distinct(build.toolchain for build in builds)
    dependencies = [
        *_repository(evidence_dir),
        *_sources(builds),
        *_compilers(evidence_dir / TOOLCHAIN_LOCK, toolchains),
        *_parts_of_images(record for _, record in images),
    ]
    return ProvenanceStatement(
        _type=STATEMENT_TYPE,
        subject=tuple(subjects),
        predicateType=SLSA_PROVENANCE,
        predicate=ProvenancePredicate(
            buildDefinition=BuildDefinition(
                buildType=BUILD_TYPE,
                externalParameters=ExternalParameters(
                    run=evidence.plan.run,
                    targets=tuple(plan.target for plan in evidence.plan.targets),
                    builds=tuple(_parameters(build) for build in builds),
                    images=tuple(_image_parameters(record) for _, record in images),
                ),
                internalParameters=InternalParameters(
                    toolchains=tuple(_told(each) for each in toolchains)
                ),
                resolvedDependencies=_distinct(dependencies),
            ),
            runDetails=RunDetails(
                builder=Builder(id=f"urn:assay:builder:{_runtimes(builds, images)}:1"),
                metadata=_metadata(evidence),
                byproducts=tuple(
                    ResourceDescriptor(
                        name=f"evidence/{sbom_path(path)}", digest={"sha256": record.sbom_sha256}
                    )
                    for path, record in images
                ),
            ),
        ),
    )


def _images(evidence: Evidence) -> list[tuple[str, ImageRecord]]:
    """Return the images of this run by their records' paths; not those that were taken over."""
    here = [plan.target for plan in evidence.plan.targets if plan.provision.kind == "device"]
    found = {toolchain_image_path(name): each for name, each in evidence.toolchain_images.items()}
    found |= {runner_image_path(name): evidence.runner_images[name]
              for name in here if name in evidence.runner_images}  # fmt: skip
    return sorted(found.items())


def _binaries(builds: Iterable[BuildRecord]) -> Iterator[BuiltSubject]:
    for build in builds:
        if build.artifact:
            yield BuiltSubject(name=build.artifact.path, digest={"sha256": build.artifact.sha256})


def _image_subjects(images: Iterable[ImageRecord]) -> Iterator[BuiltSubject]:
    """Yield each image once, and the SIF files that Apptainer ran, which are of one image each."""
    for record in {each.image_id: each for each in images}.values():
        digest = {"sha256": record.image_id.removeprefix("sha256:")}
        yield BuiltSubject(name=record.tag, digest=digest, annotations=IMAGE_ID)
        if record.sif_sha256:
            yield BuiltSubject(name=f"{record.tag}.sif", digest={"sha256": record.sif_sha256})


def _parameters(build: BuildRecord) -> BinaryParameters:
    assert build.artifact is not None
    return BinaryParameters(
        id=build.id,
        kind=build.kind,
        arch=build.arch,
        command=build.command,
        subject=build.artifact.path,
        builtElsewhere=build.built_elsewhere,
    )


def _image_parameters(record: ImageRecord) -> ImageParameters:
    return ImageParameters(
        target=record.target,
        role=record.role,
        runtime=record.runtime,
        definition=record.definition,
        base=record.base,
        subject=record.tag,
    )


def _told(toolchain: ToolchainRecord) -> UsedToolchain:
    return UsedToolchain(
        nvcc=toolchain.nvcc,
        hostCompiler=toolchain.host_compiler,
        runtime=toolchain.runtime,
        imageId=toolchain.image_id,
        lockSha256=toolchain.lock_sha256,
    )


def _repository(evidence_dir: Path) -> Iterator[ResourceDescriptor]:
    """Yield the commit of the checkout; nothing where no git told, or something else than one."""
    pipeline = read_record(PipelineRecord, evidence_dir / pipeline_path())
    if pipeline.commit is not None and COMMIT.fullmatch(pipeline.commit):
        yield ResourceDescriptor(
            name="repository",
            digest={"gitCommit": pipeline.commit},
            annotations={"cleanTree": pipeline.clean_tree is True},
        )


def _sources(builds: Iterable[BuildRecord]) -> Iterator[ResourceDescriptor]:
    """Yield every file of ours that was compiled; a package's files come with its wheel."""
    files = {(each.path, each.sha256) for build in builds for each in build.sources}
    for path, digest in sorted(files):
        yield ResourceDescriptor(name=path, digest={"sha256": digest})


def _compilers(lock: Path, toolchains: Iterable[ToolchainRecord]) -> Iterator[ResourceDescriptor]:
    """Yield the locks that compilers came by; then their image, or the wheels that the lock pins.

    What is in an image is listed with it.
    """
    for toolchain in toolchains:
        yield ResourceDescriptor(name=TOOLCHAIN_LOCK, digest={"sha256": toolchain.lock_sha256})
        if toolchain.image_id:
            digest = {"sha256": toolchain.image_id.removeprefix("sha256:")}
            yield ResourceDescriptor(name=COMPILERS, digest=digest, annotations=dict(IMAGE_ID))
        else:
            held = lock.is_file() and lock_digest(lock) == toolchain.lock_sha256
            yield from _locked_wheels(toolchain.wheels, lock_hashes(lock) if held else {})


def _locked_wheels(
    wheels: Mapping[str, str], hashes: Mapping[str, str]
) -> Iterator[ResourceDescriptor]:
    """Yield distributions by version, and by the digests that a lock accepts of them.

    It may accept several files of one version, one a platform: which it was is in no record.
    """
    for name, version in sorted(wheels.items()):
        uri = f"pkg:pypi/{normal(name)}@{version}"
        accepted = tuple(sorted(each for each, of in hashes.items() if of == normal(name)))
        if len(accepted) == 1:
            yield ResourceDescriptor(uri=uri, digest={"sha256": accepted[0]})
        elif accepted:
            yield ResourceDescriptor(uri=uri, annotations={"oneOfSha256": accepted})
        else:
            yield ResourceDescriptor(uri=uri)


def _parts_of_images(images: Iterable[ImageRecord]) -> Iterator[ResourceDescriptor]:
    """Yield bases and wheels; Debian's packages are in the bills of materials."""
    for record in images:
        if record.base.sha256:
            digest = {"sha256": record.base.sha256}
            yield ResourceDescriptor(name=record.base.reference, digest=digest)
        for package in record.python_packages:
            if package.sha256:
                uri = f"pkg:pypi/{normal(package.name)}@{package.version}"
                digest = {"sha256": package.sha256}
                yield ResourceDescriptor(name=package.file, uri=uri, digest=digest)


def _runtimes(builds: Iterable[BuildRecord], images: Iterable[tuple[str, ImageRecord]]) -> str:
    """Say where things were built: each way is a builder of its own, being trusted for more."""
    names = {build.toolchain.runtime for build in builds}
    return "+".join(sorted(names | {record.runtime for _, record in images}))


def _metadata(evidence: Evidence) -> BuildMetadata:
    """Return when the first step that built began, and the last one ended."""
    steps = evidence.timings.steps if evidence.timings else ()
    times = [
        (began, began + timedelta(seconds=step.seconds))
        for step in steps
        if step.stage in BUILDING
        for began in [datetime.fromisoformat(step.started)]
    ]
    return BuildMetadata(
        invocationId=evidence.plan.run,
        startedOn=_utc(min(began for began, _ in times)) if times else None,
        finishedOn=_utc(max(ended for _, ended in times)) if times else None,
    )


def _utc(moment: datetime) -> str:
    text = moment.astimezone(UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def _distinct(records: Iterable[R]) -> tuple[R, ...]:
    """Return equal records once, in the order in which they came."""
    kept: list[R] = []
    for record in records:
        if record not in kept:
            kept.append(record)
    return tuple(kept)
