"""The second half of ``verify --rebuild``: compilers here, and what they make of the sources."""

from collections.abc import Callable
from pathlib import Path

from assay.base.check_log import CheckLog
from assay.building.toolchain import ensure_toolchain
from assay.building.toolchain_check import require_sound_toolchain
from assay.cli import checkout
from assay.pipeline.compiler_place import compiler_place
from assay.records.images import RuntimeWish
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
