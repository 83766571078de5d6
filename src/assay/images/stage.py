"""The image stage: the images of a run, built or found, and loaded where they will run."""

import shutil
from collections.abc import Iterable
from pathlib import Path

from assay.base.errors import BadInput
from assay.base.progress import say
from assay.building.toolchain import find_host_compiler
from assay.catalog.load import load_catalog
from assay.images.definition import define
from assay.images.host_import import import_host
from assay.images.make import ARCHIVE
from assay.images.obtain import IMAGES, folder_of, image_folder, obtain
from assay.records.images import ImageRecord, Role, RuntimeName
from assay.records.platform import Target
from assay.runtimes.apptainer import make_sif
from assay.runtimes.base import Place
from assay.runtimes.choose import choose
from assay.runtimes.connection import connect
from assay.runtimes.host import HostRuntime
from assay.shared.files import sha256_file


def make_image(
    root: Path,
    runtime: RuntimeName,
    role: Role,
    target: Target,
    *,
    prebuilt: Path | None = None,
    host_python: str | None = None,
) -> ImageRecord:
    """Return the record of an image that ``runtime`` can start now.

    ``prebuilt`` is a bundle that may hold it. With ``host_python`` it is made of this machine's own
    files, and that is the Python there which has PyTorch.

    Raises MissingEnvironment (no engine, no mirror, no space), CheckFailed (a file or a tag that
    is not what it was), BadInput (an image of the host asked of a runtime that holds none).
    """
    client = None if runtime == "apptainer" else connect(runtime)
    if host_python is not None:
        if client is None:
            raise BadInput("--host-image needs docker or podman, which hold the image")
        record = import_host(root, target, client, runtime, python=host_python)
    else:
        record = obtain(root, target, role, client, runtime, prebuilt=prebuilt)
    if runtime == "apptainer":
        sif = sif_path(root, record)
        digest = (
            sha256_file(sif)
            if sif.is_file()
            else make_sif(folder_of(root, record, prebuilt) / ARCHIVE, sif)
        )
        record = record.model_copy(update={"sif_sha256": digest})
    return record


def sif_path(root: Path, record: ImageRecord) -> Path:
    """Return where Apptainer's form of an image lies."""
    return image_folder(root, record.definition).with_suffix(".sif")


def objection(
    root: Path,
    targets: Iterable[Target],
    prebuilt: Path | None,
    runtime: RuntimeName,
    *,
    host_image: bool,
) -> str | None:
    """Return why ``auto`` does not take a runtime that works: its images cannot be had here."""
    if runtime == "host":
        return None
    if prebuilt is not None:
        carried = any(prebuilt.glob(f"{IMAGES}/*/runner/{ARCHIVE}"))
        return None if host_image or carried else f"{prebuilt} holds no images for it"
    for target in targets:
        definition = define(root, target, "toolchain")
        if (image_folder(root, definition.digest) / ARCHIVE).is_file():
            continue
        if runtime == "apptainer":
            return "it runs images that Docker or Podman made, and none was made here"
        if shutil.which("mmdebstrap") is None:
            return "there is no mmdebstrap to make its base image with (apt-get install mmdebstrap)"
    return None


def compiler_place(root: Path, wish: str) -> Place:
    """The host, or a toolchain image that was made and loaded; says which, and why not the others.

    Every target's toolchain image holds the same compilers, so the first target's will do. Raises
    MissingEnvironment when the runtime asked for does not work, its image cannot be made, or the
    host lacks what nvcc needs.
    """
    target: Target = next(iter(load_catalog(root).targets.values()))
    chosen = choose(
        wish,
        gpu=False,
        sif_of=lambda image: sif_path(root, image),
        objection=lambda name: objection(root, [target], None, name, host_image=False),
    )
    for line in chosen.looked_at:
        say(line)
    if chosen.name == "host":
        find_host_compiler()
        return Place(HostRuntime())
    return Place(chosen.runtime, make_image(root, chosen.name, "toolchain", target))
