"""Where ``verify --rebuild`` compiles."""

from pathlib import Path

from assay.base.progress import say
from assay.building.toolchain import find_host_compiler
from assay.catalog.load import load_catalog
from assay.images.stage import make_image, objection, sif_path
from assay.records.platform import Target
from assay.runtimes.base import Place
from assay.runtimes.choose import choose
from assay.runtimes.host import HostRuntime


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
    image = make_image(root, chosen.name, "toolchain", target)
    return Place(chosen.runtime, image)
