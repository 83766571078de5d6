"""Preconditions of a run on its machine, looked for before anything is planned or begun."""

import os
from pathlib import Path

from assay.base.errors import BadInput, MissingEnvironment
from assay.base.progress import say
from assay.base.writable import why_not_writable
from assay.catalog.model import Catalog
from assay.pipeline.run_files import REPORTS, RESULTS, require_own_places
from assay.records.images import RuntimeName, is_engine
from assay.report.replaceable import require_replaceable
from assay.runtimes.choose import starts_none
from assay.verification.sign import require_key_place


def tell_images(catalog: Catalog, runtime: RuntimeName) -> None:
    """Say which commands of a project are not run, since the runtime starts no image that is named
    by its digest.
    """
    for source in catalog.sources.values() if not is_engine(runtime) else ():
        for command in source.commands:
            if command.image is not None:
                why = starts_none(runtime, command.image)
                say(f"remark: command '{command.id}' is not run, nor its claims: {why}")


def require_places(root: Path, run: str, key: Path | None, *, writes: bool) -> None:
    """Raise MissingEnvironment where what a run writes finds no place; a dry run only says so.

    Raises BadInput where its place is a link, or holds what is no report. ``key``: the private key
    that is to sign the report; None where nothing is signed.
    """
    require_own_places(root, run)
    if writes:
        for folder in (RESULTS, REPORTS):
            if (root / folder).exists() and not (root / folder).is_dir():
                raise BadInput(f"{root / folder} is a file, and a run needs a folder: move it away")
            if (why := why_not_writable(root / folder / run)) is not None:
                raise MissingEnvironment(
                    f"a run writes below {root / folder}, and cannot ({why}): make {root} "
                    "writable, or run from a copy of it"
                )
        require_replaceable(root / REPORTS / run)
        _require_writable(root / REPORTS / run)
    if key is not None:
        try:
            require_key_place(key)
        except MissingEnvironment as error:
            if writes:
                raise
            say(str(error))


def _require_writable(report: Path) -> None:
    """Raise MissingEnvironment for a report of an earlier start that cannot be replaced."""
    found = (path for path in (report, *report.rglob("*")) if path.exists())
    protected = next((path for path in found if not os.access(path, os.W_OK)), None)
    if protected is not None:
        raise MissingEnvironment(
            f"{protected} is write-protected, and the run would make {report} again: make it "
            "writable, or name another run with --run"
        )
