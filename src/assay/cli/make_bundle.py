"""Making a bundle: run the workflow as far as a machine without a GPU can, then pack it."""

import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from assay.base.commits import git_state
from assay.base.errors import BadInput
from assay.base.io import read_record, write_record
from assay.base.progress import say
from assay.catalog.load import load_catalog
from assay.cli.bundle_archive import BundleContents, pack
from assay.cli.wheelhouse import fetch
from assay.evidence.stages import runner_image_path, sbom_path, toolchain_image_path
from assay.images.obtain import folder_of
from assay.images.stage import make_image
from assay.images.wheels import PYTHON as IMAGE_PYTHON
from assay.pipeline.plan import make_plan
from assay.pipeline.request import (
    Options,
    make_request,
)
from assay.pipeline.run_files import bound_run
from assay.pipeline.snakemake_run import run_workflow
from assay.pipeline.workflow_process import only_run
from assay.records.images import ImageRecord
from assay.shared.files import write_bytes
from assay.verification.sign import default_signing_key

LOCKS = ("build", "host", "toolchain")
"""Locks whose wheels the node needs: the last compiles a project's CUDA arms there."""


@dataclass(frozen=True)
class BundlePlan:
    """The bundle that is wanted."""

    target: str
    output: Path
    runtime: str
    pythons: tuple[str, ...]
    """Versions of the node's Python; empty for that of this machine."""
    sources: tuple[str, ...]
    """Sources whose kernels are packed."""
    runner: bool
    cores: int


def make_bundle(root: Path, plan: BundlePlan) -> int:
    """Compile, fetch and pack; the archive's size in bytes.

    Raises BadInput (unknown target, a Python version that is none, a directory as output),
    MissingEnvironment.
    """
    catalog = load_catalog(root)
    catalog.check_selection(plan.sources, [plan.target])
    for version in plan.pythons:
        if not re.fullmatch(r"3\.\d\d?", version) or int(version[2:]) < 11:
            raise BadInput(f"--python {version}: name a release from 3.11 on, as 3.12")
    if plan.output.is_dir():
        raise BadInput(f"{plan.output}: is a directory; name the archive's file")
    options = Options(
        run=f"bundle_{plan.target}",
        sources=plan.sources,
        targets=(plan.target,),
        runtime=plan.runtime,
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
    if plan.runner and request.runtime == "host":
        raise BadInput("--runner needs a container runtime, and --runtime came to host")
    planned = make_plan(catalog, request)
    with only_run(root, request.run), bound_run(root, catalog, request, planned, scratch=False):
        run_workflow(root, request, cores=plan.cores, goal="portable")
    run_dir = root / "results" / request.run
    images: dict[str, Path] = {}
    image_id = None
    if request.runtime != "host":
        record = read_record(ImageRecord, run_dir / toolchain_image_path(plan.target))
        images["toolchain"], image_id = folder_of(root, record), record.image_id
    if plan.runner:
        described = catalog.targets[plan.target]
        record, sbom = make_image(root, request.runtime, "runner", described)
        write_record(record, run_dir / runner_image_path(plan.target))
        write_bytes(run_dir / sbom_path(runner_image_path(plan.target)), sbom)
        images["runner"] = folder_of(root, record)
    pythons = _pythons(plan, with_image=image_id is not None)
    wheels = run_dir / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    for version in pythons:
        say(f"fetching the wheels of the host environment and of nvcc for Python {version}")
        for lock in LOCKS:
            fetch(root / "requirements" / f"{lock}.txt", version, wheels)
    commit, clean = git_state(root)
    say(f"packing {plan.output}")
    contents = BundleContents(
        target=plan.target,
        commit=commit if clean else None,
        pythons=pythons,
        wheels=wheels,
        run_dir=run_dir,
        images=images,
        image_id=image_id,
    )
    pack(root, contents, plan.output)
    return plan.output.stat().st_size


def _pythons(plan: BundlePlan, *, with_image: bool) -> tuple[str, ...]:
    """Versions that wheels are packed for; the image's is one of them."""
    wanted = plan.pythons or (f"{sys.version_info.major}.{sys.version_info.minor}",)
    return tuple(dict.fromkeys((*wanted, *([IMAGE_PYTHON] if with_image else []))))
