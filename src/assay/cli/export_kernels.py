"""A folder of compiled kernels for PyTorch's operators: ``./assay lab kernels``."""

from pathlib import Path

from assay.base.cache_place import cache_folder
from assay.base.errors import CheckFailed, MissingEnvironment
from assay.base.io import write_record
from assay.base.progress import say
from assay.base.writable import why_not_writable
from assay.building import build as building
from assay.catalog.load import load_catalog
from assay.cli.compiler_place import compiler_place
from assay.measuring.operator_kernels import kernel_entries, offered
from assay.records.builds import BuildRecord
from assay.records.operators import KernelSetRecord

INDEX = "kernels.json"
"""As assay.ops.kernel_set says; that module belongs to PyTorch's side."""


def make_kernel_set(root: Path, target: str, output: Path, runtime: str) -> KernelSetRecord:
    """Compile what PyTorch's operators call on ``target`` into ``output``; returns its index.

    A kernel that does not compile is left out, and named. Raises BadInput (unknown target),
    MissingEnvironment (no compiler, or nothing can be written), CheckFailed (nothing compiled, or
    the compiler is not what its wheel holds).
    """
    catalog = load_catalog(root)
    catalog.check_selection((), [target])
    arch = catalog.targets[target].arch
    if (why := why_not_writable(output / INDEX)) is not None:
        raise MissingEnvironment(
            f"no kernels can be written to {output} ({why}): name another folder with --output"
        )
    place = compiler_place(root, runtime)
    cache = cache_folder(root)
    if why_not_writable(cache / "builds" / target) is not None:
        cache = output / "cache"
    builds: dict[str, tuple[BuildRecord, Path]] = {}
    for named in offered(catalog, target):
        say(f"compiling {named.variant} for {arch}")
        record = building.build(
            root,
            catalog,
            "variant",
            named.variant,
            arch,
            out_dir=output,
            cache_dir=cache,
            place=place,
        )
        if record.artifact is None:
            say(f"{named.variant} did not compile and is left out: {record.diagnostics}")
        else:
            builds[named.variant] = (record, output / record.artifact.path)
    index = KernelSetRecord(
        schema="assay/kernel_set/1",
        target=target,
        kernels=kernel_entries(catalog, target, builds),
        choices=catalog.tuning.of(target),
    )
    if not index.kernels:
        raise CheckFailed(f"none of PyTorch's operators has a kernel for {target} ({arch})")
    write_record(index, output / INDEX)
    return index
