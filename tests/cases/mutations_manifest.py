"""Changes to the list of files, mostly such as only a careless signer signs."""

from typing import Any

from tests.cases.attack import Argument
from tests.cases.mutations_files import lengthen
from tests.cases.site import Site
from tests.cases.spellings import SPELLINGS


def respell(site: Site, path: str, way: str) -> None:
    """Spell a JSON document of the report in a way that readers may take differently."""
    site.put(path, SPELLINGS[way]((site.report / path).read_bytes()))


def list_path(site: Site, path: str) -> None:
    """Have the first file of the list stand there by another path."""
    _edit_files(site, lambda files: files[0].update(path=path))


def list_entry(site: Site, path: str, name: str, value: Argument) -> None:
    """Have the list say something else of a file."""
    _edit_files(site, lambda files: _entry(files, path).update({name: value}))


def list_shouting(site: Site, path: str) -> None:
    """Have the list spell a digest in upper case."""

    def change(files: list[dict[str, Any]]) -> None:
        entry = _entry(files, path)
        entry["sha256"] = entry["sha256"].upper()

    _edit_files(site, change)


def list_without(site: Site, path: str) -> None:
    """Leave a file that is there out of the list."""
    _edit_files(site, lambda files: files.remove(_entry(files, path)))


def list_too(site: Site, path: str) -> None:
    """List a file that is not there."""
    entry = {"path": path, "sha256": "0" * 64, "bytes": 1}
    _edit_files(site, lambda files: _add_sorted(files, entry))


def list_twice(site: Site, path: str) -> None:
    """List one file twice."""
    _edit_files(site, lambda files: _add_sorted(files, dict(_entry(files, path))))


def list_backwards(site: Site) -> None:
    """List all files in another order."""
    _edit_files(site, lambda files: files.reverse())


def list_nothing(site: Site) -> None:
    """List no file at all."""
    _edit_files(site, lambda files: files.clear())


def manifest_member(site: Site, name: str, value: Argument) -> None:
    """Have the manifest say something else, or more."""
    site.edit("manifest.json", lambda manifest: manifest.update({name: value}))


def list_a_terabyte(site: Site, path: str) -> None:
    """Make a file of a terabyte, and list it as such."""
    lengthen(site.report / path, 1 << 40)
    list_entry(site, path, "bytes", 1 << 40)


def list_too_much_together(site: Site, count: int, size: int) -> None:
    """List some long files, which are too much together."""
    for number in range(count):
        lengthen(site.report / f"{number}.bin", size)
        entry = {"path": f"{number}.bin", "sha256": "0" * 64, "bytes": size}
        _edit_files(site, lambda files, entry=entry: _add_sorted(files, entry))


def _edit_files(site: Site, change: Any) -> None:
    site.edit("manifest.json", lambda manifest: change(manifest["files"]))


def _entry(files: list[dict[str, Any]], path: str) -> dict[str, Any]:
    return next(entry for entry in files if entry["path"] == path)


def _add_sorted(files: list[dict[str, Any]], entry: dict[str, Any]) -> None:
    files.append(entry)
    files.sort(key=lambda each: each["path"])
