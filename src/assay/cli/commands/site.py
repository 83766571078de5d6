"""``./assay site``: a static site over any number of signed reports."""

import os
import shutil
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from assay.base.errors import BadInput
from assay.base.progress import say as progress
from assay.base.writable import require_folder_place
from assay.cli import checkout
from assay.cli.console import say
from assay.cli.given_reports import given_reports
from assay.cli.options import KeyOption, ReportsArgument
from assay.cli.project_folder import ProjectOption, home, project_folder
from assay.report.site import Site
from assay.shared.counting import counted
from assay.shared.files import canonical_json
from assay.verification.trust import published_reports

MARK = "assay-site.json"
"""What a directory has that a site was written into: only such a one is written anew."""


def site(
    folder: Annotated[Path, typer.Argument(help="Directory to write.", metavar="DIR")],
    report_dirs: ReportsArgument = None,
    key: KeyOption = None,
    project: ProjectOption = None,
) -> None:
    """Write a static site over signed reports, verifying each."""
    _require_place(folder)
    own = project_folder(project)
    paths = report_dirs or published_reports(home(own))
    if not paths:
        where = "reports/published" if own is None else own / "reports" / "published"
        raise BadInput(f"there is no report: name one, or publish one in {where}")
    made = Site()
    for report in given_reports(paths, key, own):
        made.add(report)
    written = write_site(made, checkout.ROOT / "reports" / "templates", folder)
    left = made.unverified
    marked = f"; {counted(left, 'report')} unverified, and marked" if left else ""
    again = f"; {counted(made.again, 'report')} given again, and there once" if made.again else ""
    signed = counted(len(made.reports) - left, "signed report")
    what = f"{signed}, {written}{marked}{again}"
    say(f"site: {folder / 'index.html'}: {what}")


def _require_place(folder: Path) -> None:
    """Raise BadInput where no directory can be made, or one holds anything that is no site."""
    require_folder_place(folder, Path(os.path.realpath(folder)))
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MARK).is_file():
        raise BadInput(f"{folder}: holds something that is no site: name an empty directory")


def write_site(made: Site, templates: Path, folder: Path) -> str:
    """Write every page, the directory whole or not at all; return how much it is, in words."""
    place = folder.resolve()
    place.parent.mkdir(parents=True, exist_ok=True)
    building = Path(tempfile.mkdtemp(dir=place.parent, prefix=f".{place.name}."))
    try:
        pages = total = 0
        for name, text in made.pages(templates):
            path, data = building / name, text.encode()
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)
            pages, total = pages + 1, total + len(data)
        mark = {"schema": "assay/site/1", "reports": [r.manifest_sha256 for r in made.reports]}
        (building / MARK).write_bytes(canonical_json(mark))
        building.chmod(0o755)
        if place.exists():
            progress(f"{folder}: the site there is replaced")
            shutil.rmtree(place)
        building.rename(place)
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return f"{counted(pages, 'file')}, {total / 1e6:.1f} MB"
