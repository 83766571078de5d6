"""A folder of compiled kernels for PyTorch's operators: ``./assay kernels``."""

from pathlib import Path

from assay.base.errors import BadInput, CheckFailed
from assay.base.io import write_record
from assay.base.progress import say
from assay.building import build as building
from assay.catalog.load import load_catalog
from assay.measuring.operator_kernels import kernel_entries, offered
from assay.pipeline.compiler_place import compiler_place
from assay.records.builds import BuildRecord
from assay.records.operators import KernelSetRecord

INDEX = "kernels.json"
"""As assay.ops.kernel_set says; that module belongs to PyTorch's side."""


def make_kernel_set(root: Path, target: str, output: Path, runtime: str) -> KernelSetRecord:
    """Compile what PyTorch's operators call on ``target`` into ``output``; returns its index.

    A kernel that does not compile is left out, and named. Raises BadInput (unknown target, or no
    folder can be made), MissingEnvironment (no compiler), CheckFailed (nothing compiled).
    """
    catalog = load_catalog(root)
    catalog.check_selection((), [target])
    arch = catalog.targets[target].arch
    place = compiler_place(root, runtime)
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"{output}: no folder can be made there: {error.strerror}") from error
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
            cache_dir=root / "results" / "cache",
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
