"""Archives of a report that packing never writes."""

import lzma
import shutil
import tarfile
from collections.abc import Callable

from assay.shared.files import sha256_bytes
from assay.verification.report_archive import SUFFIX, pack_report
from tests.cases.site import Site

Entry = tuple[tarfile.TarInfo, bytes]
RUN = "demo_run"
ENTRIES: dict[str, list[tuple[str, bytes, dict[str, object]]]] = {
    "link": [("run/a", b"", {"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"})],
    "hard link": [("run/a", b"x", {}),
                  ("run/b", b"", {"type": tarfile.LNKTYPE, "linkname": "run/a"})],
    "device": [("run/a", b"", {"type": tarfile.CHRTYPE})],
    "pipe": [("run/a", b"", {"type": tarfile.FIFOTYPE})],
    "folder": [("run/a", b"", {"type": tarfile.DIRTYPE})],
    "sparse": [("run/a", b"x", {"type": tarfile.GNUTYPE_SPARSE})],
    "extended header": [("run/a", b"9 a=b\n", {"type": tarfile.XHDTYPE})],
    "absolute": [("/run/a", b"x", {})],
    "parent": [("run/../a", b"x", {})],
    "dot": [("run/./a", b"x", {})],
    "control": [("run/a\nb", b"x", {})],
    "other top": [("other/a", b"x", {})],
    "two tops": [("run/a", b"x", {}), ("sun/a", b"x", {})],
    "twice": [("run/a", b"x", {}), ("run/a", b"y", {})],
    "order": [("run/b", b"x", {}), ("run/a", b"x", {})],
    "below a file": [("run/a", b"x", {}), ("run/a/b", b"x", {})],
    "mode": [("run/a", b"x", {"mode": 0o4755})],
    "time": [("run/a", b"x", {"mtime": 1})],
    "owner": [("run/a", b"x", {"uname": "root"})],
    "large": [("run/a", b"x", {"size": 7 << 30})],
    "negative": [("run/a", b"x", {"size": -512})],
    "beyond its end": [("run/a", b"x", {"size": 4096})],
    "hidden in the padding": [("run/a", b"xhidden", {"size": 1})],
    "too many": [
        (f"run/{number:05}", sha256_bytes(b"%d" % number).encode(), {}) for number in range(5_001)
    ],
    "nothing": [],
}  # fmt: skip
"""Name, content and fields of each entry."""


def pack(site: Site) -> None:
    """Give the report as packing writes it."""
    site.given = site.scratch / f"{RUN}{SUFFIX}"
    site.given.write_bytes(pack_report(site.report))


def pack_as_other_run(site: Site) -> None:
    """Give it under another run's name."""
    pack(site)
    site.given = site.given.rename(site.scratch / f"other_run{SUFFIX}")


def pack_among_published(site: Site, named: str, linked: bool = False) -> None:
    """Keep a whole archive of that name among a checkout's published reports, or a link to it."""
    site.repository = site.scratch / "checkout"
    shutil.copytree(site.evidence / "config", site.repository / "config")
    folder = site.repository / "reports" / "published"
    folder.mkdir(parents=True)
    directory = site.report.rename(site.scratch / named)
    real = (site.scratch if linked else folder) / f"{named}{SUFFIX}"
    real.write_bytes(pack_report(directory))
    site.given = real
    if linked:
        site.given = folder / f"yesterday{SUFFIX}"
        site.given.symlink_to(real)


def pack_changed(site: Site, path: str, text: str) -> None:
    """Change a file, and pack it so."""
    site.put(path, text.encode())
    pack(site)


def pack_entries(site: Site, which: str, tail: int = 1024, after: str = "") -> None:
    """Give an archive of any entries at all; ``tail`` zeros end it, and what comes ``after``."""
    form = tarfile.GNU_FORMAT if which == "negative" else tarfile.USTAR_FORMAT
    data = b"".join(_tar(entry, form) for entry in ENTRIES[which]) if which != "sound" else b""
    site.given = site.scratch / f"run{SUFFIX}"
    if which == "sound":
        shutil.move(site.report, site.scratch / "run")
        data = lzma.decompress(pack_report(site.scratch / "run"))[: -2 * tarfile.BLOCKSIZE]
    site.given.write_bytes(lzma.compress(data + bytes(tail) + after.encode()))


def _tar(entry: tuple[str, bytes, dict[str, object]], form: int) -> bytes:
    """Return a file as packing writes it, but for some fields."""
    name, content, fields = entry
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(content), 0o644
    for field, value in fields.items():
        setattr(info, field, value)
    return info.tobuf(form, "utf-8", "surrogateescape") + content + bytes(-len(content) % 512)


def pack_otherwise(site: Site, way: str) -> None:
    """Give an archive whose compressed stream is another."""
    pack(site)
    site.given.write_bytes(STREAMS[way](site.given.read_bytes()))


def _zeros(megabytes: int) -> bytes:
    packer = lzma.LZMACompressor(preset=0)
    piece = bytes(1 << 24)
    pieces = [packer.compress(piece) for _ in range(megabytes // 16)]
    return b"".join([*pieces, packer.flush()])


def _hungry() -> bytes:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 30}]
    return lzma.compress(bytes(1024), filters=filters)


STREAMS: dict[str, Callable[[bytes], bytes]] = {
    "text": lambda _: b"text, and no xz",
    "nothing": lambda _: b"",
    "cut": lambda data: data[:-20],
    "twice": lambda data: data + data,
    "trailing bytes": lambda data: data + b"more",
    "flipped": lambda data: data[:40] + bytes([data[40] ^ 1]) + data[41:],
    "old format": lambda data: lzma.compress(lzma.decompress(data), lzma.FORMAT_ALONE),
    "half a gigabyte of zeros": lambda _: _zeros(512),
    "a dictionary of a gigabyte": lambda _: _hungry(),
    "too long": lambda data: data + bytes(33_000_000),
}
