"""The image stage: the images of a run, built or found, and loaded where they will run."""

import shutil
from pathlib import Path

from assay.base.progress import say
from assay.building.toolchain import find_host_compiler
from assay.catalog.load import load_catalog
from assay.images.debian import NONE
from assay.images.definition import define
from assay.images.host_import import import_host
from assay.images.obtain import ARCHIVE, IMAGES, folder_of, image_folder, obtain
from assay.records.images import ImageRecord, Role, RuntimeName, RuntimeWish, is_engine
from assay.runtimes.apptainer import make_sif
from assay.runtimes.base import Place
from assay.runtimes.choose import choose
from assay.runtimes.engine import EngineRuntime
from assay.shared.files import sha256_file


def make_image(
    root: Path,
    runtime: RuntimeName,
    role: Role,
    target: str,
    *,
    prebuilt: Path | None = None,
    host_python: str | None = None,
) -> ImageRecord:
    """Return the record of an image that ``runtime`` can start now: of the bundle ``prebuilt``, or
    of this machine's own files, where ``host_python`` has PyTorch. Raises MissingEnvironment (no
    engine, mirror or space), CheckFailed (a file or a tag that is not what it was).
    """
    engine = EngineRuntime(runtime) if is_engine(runtime) else None
    if host_python is not None:
        assert engine is not None  # a request asks it of no other
        return import_host(root, target, engine, python=host_python)
    record = obtain(root, target, role, engine, runtime, prebuilt=prebuilt)
    if runtime != "apptainer":
        return record
    sif = sif_path(root, record)
    if sif.is_file():
        digest = sha256_file(sif)
    else:
        digest = make_sif(folder_of(root, record, prebuilt) / ARCHIVE, sif)
    return record.model_copy(update={"sif_sha256": digest})


def sif_path(root: Path, record: ImageRecord) -> Path:
    """Return where Apptainer's form of an image lies."""
    return image_folder(root, record.definition).with_suffix(".sif")


def objection(
    root: Path, prebuilt: Path | None, runtime: RuntimeName, *, host_image: bool
) -> str | None:
    """Return why ``auto`` does not take a runtime that works: its images cannot be had here."""
    if runtime == "host":
        return None
    if prebuilt is not None:
        carried = any(prebuilt.glob(f"{IMAGES}/*/runner/{ARCHIVE}"))
        return None if host_image or carried else f"{prebuilt} holds no images for it"
    made = (image_folder(root, define(root, "toolchain").digest) / ARCHIVE).is_file()
    return None if made or shutil.which("mmdebstrap") else NONE


def compiler_place(root: Path, wish: RuntimeWish) -> Place:
    """Return the host, or a loaded toolchain image (one serves all targets); says which, and why
    not others. Raises MissingEnvironment without the runtime, the image, or what nvcc needs.
    """
    target = next(iter(load_catalog(root).targets))
    runtime, lines = choose(
        wish,
        gpu=False,
        sif_of=lambda image: sif_path(root, image),
        objection=lambda name: objection(root, None, name, host_image=False),
    )
    for line in lines:
        say(line)
    if runtime.name == "host":
        find_host_compiler()
        return Place(runtime)
    return Place(runtime, make_image(root, runtime.name, "toolchain", target))
