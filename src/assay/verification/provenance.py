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
from assay.base.io import read_record
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
from assay.shared.read_limits import MOST_ENVELOPE
from assay.verification.envelope import check_signature, parse_envelope
from assay.verification.manifest import plain_bytes
from assay.verification.trusted_keys import TrustedKey

T = TypeVar("T")
Entry = dict[str, Any]
"""A resource descriptor, or another JSON object of the statement."""

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


def check_provenance(
    log: CheckLog,
    report_dir: Path,
    stated: str | None,
    evidence: Evidence,
    keys: Sequence[TrustedKey],
) -> None:
    """Derive the provenance again, byte for byte; ``stated``: its digest in the statement."""
    with log.check("provenance") as says:
        expected = provenance_payload(report_dir / "evidence", evidence)
        if stated is None:
            says("nothing was built" if expected is None else "")
            says.leave(*([] if expected is None else [FROM_BEFORE]))
            return
        envelope = parse_envelope(plain_bytes(report_dir, PROVENANCE, MOST_ENVELOPE))
        check_signature(envelope, keys)
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


def provenance_payload(evidence_dir: Path, evidence: Evidence | None = None) -> bytes | None:
    """Return the statement of an evidence directory: JSON with sorted keys, without white space.

    None where the run built nothing. Raises BadInput for records that cannot be read.
    """
    known = load_evidence(evidence_dir) if evidence is None else evidence
    statement = _statement(evidence_dir, known)
    if not statement["subject"]:
        return None
    return json.dumps(
        _without_none(statement), sort_keys=True, separators=(",", ":"), ensure_ascii=False
    ).encode()


def _without_none(value: Any) -> Any:
    """Leave out the members that are None, which both specifications take for unset."""
    if isinstance(value, dict):
        return {key: _without_none(each) for key, each in value.items() if each is not None}
    return [_without_none(each) for each in value] if isinstance(value, list | tuple) else value


def _statement(evidence_dir: Path, evidence: Evidence) -> Entry:
    builds = [build for _, build in sorted(evidence.builds.items()) if build.artifact]
    binaries = (_file(made.path, made.sha256) for build in builds if (made := build.artifact))
    images = _images(evidence)
    records = list(images.values())
    toolchains = _distinct(build.toolchain for build in builds)
    # Each way of building is a builder of its own, being trusted for more.
    runtimes = {each.runtime for each in toolchains} | {each.runtime for each in records}
    return {
        "_type": STATEMENT_TYPE,
        "subject": [*binaries, *_image_subjects(records)],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": BUILD_TYPE,
                "externalParameters": {
                    "run": evidence.plan.run,
                    "targets": [plan.target for plan in evidence.plan.targets],
                    "builds": [_build_parameters(build) for build in builds],
                    "images": [_image_parameters(record) for record in records],
                },
                "internalParameters": {"toolchains": [_toolchain(each) for each in toolchains]},
                "resolvedDependencies": _distinct(
                    [
                        *_repository(evidence_dir),
                        *_sources(builds),
                        *_compilers(evidence_dir / TOOLCHAIN_LOCK, toolchains),
                        *_parts_of_images(records),
                    ]
                ),
            },
            "runDetails": {
                "builder": {"id": f"urn:assay:builder:{'+'.join(sorted(runtimes))}:1"},
                "metadata": _metadata(evidence),
                "byproducts": [
                    _file(f"evidence/{path.removesuffix('.json')}.cdx.json", record.sbom_sha256)
                    for path, record in images.items()
                    if record.sbom_sha256
                ],
            },
        },
    }


def _file(name: str | None, sha256: str, **more: Any) -> Entry:
    """Return what names a file, or an image, by its digest."""
    return {"name": name, "digest": {"sha256": sha256.removeprefix("sha256:")}, **more}


def _images(evidence: Evidence) -> dict[str, ImageRecord]:
    """Return the images of this run by their records' paths; not those that were taken over."""
    here = [plan.target for plan in evidence.plan.targets if plan.provision.kind == "device"]
    found = {toolchain_image_path(name): each for name, each in evidence.toolchain_images.items()}
    runners = evidence.runner_images
    found |= {runner_image_path(name): runners[name] for name in here if name in runners}
    return dict(sorted(found.items()))


