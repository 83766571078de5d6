"""How a report's binaries were made, as SLSA provenance: derived from the records of their builds.

An in-toto Statement v1 with SLSA provenance v1 (https://slsa.dev/provenance/v1), whose field names
these are; docs/predicate.md says what is ours in it. Nothing is stated that the evidence does not
hold, so whoever verifies derives the same bytes again. What was taken over from another report was
built for that one, whose own provenance tells of it.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from assay.base.check_log import CheckLog
from assay.base.commits import COMMIT
from assay.base.errors import CheckFailed
from assay.base.io import read_bytes, read_record
from assay.base.pip_locks import TOOLCHAIN_LOCK, lock_digest, lock_hashes, normal
from assay.evidence.load import load_evidence
from assay.evidence.model import Evidence
from assay.evidence.stages import pipeline_path, runner_image_path, toolchain_image_path
from assay.records.attestation import PROVENANCE, STATEMENT_TYPE, PipelineRecord
from assay.records.builds import BuildRecord, ToolchainRecord
from assay.records.images import ImageRecord
from assay.records.timings import Stage
from assay.shared.counting import agreeing, counted
from assay.shared.files import sha256_bytes
from assay.shared.read_limits import MOST_DOCUMENT, MOST_ENVELOPE
from assay.verification.envelope import check_signatures, parse_envelope
from assay.verification.manifest import plain_bytes
from assay.verification.trusted_keys import TrustedKey

T = TypeVar("T")

BUILD_TYPE = "urn:assay:build:1"
"""What docs/predicate.md describes; what is derived otherwise is another one."""
BUILDING = (Stage.BUILD, Stage.TOOLCHAIN_IMAGE, Stage.RUNNER_IMAGE)
IMAGE_ID = {"digestOf": "image id"}
"""An image's digest is that of its configuration, by which engines name it; not of a registry's
manifest, which it has none of."""
FROM_BEFORE = (
    "how the binaries were built: the statement names no provenance, as those of older versions do "
    "not; their build records say it"
)
NO_LOCK = "which compilers the builds' toolchain lock pins: it is not there, as in older reports"


def check_provenance(
    log: CheckLog,
    report_dir: Path,
    stated: str | None,
    evidence: Evidence,
    keys: Sequence[TrustedKey],
) -> None:
    """Derive the provenance again, byte for byte; ``stated``: its digest in the statement."""
    with log.check("provenance") as says:
        says.leave(_check_lock(report_dir / "evidence" / TOOLCHAIN_LOCK, evidence))
        expected = provenance_payload(report_dir / "evidence", evidence)
        if stated is None:
            says("nothing was built" if expected is None else "")
            says.leave([] if expected is None else [FROM_BEFORE])
            return
        envelope = parse_envelope(plain_bytes(report_dir, PROVENANCE, MOST_ENVELOPE))
        check_signatures(envelope, keys)
        if sha256_bytes(envelope.payload) != stated:
            problem = f"{PROVENANCE} is not the one that the statement names"
            raise CheckFailed(problem, code="provenance-statement")
        if expected is None or envelope.payload != expected:
            problem = f"{PROVENANCE} does not say what the build records say"
            raise CheckFailed(problem, code="provenance-records")
        count = len(json.loads(expected)["subject"])
        built = counted(count, "binary or image", "binaries and images")
        says(
            f"{built} {agreeing(count, 'has', 'have')} signed SLSA provenance, derived again from "
            "the build records, byte for byte the same"
        )


def _check_lock(lock: Path, evidence: Evidence) -> list[str]:
    """Return what is left unproven of the lock that compilers came by.

    Raises CheckFailed where builds name another one than lies there.
    """
    named = {build.toolchain.lock_sha256 for build in evidence.builds.values()}
    if not lock.is_file():
        return [NO_LOCK] if named else []
    held = sha256_bytes(read_bytes(lock, MOST_DOCUMENT))
    if other := sorted(named - {held}):
        problem = (
            f"builds are by the toolchain lock {other[0][:12]}, and {lock.name} is {held[:12]}"
        )
        raise CheckFailed(problem, code="toolchain-lock")
    return []


def provenance_payload(evidence_dir: Path, evidence: Evidence | None = None) -> bytes | None:
    """Return the statement of an evidence directory: JSON with sorted keys, without white space.

    None where the run built nothing. Raises BadInput for records that cannot be read.
    """
    known = load_evidence(evidence_dir) if evidence is None else evidence
    statement = _statement(evidence_dir, known)
    if statement is None:
        return None
    return json.dumps(
        _without_none(statement), sort_keys=True, separators=(",", ":"), ensure_ascii=False
    ).encode()


def _without_none(value: Any) -> Any:
    """Leave out the members that are None, which both specifications take for unset."""
    if isinstance(value, dict):
        return {key: _without_none(each) for key, each in value.items() if each is not None}
    return [_without_none(each) for each in value] if isinstance(value, list | tuple) else value


def _statement(evidence_dir: Path, evidence: Evidence) -> dict[str, Any] | None:
    builds = [build for _, build in sorted(evidence.builds.items()) if build.artifact]
    images = _images(evidence)
    records = [record for _, record in images]
    subjects = [*_binaries(builds), *_image_subjects(records)]
    if not subjects:
        return None
    toolchains = _distinct(build.toolchain for build in builds)
    dependencies = [
        *_repository(evidence_dir),
        *_sources(builds),
        *_compilers(evidence_dir / TOOLCHAIN_LOCK, toolchains),
        *_parts_of_images(records),
    ]
    byproducts = [
        {
            "name": f"evidence/{path.removesuffix('.json')}.cdx.json",
            "digest": {"sha256": record.sbom_sha256},
        }
        for path, record in images
        if record.sbom_sha256
    ]
    external = {
        "run": evidence.plan.run,
        "targets": [plan.target for plan in evidence.plan.targets],
        "builds": [_binary_parameters(build) for build in builds],
        "images": [_image_parameters(record) for record in records],
    }
    # Each way of building is a builder of its own, being trusted for more.
    runtimes = {each.runtime for each in toolchains} | {each.runtime for each in records}
    builder = f"urn:assay:builder:{'+'.join(sorted(runtimes))}:1"
    return {
        "_type": STATEMENT_TYPE,
        "subject": subjects,
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": external,
                "internalParameters": {"toolchains": [_toolchain(each) for each in toolchains]},
                "resolvedDependencies": _distinct(dependencies),
            },
            "runDetails": {
                "builder": {"id": builder},
                "metadata": _metadata(evidence),
                "byproducts": byproducts,
            },
        },
    }


def _images(evidence: Evidence) -> list[tuple[str, ImageRecord]]:
    """Return the images of this run by their records' paths; not those that were taken over."""
    here = [plan.target for plan in evidence.plan.targets if plan.provision.kind == "device"]
    found = {toolchain_image_path(name): each for name, each in evidence.toolchain_images.items()}
    found |= {runner_image_path(name): evidence.runner_images[name]
              for name in here if name in evidence.runner_images}  # fmt: skip
    return sorted(found.items())


