"""``./assay bundle``: pack what runs on a node without any network."""

import os
import re
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

import typer
from packaging.markers import Marker, default_environment

from assay.base.commits import git_state, require_tracked, source_files
from assay.base.errors import BadInput, MissingEnvironment
from assay.base.io import read_record
from assay.base.progress import say as progress
from assay.building.toolchain import DATE
from assay.catalog.load import load_catalog
from assay.cli import checkout
from assay.cli.console import say
from assay.cli.options import CoresOption
from assay.evidence.stages import toolchain_image_path
from assay.images.obtain import folder_of
from assay.images.wheels import PYTHON as IMAGE_PYTHON
from assay.images.wheels import download
from assay.pipeline.plan import make_plan
from assay.pipeline.request import Options, make_request
from assay.pipeline.snakemake_run import run_workflow
from assay.records.images import ImageRecord, RuntimeWish
from assay.records.plan import BuildJob
from assay.shared.files import sha256_file, whole_file
from assay.verification.sign import default_signing_key

LOCKS = ("build", "host", "toolchain")
"""Locks whose wheels the node needs: the last compiles a project's CUDA arms there."""


def bundle(
    target: Annotated[str, typer.Option(help="Target from config/targets.")],
    out: Annotated[
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
    place = out or Path(f"assay-{target}.tar")
    for version in python or ():
        if not re.fullmatch(r"3\.\d\d?", version) or int(version[2:]) < 11:
            raise BadInput(f"--python {version}: name a release from 3.11 on, as 3.12")
    if place.suffix != ".tar":
        raise BadInput(f"--out {place}: name a file that ends in .tar: nothing is compressed")
    require_tracked(checkout.ROOT, [target])
    sources, root = tuple(source or defaults.sources), checkout.ROOT
    catalog = load_catalog(root)
    catalog.check_selection(sources, [target])
    options = Options(
        run=f"bundle_{target}",
        sources=sources,
        targets=(target,),
        runtime=runtime or defaults.runtime,
        signing_key=default_signing_key(),
        rebuild=True,
        signs=False,
    )
    request = make_request(root, catalog, options)
    plan = make_plan(catalog, request)
    run_workflow(root, catalog, request, plan, cores=cores or os.cpu_count() or 1, goal="portable")
    run_dir = root / "results" / request.run
    versions = list(python or [f"{sys.version_info.major}.{sys.version_info.minor}"])
    image, image_id = None, ""
    if request.runtime != "host":
        record = read_record(ImageRecord, run_dir / toolchain_image_path(target))
        image, image_id = folder_of(root, record), record.image_id
        versions.append(IMAGE_PYTHON)
    versions = list(dict.fromkeys(versions))
    wheels = run_dir / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    for version in versions:
        progress(f"fetching the wheels of the host environment and of nvcc for Python {version}")
        for lock in LOCKS:
            fetch(root / "requirements" / f"{lock}.txt", version, wheels)
    commit, clean = git_state(root)
    progress(f"packing {place}")
    environment = (
        f"BUNDLE_TARGET='{target}'\n"
        f"BUNDLE_COMMIT='{commit if commit and clean else ''}'\n"
        f"BUNDLE_PYTHONS='{' '.join(versions)}'\n"
        f"BUNDLE_IMAGE='{image_id}'\n"
        f"BUNDLE_SOURCES='{' '.join(f'--source {each}' for each in source or ())}'\n"
    )
    files = bundle_files(root, target, wheels, run_dir, image, plan.builds)
    pack(f"assay-{target}", files, environment, place)
    say(f"bundle: {place} ({place.stat().st_size / 1e6:.0f} MB)")
    say("on the node: tar xf it, then run.sh in the folder that comes out")


GLIBC_MINOR = 34
"""glibc 2.34, of the Linuxes of the last years: the newest that a node may be asked for."""
_ENTRY = re.compile(
    r"^(?P<pin>\S+==[^ ;\\\n]+)(?: ; (?P<marker>[^\\\n]+?))?(?P<rest> *\\\n(?:.*\\\n)*.*\n)",
    re.MULTILINE,
)


def fetch(lock: Path, python: str, folder: Path) -> None:
    """Put all that ``lock`` pins for ``python`` ("3.12") into ``folder``. What is published as
    source alone is built where it is installed, with the tools of requirements/build.txt.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="assay-lock-") as scratch:
        chosen = Path(scratch) / lock.name
        chosen.write_text("".join(entries_for(lock.read_text(), python)))
        download(chosen, folder, python, GLIBC_MINOR, os.environ)


def entries_for(lock: str, python: str) -> Iterator[str]:
    """Yield the entries of a lock that apply to ``python`` on Linux, without their markers."""
    environment = {name: str(value) for name, value in default_environment().items()}
    environment |= {"python_version": python, "python_full_version": f"{python}.0"}
    for entry in _ENTRY.finditer(lock):
        marker = entry["marker"]
        if marker is None or Marker(marker.strip()).evaluate(environment):
            yield f"{entry['pin']}{entry['rest']}"


def pack(top: str, files: Iterable[tuple[str, Path]], environment: str, output: Path) -> None:
    """Write a bundle whole or not at all, of equal contents the same. Raises MissingEnvironment."""
    try:
        with (
            whole_file(output) as raw,
            tarfile.open(fileobj=raw, mode="w|", dereference=True) as tar,
            tempfile.TemporaryDirectory(prefix="assay-bundle-") as scratch,
        ):
            sums, written = Path(scratch, "SHA256SUMS"), Path(scratch, "bundle.env")
            written.write_text(environment)
            lines = []
            for name, path in (*files, (written.name, written)):
                lines.append(f"{sha256_file(path)}  {name}\n")
                tar.add(path, f"{top}/{name}", filter=_plain)
            sums.write_text("".join(lines))
            tar.add(sums, f"{top}/{sums.name}", filter=_plain)
    except OSError as error:
        raise MissingEnvironment(f"{output}: cannot be written: {error.strerror}") from error


def _plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Return an entry without what differs from machine to machine."""
    entry.mode = 0o755 if entry.mode & 0o100 else 0o644
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    entry.mtime = DATE
    return entry


def bundle_files(
    root: Path,
    target: str,
    wheels: Path,
    run_dir: Path,
    image: Path | None,
    builds: Iterable[BuildJob],
) -> Iterator[tuple[str, Path]]:
    """Yield name in the bundle and path of every file, the run script first. ``builds``: which to
    pack, for other bundles' may lie in ``run_dir``; ``image``: folder of the toolchain's image.
    """
    yield "run.sh", root / "tools" / "bundle_run.sh"
    for name in source_files(root):
        yield f"source/{name}", root / name
    yield from _below("wheels", wheels)
    yield "prebuilt/inspections.json", run_dir / "inspections.json"
    wanted = {(job.arch, job.id) for job in builds}
    for name, path in _below("prebuilt/builds", run_dir / "builds"):
        if (path.parent.name, path.stem) in wanted:
            yield name, path
    yield from _below("prebuilt/images", run_dir / "images")
    if image is not None:
        yield from _below(f"prebuilt/images/{target}/toolchain", image)


def _below(name: str, folder: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield f"{name}/{path.relative_to(folder).as_posix()}", path
