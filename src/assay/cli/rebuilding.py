"""The second half of ``verify --rebuild``: compilers here, and what they make of the sources."""

from collections.abc import Callable
from pathlib import Path

from assay.base.check_log import CheckLog
from assay.base.progress import say
from assay.building.toolchain import ensure_toolchain, find_host_compiler
from assay.building.toolchain_check import require_sound_toolchain
from assay.catalog.load import load_catalog
from assay.cli import checkout
from assay.images.stage import make_image, objection, sif_path
from assay.records.images import RuntimeWish
from assay.records.targets import Target
from assay.runtimes.base import Place
from assay.runtimes.choose import choose
from assay.runtimes.host import HostRuntime
from assay.verification.rebuild import check_selection, rebuild
from assay.verification.rebuild_check import conclude


def rebuilding(
    folder: Path, runtime: RuntimeWish | None, only: tuple[str, ...]
) -> Callable[[CheckLog], None]:
    """Return what compiles the builds of the report in ``folder``, as checks of a log.

    Whether ``only`` names builds and where compilers run is settled now, before anything takes
    time: raises BadInput, or MissingEnvironment where there is none.
    """
    if only:
        check_selection(folder, only)
    place = compiler_place(checkout.ROOT, runtime or checkout.default_run().runtime)

    def compare(log: CheckLog) -> None:
        if place.image is None:
            require_sound_toolchain(checkout.ROOT)
        toolchain = ensure_toolchain(checkout.ROOT, place)
        conclude(log, folder, rebuild(folder, checkout.ROOT, toolchain, only=only))

    return compare


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
    for line in chosen.told():
        say(line)
    if chosen.name == "host":
        find_host_compiler()
        return Place(HostRuntime())
    image, _ = make_image(root, chosen.name, "toolchain", target)
    return Place(chosen.runtime, image)