def _binaries(builds: Iterable[BuildRecord]) -> Iterator[dict[str, Any]]:
    for build in builds:
        if build.artifact:
            yield {"name": build.artifact.path, "digest": {"sha256": build.artifact.sha256}}


def _image_subjects(images: Iterable[ImageRecord]) -> Iterator[dict[str, Any]]:
    """Yield each image once, and the SIF files that Apptainer ran, which are of one image each."""
    for record in {each.image_id: each for each in images}.values():
        digest = _image_digest(record.image_id)
        yield {"name": record.tag, "digest": digest, "annotations": IMAGE_ID}
        if record.sif_sha256:
            yield {"name": f"{record.tag}.sif", "digest": {"sha256": record.sif_sha256}}


def _image_digest(image_id: str) -> dict[str, str]:
    return {"sha256": image_id.removeprefix("sha256:")}


def _binary_parameters(build: BuildRecord) -> dict[str, Any]:
    """Return what was asked of the compiler for one binary."""
    return {
        "id": build.id,
        "kind": build.kind,
        "arch": build.arch,
        "command": build.command,
        "subject": build.artifact.path if build.artifact else None,
        "builtElsewhere": build.built_elsewhere,
    }


def _image_parameters(record: ImageRecord) -> dict[str, Any]:
    """Return what one image was made by."""
    return {
        "target": record.target,
        "role": record.role,
        "runtime": record.runtime,
        "definition": record.definition,
        "base": record.base.model_dump(mode="json", by_alias=True),
        "subject": record.tag,
    }