def _image_subjects(images: Iterable[ImageRecord]) -> Iterator[Entry]:
    """Yield each image once, and the SIF files that Apptainer ran, which are of one image each."""
    for record in {each.image_id: each for each in images}.values():
        yield _file(record.tag, record.image_id, annotations=IMAGE_ID)
        if record.sif_sha256:
            yield _file(f"{record.tag}.sif", record.sif_sha256)


def _build_parameters(build: BuildRecord) -> Entry:
    """Return what was asked of the compiler for one binary."""
    return {
        **{name: getattr(build, name) for name in ("id", "kind", "arch", "command")},
        "subject": build.artifact.path if build.artifact else None,
        "builtElsewhere": build.built_elsewhere,
    }


def _image_parameters(record: ImageRecord) -> Entry:
    """Return what one image was made by."""
    return {
        **{name: getattr(record, name) for name in ("target", "role", "runtime", "definition")},
        "base": record.base.model_dump(mode="json", by_alias=True),
        "subject": record.tag,
    }


def _toolchain(toolchain: ToolchainRecord) -> Entry:
    return {
        "nvcc": toolchain.nvcc,
        "hostCompiler": toolchain.host_compiler,
        "runtime": toolchain.runtime,
        "imageId": toolchain.image_id,
        "lockSha256": toolchain.lock_sha256,
    }


def _repository(evidence_dir: Path) -> Iterator[Entry]:
    """Yield the commit of the checkout; nothing where no git told, or something else than one."""
    pipeline = read_record(PipelineRecord, evidence_dir / pipeline_path())
    if pipeline.commit is not None and COMMIT.fullmatch(pipeline.commit):
        yield {
            "name": "repository",
            "digest": {"gitCommit": pipeline.commit},
            "annotations": {"cleanTree": pipeline.clean_tree is True},
        }


def _sources(builds: Iterable[BuildRecord]) -> Iterator[Entry]:
    """Yield every file of ours that was compiled; a package's files come with its wheel."""
    files = {(each.path, each.sha256) for build in builds for each in build.sources}
    for path, digest in sorted(files):
        yield _file(path, digest)


def _compilers(lock: Path, toolchains: Iterable[ToolchainRecord]) -> Iterator[Entry]:
    """Yield the locks that compilers came by; then their image, or the wheels that the lock pins.

    What is in an image is listed with it.
    """
    for toolchain in toolchains:
        yield _file(TOOLCHAIN_LOCK, toolchain.lock_sha256)
        if toolchain.image_id:
            yield _file("compiler image", toolchain.image_id, annotations=IMAGE_ID)
        else:
            held = lock.is_file() and lock_digest(lock) == toolchain.lock_sha256
            yield from _locked_wheels(toolchain.wheels, lock_hashes(lock) if held else {})


def _locked_wheels(wheels: Mapping[str, str], hashes: Mapping[str, str]) -> Iterator[Entry]:
    """Yield distributions by version, and by the digests that a lock accepts of them.

    It may accept several files of one version, one a platform: which it was is in no record.
    """
    for name, version in sorted(wheels.items()):
        wheel: Entry = {"uri": f"pkg:pypi/{normal(name)}@{version}"}
        accepted = sorted(each for each, of in hashes.items() if of == normal(name))
        if len(accepted) == 1:
            wheel["digest"] = {"sha256": accepted[0]}
        elif accepted:
            wheel["annotations"] = {"oneOfSha256": accepted}
        yield wheel


def _parts_of_images(images: Iterable[ImageRecord]) -> Iterator[Entry]:
    """Yield bases and wheels; Debian's packages are in the bills of materials."""
    for record in images:
        if record.base.sha256:
            yield _file(record.base.reference, record.base.sha256)
        for package in record.python_packages:
            if package.sha256:
                uri = f"pkg:pypi/{normal(package.name)}@{package.version}"
                yield _file(package.file, package.sha256, uri=uri)


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
