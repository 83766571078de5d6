"""A report as one file: packed to the same bytes every time, and opened without being trusted.

The archive of ``reports/published/x`` is ``reports/published/x.tar.xz``: its files under the one
folder ``x``, in order, with one mode, owner and time. Only what packing writes is read, so an
archive has no room for links, devices, names that lead elsewhere or a file that stands in it twice;
and how much may come out of it is settled before anything does.
"""

import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path, PurePath
from types import ModuleType

from assay.base.checkout_root import checkout_root
from assay.base.errors import AssayError, BadInput, CheckFailed, MissingEnvironment
from assay.base.writable import cache_folder
from assay.evidence.stages import plan_path
from assay.records.attestation import ATTESTATION, MANIFEST, VERDICTS
from assay.shared.files import sha256_bytes, write_bytes
from assay.shared.read_limits import (
    MOST_FILES,
    MOST_REPORT,
    Unreadable,
    whole_file_bytes,
)
from assay.verification.manifest import unsafe_path, walk

SUFFIX = ".tar.xz"
BLOCK = tarfile.BLOCKSIZE
END = bytes(2 * BLOCK)

MOST_PACKED = 32_000_000
"""Bytes of an archive. A report of one target has 5 MB of files and 1.5 MB of archive."""
MOST_RATIO = 100
"""Bytes that may come out for one that is in; of a report 3 to 10, its samples being compressed."""
DICTIONARY = 16 << 20
"""Bytes that packing looks back: all of a report."""
MOST_MEMORY = 4 * DICTIONARY
"""Bytes that decompressing may take, beside what comes out."""
PLAN = f"evidence/{plan_path()}"
DOCUMENTS = (ATTESTATION, PLAN, MANIFEST, VERDICTS)
"""What is asked of a report without the rest of it."""


def is_archive(path: Path) -> bool:
    """Return whether ``path`` is a file with an archive's name."""
    return path.name.endswith(SUFFIX) and path.is_file()


def report_name(path: PurePath) -> str:
    """Return the name of a report's directory, which lies at ``path`` itself or as its archive."""
    return path.name.removesuffix(SUFFIX)


@contextmanager
def opened_report(path: Path) -> Iterator[Path]:
    """Yield a directory with the report at ``path``: that itself, or a copy unpacked until the end.

    Errors raised meanwhile that name the copy are made to name the archive, which stays. Raises
    BadInput where there is no report, CheckFailed for an archive that packing did not write,
    MissingEnvironment where it cannot be unpacked.
    """
    try:
        directory = path.is_dir()
    except OSError as error:
        problem = f"{path}: cannot be looked at: {error.strerror}"
        raise BadInput(problem, code="file-unreadable") from error
    if directory:
        yield path
        return
    if not is_archive(path):
        if path.exists():
            raise BadInput(
                f"{path}: is a file; name the report's directory, or its archive ({SUFFIX})"
            )
        raise BadInput(f"{path}: no such report directory, nor an archive of one ({SUFFIX})")
    files = read_archive(path)
    with _unpacked_copy(files, path) as report:
        try:
            yield report
        except AssayError as error:
            error.args = (str(error).replace(str(report), str(path)),)
            raise


def pack_report(directory: Path) -> bytes:
    """Return the archive of a report directory; equal files and names give equal bytes.

    Raises CheckFailed for what an archive cannot hold: links, special files, empty folders, names
    that are too long.
    """
    top = directory.resolve().name
    files = {path: (directory / path).read_bytes() for path in walk(directory)}
    # One thread, one filter, named in full: defaults may change with the library.
    lzma = _lzma()
    preset = 9 | lzma.PRESET_EXTREME
    filters = [{"id": lzma.FILTER_LZMA2, "preset": preset, "dict_size": DICTIONARY}]
    data: bytes = lzma.compress(_tar(top, files), lzma.FORMAT_XZ, lzma.CHECK_CRC64, None, filters)
    _files(_decompressed(data), top)  # what is packed can be opened
    return data


def read_archive(path: Path) -> dict[str, bytes]:
    """Return an archive's files by their paths in the report. Raises CheckFailed for any other."""
    data = _packed(path)
    try:
        return _files(_decompressed(data), report_name(path.resolve()))
    except CheckFailed as error:
        problem = f"{path}: is no archive of a report: {error}"
        raise CheckFailed(problem, code=error.code) from error


