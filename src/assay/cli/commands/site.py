"""``./assay site``: write a static site over signed reports."""

import os
import shutil
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer
from pydantic import Field, ValidationError

from assay.base.commits import git_state
from assay.base.errors import AssayError, BadInput
from assay.base.progress import say as progress
from assay.base.writable import require_folder_place
from assay.cli import checkout
from assay.cli import options as opt
from assay.cli.console import say
from assay.cli.given_reports import given_reports
from assay.findings.report_comparison import GivenReport
from assay.records.base import Record
from assay.report.quoted_report import badge
from assay.report.replaceable import built_beside
from assay.report.site import INDEX, TITLE, Site, report_folder
from assay.shared.counting import counted
from assay.shared.files import canonical_json, sha256_bytes
from assay.verification.manifest import walk
from assay.verification.report_archive import is_archive, report_name
from assay.verification.trust import published_reports
from assay.verification.trusted_keys import load_trusted_keys, trusted_keys

PARTS = frozenset(
    {INDEX, "claims", "claims.html", "feed.xml", "gpus", "index.html", "kernels", "reports",
     "site.css", "submit.html"}
)  # fmt: skip


class KeptReport(Record):
    """A report of a site as it was read when it was verified: ``record.json`` beside it."""

    schema_: Literal["assay/site_report/1"] = Field(alias="schema")
    known_as: str
    """Digest of its bytes and its name, of who is trusted, and of the version that verified it."""
    given: GivenReport


def site(
    folder: Annotated[Path, typer.Argument(help="Directory to write.", metavar="DIR")],
    report_dirs: opt.ReportsArgument = None,
    key: opt.KeyOption = None,
    project: opt.ProjectOption = None,
    title: Annotated[str, typer.Option(help="What the site is called.")] = TITLE,
) -> None:
    """Write a static site over signed reports, verifying each.

    A report that the site has already is verified again where it, the trusted keys or this
    version changed.
    """
    require_folder_place(folder, Path(os.path.realpath(folder)))
    if folder.is_dir() and any(folder.iterdir()) and not (folder / INDEX).is_file():
        raise BadInput(f"{folder}: holds something that is no site: name an empty directory")
    own = opt.project_folder(project)
    paths = report_dirs or published_reports(opt.home(own))
    if not paths:
        where = "reports/published" if own is None else own / "reports" / "published"
        raise BadInput(f"there is no report: name one, or publish one in {where}")
    made = Site(title)
    by, known, stays = _verifier(key, own), _known(folder), set[str]()
    with built(folder, stays) as place:
        names = {path: _known_as(path, by) if by else None for path in paths}
        kept = {path: known[name] for path, name in names.items() if name and name in known}
        others = [path for path in paths if path not in kept]
        read = given_reports(others, key, own, partial(_keep, place, names))
        for path in paths:
            made.add(kept.get(path) or next(read))
        stays |= {report_folder(given) for given in kept.values()}
        if stays:
            progress(f"{counted(len(stays), 'report')} unchanged since the site was made last")
        written = write_pages(made, checkout.ROOT / "reports" / "templates", place)
    left = made.unverified
    marked = f"; {counted(left, 'report')} unverified, and marked" if left else ""
    again = f"; {counted(made.again, 'report')} given again, and there once" if made.again else ""
    signed = counted(len(made.reports) - left, "signed report")
    say(f"site: {folder / 'index.html'}: {signed}, {written}{marked}{again}")


def _verifier(keys: Sequence[Path] | None, project: Path | None) -> list[str]:
    """Return this version and whom it trusts; nothing where the version is not known."""
    commit, clean = git_state(checkout.ROOT)
    if commit is None or clean is False:
        return []
    trusted = load_trusted_keys(keys or opt.keys_of(project), trusted_keys(checkout.ROOT))
    who = (f"{k.keyid} {k.name} {k.holder} {k.since} {k.until} {k.revoked}" for k in trusted)
    return [commit, str(project), *sorted(who)]


def _known_as(path: Path, by: list[str]) -> str | None:
    """Return the digest of a report, its name and its verifier; None where it cannot be read."""
    with suppress(AssayError, OSError):
        files = [path] if is_archive(path) else [path / name for name in walk(path)]
        told = [[str(file.relative_to(path)), sha256_bytes(file.read_bytes())] for file in files]
        about = {"report": report_name(path), "files": told, "by": by}
        return sha256_bytes(canonical_json(about))
    return None


def _known(folder: Path) -> dict[str, GivenReport]:
    found = {}
    for path in folder.glob("reports/*/record.json"):
        with suppress(ValidationError, OSError):
            kept = KeptReport.model_validate_json(path.read_bytes())
            found[kept.known_as] = kept.given
    return found


def _keep(
    place: Path, names: Mapping[Path, str | None], path: Path, directory: Path, given: GivenReport
) -> None:
    """Put an intact report into the site: all its files, its archive, its badge and its record."""
    folder = place / report_folder(given)
    folder.mkdir(parents=True, exist_ok=True)
    if is_archive(path):
        shutil.copyfile(path, folder / path.name)
    try:
        shutil.copytree(directory, folder / given.figures.run, copy_function=shutil.copyfile)
    except FileExistsError:
        return  # the same report was given twice
    (folder / "badge.svg").write_text(badge(given.figures.counts), encoding="utf-8")
    plain = replace(given, path=path.name)
    kept = KeptReport(schema="assay/site_report/1", known_as=names[path] or "", given=plain)
    (folder / "record.json").write_text(kept.model_dump_json(by_alias=True), encoding="utf-8")


def built(folder: Path, stays: Collection[str] = ()) -> AbstractContextManager[Path]:
    """Return a context of an empty directory that takes the place of ``folder`` at the end. What
    there is no part of a site, as ``.git`` and ``CNAME``, stays, and so does what ``stays`` names
    by then. Nothing of the old folder goes before all that stays is in the new one.
    """
    place = folder.resolve()

    def take_over(before: Path) -> None:
        progress(f"{folder}: the site there is replaced")
        others = [each.name for each in before.iterdir() if each.name not in PARTS]
        for name in (*others, *stays):
            if not os.path.lexists(place / name):
                (place / name).parent.mkdir(exist_ok=True)
                (before / name).rename(place / name)

    return built_beside(place, take_over)


def write_pages(made: Site, templates: Path, place: Path) -> str:
    """Write every page; return how much it is, in words."""
    pages = dict(made.pages(templates))
    for name, text in pages.items():
        path = place / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return counted(len(pages), "page")
