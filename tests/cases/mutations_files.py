"""Changes to files and folders of a report: what an enemy does without a key."""

import os
import shutil
import socket
from pathlib import Path

from assay.verification.report_archive import SUFFIX
from tests.cases.site import Site


def leave_as_it_is(site: Site) -> None:
    """Change nothing."""


def flip_a_bit(site: Site, path: str, where: float) -> None:
    """Change one bit of a file, so far into it."""
    data = bytearray((site.report / path).read_bytes())
    data[round(where * (len(data) - 1))] ^= 1
    site.put(path, bytes(data))


def append(site: Site, path: str, text: str) -> None:
    """Add text at the end of a file."""
    site.put(path, (site.report / path).read_bytes() + text.encode())


def cut(site: Site, path: str, left: int) -> None:
    """Leave some bytes at the beginning of a file."""
    site.put(path, (site.report / path).read_bytes()[:left])


def remove(site: Site, path: str) -> None:
    """Take away a file, and its folder where nothing else is in it."""
    file = site.report / path
    file.unlink()
    if not any(file.parent.iterdir()):
        file.parent.rmdir()


def remove_folder(site: Site, path: str) -> None:
    """Take away a folder with all that is in it."""
    shutil.rmtree(site.report / path)


def add_file(site: Site, path: str, text: str = "") -> None:
    """Put a file beside the others."""
    site.put(path, text.encode())


def add_folder(site: Site, path: str) -> None:
    """Put an empty folder beside the others."""
    (site.report / path).mkdir(parents=True)


def swap(site: Site, one: str, other: str) -> None:
    """Give two files each other's names."""
    first, second = ((site.report / path).read_bytes() for path in (one, other))
    site.put(one, second)
    site.put(other, first)


def replace_by(site: Site, path: str, kind: str) -> None:
    """Put something that is no plain file of a report where one lies."""
    place = site.report / path
    if kind != "terabyte":
        place.unlink()
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "device":
        place.symlink_to("/dev/zero")
    elif kind == "loop":
        place.symlink_to(place.name)
    elif kind == "folder":
        place.mkdir()
    elif kind == "socket":
        _bind(place)
    else:
        lengthen(place, 1 << 40)


def _bind(place: Path) -> None:
    """Make a socket; by a short name, for its address has room for 108 bytes."""
    here = Path.cwd()
    os.chdir(place.parent)
    try:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(place.name)
    finally:
        os.chdir(here)


def lengthen(path: Path, size: int) -> None:
    """Give a file that many bytes, of which the disk keeps none."""
    with path.open("ab") as stream:
        stream.truncate(size)


def link_to_equal(site: Site, path: str, hard: bool = False) -> None:
    """Put a link to the very same content where a file or folder lies."""
    moved = site.scratch / "elsewhere"
    shutil.move(site.report / path, moved)
    if hard:
        (site.report / path).hardlink_to(moved)
    else:
        (site.report / path).symlink_to(moved)


def touch(site: Site) -> None:
    """Change times and modes of all files, which nothing vouches for."""
    for path in (path for path in site.report.rglob("*") if path.is_file()):
        path.chmod(0o755)
        os.utime(path, (0, 0))


def many_files(site: Site, count: int) -> None:
    """Put a folder of so many empty files into the evidence."""
    folder = site.evidence / "many"
    folder.mkdir()
    for number in range(count):
        os.mknod(folder / str(number))


def deep_folders(site: Site, depth: int) -> None:
    """Put folders in folders into the evidence."""
    site.evidence.joinpath(*["d"] * depth).mkdir(parents=True)


def odd_name(site: Site, name: str, raw: str = "") -> None:
    """Put an empty file of such a name into the evidence; ``raw`` are bytes in hexadecimal."""
    data = bytes.fromhex(raw) or name.encode()
    Path(os.fsdecode(os.fsencode(site.evidence) + b"/" + data)).touch()


def two_names(site: Site, one: str, other: str) -> None:
    """Put two files beside each other that some systems take for one."""
    (site.report / one).touch()
    (site.report / other).touch()


def keep_as_other_run(site: Site, folder: str) -> None:
    """Keep it among a checkout's reports, under another run's name."""
    site.repository = site.scratch / "checkout"
    place = site.repository / folder / "other_run"
    place.parent.mkdir(parents=True)
    shutil.copytree(site.evidence / "config", site.repository / "config")
    site.given = site.report.rename(place)


def keep_behind_a_linked_folder(site: Site) -> None:
    """Keep it under another run's name where the checkout's ``reports`` leads to."""
    site.repository = site.scratch / "checkout"
    shutil.copytree(site.evidence / "config", site.repository / "config")
    folder = site.scratch / "large disk"
    folder.mkdir()
    (site.repository / "reports").symlink_to(folder)
    site.given = site.report.rename(folder / "other_run")


def link_among_published(site: Site) -> None:
    """Have another run's name among the published reports lead to this report."""
    site.repository = site.scratch / "checkout"
    place = site.repository / "reports" / "published" / "other_run"
    place.parent.mkdir(parents=True)
    shutil.copytree(site.evidence / "config", site.repository / "config")
    place.symlink_to(site.report)
    site.given = place


def copy_under_other_name(site: Site) -> None:
    """Keep a copy under another name, where nobody looks it up by that."""
    site.given = site.report.rename(site.scratch / "a copy")


def strangers_evidence(site: Site) -> None:
    """An envelope that is none, and evidence that no parser survives."""
    site.put("attestation.json", b"{}")
    site.put("evidence/plan.json", b"[" * 100_000)
    site.put("evidence/config/judging.yaml", b"[" * 100_000)
    lengthen(site.report / "verdicts.json", 1 << 40)


def name_what_is_no_report(site: Site, kind: str) -> None:
    """Ask for what is no report: nothing at all, a file, a file with an archive's name."""
    site.given = site.scratch / ("none" if kind == "nothing" else "file")
    if kind == "archive":
        site.given = site.scratch / f"none{SUFFIX}"
    elif kind == "file":
        site.given.touch()
    elif kind == "empty folder":
        site.given.mkdir()