def archived_documents(path: Path) -> dict[str, bytes]:
    """Return those of ``DOCUMENTS`` that an archive has. Raises as ``read_archive``.

    They are kept in the cache by the archive's digest, for an archive ends with them and unpacking
    it takes a tenth of a second. Nothing vouches for what is kept: whoever trusts it checks the
    signature.
    """
    digest = sha256_bytes(_packed(path))
    kept = cache_folder(checkout_root()) / "reports" / f"{digest}.tar"
    with suppress(OSError, Unreadable, CheckFailed):
        return _files(whole_file_bytes(kept, MOST_REPORT), digest)
    every = read_archive(path)
    found = {name: every[name] for name in DOCUMENTS if name in every}
    with suppress(OSError):
        write_bytes(kept, _tar(digest, found))
    return found


def _packed(path: Path) -> bytes:
    try:
        return whole_file_bytes(path, MOST_PACKED)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from error
    except Unreadable as error:
        problem = f"{path}: is no archive of a report: it {error}"
        raise CheckFailed(problem, code=error.code) from error


def _tar(top: str, files: Mapping[str, bytes]) -> bytes:
    parts = []
    for path, content in sorted(files.items()):
        info = tarfile.TarInfo(f"{top}/{path}")
        info.size, info.mode = len(content), 0o644
        try:
            header = info.tobuf(tarfile.USTAR_FORMAT, "utf-8", "strict")
        except ValueError as error:
            problem = f"{path!r}: cannot stand in an archive: {error}"
            raise CheckFailed(problem, code="archive-form") from error
        parts += [header, content, bytes(-len(content) % BLOCK)]
    return b"".join([*parts, END])


def _decompressed(data: bytes) -> bytes:
    """Return what an xz file holds. Raises CheckFailed before more comes out than a report may
    hold.
    """
    most = min(MOST_REPORT, MOST_RATIO * len(data))
    lzma = _lzma()
    reader = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MOST_MEMORY)
    try:
        content: bytes = reader.decompress(data, max_length=most + 1)
    except lzma.LZMAError as error:
        raise CheckFailed(f"it cannot be decompressed: {error}", code="archive-xz") from error
    if len(content) > most:
        problem = f"more than {most} bytes come out of its {len(data)}"
        raise CheckFailed(problem, code="archive-size")
    if not reader.eof or reader.unused_data:
        raise CheckFailed("it ends early, or something follows its end", code="archive-xz")
    return content


def _files(data: bytes, top: str) -> dict[str, bytes]:
    """Return the files of a tar that ``_tar`` made under ``top``; raises CheckFailed for any other:
    what it is not like in every byte may hold links, devices, or a file twice.
    """
    files: dict[str, bytes] = {}
    offset = 0
    while len(files) <= MOST_FILES and (block := data[offset : offset + BLOCK]) != END[:BLOCK]:
        try:
            info = tarfile.TarInfo.frombuf(block, "utf-8", "strict")
        except (tarfile.TarError, ValueError) as error:
            problem = f"its list of files cannot be read: {error}"
            raise CheckFailed(problem, code="archive-form") from error
        folder, _, path = info.name.partition("/")
        if not files and folder != top:
            problem = f"it holds {folder!a}: its name has to be that of the folder in it"
            raise CheckFailed(problem, code="archive-name")
        if unsafe_path(info.name) or not 0 <= info.size <= len(data):
            problem = f"the entry {info.name!a} leads elsewhere, or beyond its end"
            raise CheckFailed(problem, code="archive-form")
        offset += BLOCK
        files[path] = data[offset : offset + info.size]
        offset += info.size + -info.size % BLOCK
    below = any(str(above) in files for path in files for above in PurePath(path).parents)
    if not 0 < len(files) <= MOST_FILES or below or _tar(top, files) != data:
        raise CheckFailed("it is not as packing writes it", code="archive-form")
    return files


@contextmanager
def _unpacked_copy(files: Mapping[str, bytes], archive: Path) -> Iterator[Path]:
    """A temporary directory of ``files``, named as the report. Raises MissingEnvironment."""
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="assay-report-"))
            report = Path(folder) / report_name(archive.resolve())
            for path, content in files.items():
                file = report / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
        except OSError as error:
            raise MissingEnvironment(
                f"{archive}: cannot be unpacked in a temporary folder (TMPDIR names another "
                f"place): {error.strerror}"
            ) from error
        yield report


def _lzma() -> ModuleType:
    """Return the standard library's module, which a Python built without its headers lacks."""
    try:
        import lzma  # noqa: PLC0415 - whatever needs no archive runs without it
    except ImportError as error:
        raise MissingEnvironment(
            "this Python was built without lzma, which archives of reports need: "
            "use the system's Python, or build it with liblzma's headers installed"
        ) from error
    return lzma
