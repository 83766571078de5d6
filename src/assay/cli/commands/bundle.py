"""``./assay bundle``: pack what runs on a node without any network."""

import os
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from assay.base.commits import git_state
from assay.base.errors import BadInput
from assay.base.io import read_record
from assay.base.progress import say as progress
from assay.catalog.load import load_catalog
from assay.cli import checkout
from assay.cli.bundle_archive import bundle_files, pack
from assay.cli.console import say
from assay.cli.options import CoresOption
from assay.cli.wheelhouse import fetch
from assay.evidence.stages import toolchain_image_path
from assay.images.obtain import folder_of
from assay.images.wheels import PYTHON as IMAGE_PYTHON
from assay.pipeline.plan import make_plan
from assay.pipeline.request import Options, make_request
from assay.pipeline.run_files import bound_run
from assay.pipeline.snakemake_run import run_workflow
from assay.pipeline.workflow_process import only_run
from assay.records.images import ImageRecord, RuntimeWish
from assay.records.plan import Request
from assay.verification.sign import default_signing_key

LOCKS = ("build", "host", "toolchain")
"""Locks whose wheels the node needs: the last compiles a project's CUDA arms there."""


def bundle(
    target: Annotated[str, typer.Option(help="Target from config/targets.")],
    output: Annotated[
        Path | None, typer.Option(help="The archive.", show_default="assay-TARGET.tar")
    ] = None,
    runtime: Annotated[
        RuntimeWish | None, typer.Option(help="Where to compile; host leaves out the images.")
    ] = None,
    python: Annotated[
        list[str] | None,
        typer.Option(help="Python version of the node, as 3.12; repeatable.", show_default="this"),
    ] = None,
    source: Annotated[
        list[str] | None, typer.Option(help="Source id, to pack only its kernels; repeatable.")
    ] = None,
    cores: CoresOption = None,
) -> None:
    """Pack an archive that runs reproduce on a node without network."""
    defaults = checkout.default_run()
    place = output or Path(f"assay-{target}.tar")
    for version in python or ():
        if not re.fullmatch(r"3\.\d\d?", version) or int(version[2:]) < 11:
            raise BadInput(f"--python {version}: name a release from 3.11 on, as 3.12")
    if place.is_dir():
        raise BadInput(f"{place}: is a directory; name the archive's file")
    if place.suffix != ".tar":
        raise BadInput(f"--output {place}: name a file that ends in .tar: nothing is compressed")
    sources, wish = tuple(source or defaults.sources), runtime or defaults.runtime
    root = checkout.ROOT
    catalog = load_catalog(root)
    catalog.check_selection(sources, [target])
    options = Options(
        run=f"bundle_{target}",
        sources=sources,
        targets=(target,),
        runtime=wish,
        executor="local",
        device_python="python3",
        prebuilt=None,
        recorded=(),
        keys=(),
        signing_key=default_signing_key(),
        host_image=False,
        rebuild=True,
        signs=False,
    )
    request = make_request(root, catalog, options)
    plan = make_plan(catalog, request)
    with only_run(root, request.run), bound_run(root, catalog, request, plan, scratch=False):
        run_workflow(root, request, cores=cores or os.cpu_count() or 1, goal="portable")
    _pack(request, target, python or (), place)
    say(f"bundle: {place} ({place.stat().st_size / 1e6:.0f} MB)")
    say("on the node: tar xf it, then run.sh in the folder that comes out")


def _pack(request: Request, target: str, pythons: Sequence[str], output: Path) -> None:
    """Fetch the wheels, and pack all."""
    root, run_dir = checkout.ROOT, checkout.ROOT / "results" / request.run
    versions = [*(pythons or (f"{sys.version_info.major}.{sys.version_info.minor}",))]
    image, image_id = None, ""
    if request.runtime != "host":
        record = read_record(ImageRecord, run_dir / toolchain_image_path(target))
        image, image_id = folder_of(root, record), record.image_id
        versions.append(IMAGE_PYTHON)
    wheels = run_dir / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    for version in dict.fromkeys(versions):
        progress(f"fetching the wheels of the host environment and of nvcc for Python {version}")
        for lock in LOCKS:
            fetch(root / "requirements" / f"{lock}.txt", version, wheels)
    commit, clean = git_state(root)
    progress(f"packing {output}")
    environment = (
        f"BUNDLE_TARGET='{target}'\n"
        f"BUNDLE_COMMIT='{commit if commit and clean else ''}'\n"
        f"BUNDLE_PYTHONS='{' '.join(dict.fromkeys(versions))}'\n"
        f"BUNDLE_IMAGE='{image_id}'\n"
    )
    pack(f"assay-{target}", bundle_files(root, target, wheels, run_dir, image), environment, output)