def _toolchain(toolchain: ToolchainRecord) -> dict[str, Any]:
    return {
        "nvcc": toolchain.nvcc,
        "hostCompiler": toolchain.host_compiler,
        "runtime": toolchain.runtime,
        "imageId": toolchain.image_id,
        "lockSha256": toolchain.lock_sha256,
    }


def _repository(evidence_dir: Path) -> Iterator[dict[str, Any]]:
    """Yield the commit of the checkout; nothing where no git told, or something else than one."""
    pipeline = read_record(PipelineRecord, evidence_dir / pipeline_path())
    if pipeline.commit is not None and COMMIT.fullmatch(pipeline.commit):
        yield {
            "name": "repository",
            "digest": {"gitCommit": pipeline.commit},
            "annotations": {"cleanTree": pipeline.clean_tree is True},
        }


def _sources(builds: Iterable[BuildRecord]) -> Iterator[dict[str, Any]]:
    """Yield every file of ours that was compiled; a package's files come with its wheel."""
    files = {(each.path, each.sha256) for build in builds for each in build.sources}
    for path, digest in sorted(files):
        yield {"name": path, "digest": {"sha256": digest}}


def _compilers(lock: Path, toolchains: Iterable[ToolchainRecord]) -> Iterator[dict[str, Any]]:
    """Yield the locks that compilers came by; then their image, or the wheels that the lock pins.

    What is in an image is listed with it.
    """
    for toolchain in toolchains:
        yield {"name": TOOLCHAIN_LOCK, "digest": {"sha256": toolchain.lock_sha256}}
        if toolchain.image_id:
            digest = _image_digest(toolchain.image_id)
            yield {"name": "compiler image", "digest": digest, "annotations": IMAGE_ID}
        else:
            held = lock.is_file() and lock_digest(lock) == toolchain.lock_sha256
            yield from _locked_wheels(toolchain.wheels, lock_hashes(lock) if held else {})


def _locked_wheels(
    wheels: Mapping[str, str], hashes: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """Yield distributions by version, and by the digests that a lock accepts of them.

    It may accept several files of one version, one a platform: which it was is in no record.
    """
    for name, version in sorted(wheels.items()):
        wheel: dict[str, Any] = {"uri": f"pkg:pypi/{normal(name)}@{version}"}
        accepted = sorted(each for each, of in hashes.items() if of == normal(name))
        if len(accepted) == 1:
            wheel["digest"] = {"sha256": accepted[0]}
        elif accepted:
            wheel["annotations"] = {"oneOfSha256": accepted}
        yield wheel


def _parts_of_images(images: Iterable[ImageRecord]) -> Iterator[dict[str, Any]]:
    """Yield bases and wheels; Debian's packages are in the bills of materials."""
    for record in images:
        if record.base.sha256:
            yield {"name": record.base.reference, "digest": {"sha256": record.base.sha256}}
        for package in record.python_packages:
            if package.sha256:
                uri = f"pkg:pypi/{normal(package.name)}@{package.version}"
                digest = {"sha256": package.sha256}
                yield {"name": package.file, "uri": uri, "digest": digest}


def _metadata(evidence: Evidence) -> dict[str, str | None]:
    """Return when the first step that built began, and the last one ended."""
    steps = evidence.timings.steps if evidence.timings else ()
    times = [
        (began, began + timedelta(seconds=step.seconds))
        for step in steps
        if step.stage in BUILDING
        for began in [datetime.fromisoformat(step.started)]
    ]
    return {
        "invocationId": evidence.plan.run,
        "startedOn": _utc(min(began for began, _ in times)) if times else None,
        "finishedOn": _utc(max(ended for _, ended in times)) if times else None,
    }


def _utc(moment: datetime) -> str:
    text = moment.astimezone(UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def _distinct(records: Iterable[T]) -> list[T]:
    """Return equal records once, in the order in which they came."""
    kept: list[T] = []
    for record in records:
        if record not in kept:
            kept.append(record)
    return kept
