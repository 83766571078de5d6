"""A copy of a checkout that the user has, for a stranger's build and run lines to work in.

Nothing is ever run in the user's own files. What would make the copy more than the tree that was
named is refused, not followed: a link that leads out of it, a device, a tree beyond bounds.
"""

import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from assay.base.errors import BadInput
from assay.records.originals import CheckoutCopy
from assay.shared.files import sha256_bytes, sha256_file

MOST_FILES = 20_000
MOST_BYTES = 512 * 2**20
LEFT_OUT = frozenset({".git", ".hg", ".svn", "__pycache__"})
"""History and caches, which no build line reads."""


def describe_checkout(checkout: Path) -> CheckoutCopy:
    """Return what a copy of the tree below ``checkout`` would hold; writes nothing.

    Raises BadInput for a folder that is none or cannot be read, a link that leads out, a special
    file, or more than the bounds allow.
    """
    top, files = _tree(checkout)
    try:
        return _described(top, files, top)
    except OSError as error:
        raise BadInput(f"{checkout}: cannot be read: {error}") from error


def copy_checkout(checkout: Path, into: Path) -> CheckoutCopy:
    """Copy the tree below ``checkout`` to ``into``, which must not be there yet.

    Links inside the tree stay links. Raises BadInput as ``describe_checkout`` does, and leaves
    nothing behind then.
    """
    top, files = _tree(checkout)
    if into.resolve().is_relative_to(top):
        raise BadInput(f"{checkout}: a run's folder lies in it, so it cannot be copied there")
    partial = into.with_name(f"{into.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        for path in files:
            copy = partial / path.relative_to(top)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, copy, follow_symlinks=False)
        partial.mkdir(parents=True, exist_ok=True)
        described = _described(top, files, partial)
        partial.rename(into)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise BadInput(f"{checkout}: cannot be copied: {error}") from error
    return described


def describe_files(folder: Path, names: Sequence[str]) -> CheckoutCopy:
    """Return what a copy of these files of a folder would hold. Raises BadInput."""
    try:
        return _described(folder, [folder / name for name in names], folder)
    except OSError as error:
        raise BadInput(f"{folder}: cannot be read: {error}") from error


def copy_files(folder: Path, names: Sequence[str], into: Path) -> CheckoutCopy:
    """Copy these files of a folder to ``into``, which must not be there yet. Raises BadInput."""
    try:
        for name in names:
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(folder / name, into / name)
    except OSError as error:
        shutil.rmtree(into, ignore_errors=True)
        raise BadInput(f"{folder}: cannot be copied: {error}") from error
    return describe_files(into, names)


def _tree(checkout: Path) -> tuple[Path, list[Path]]:
    """Return the top of a checkout and all that is copied of it, in order. Raises BadInput."""
    if not checkout.is_dir():
        raise BadInput(f"{checkout}: no such directory")
    top = checkout.resolve()
    files = sorted(_files(top))
    size = _size(files)
    if size > MOST_BYTES:
        raise BadInput(f"{checkout}: holds {size} bytes, more than {MOST_BYTES}")
    return top, files


def _size(files: list[Path]) -> int:
    return sum(path.lstat().st_size for path in files)


def _described(top: Path, files: list[Path], there: Path) -> CheckoutCopy:
    """Return count, size and digest of ``files`` below ``top``, as they are ``there``."""
    names = [path.relative_to(top) for path in files]
    listed = "".join(f"{_digest(there / name)}  {name.as_posix()}\n" for name in names)
    size = _size([there / name for name in names])
    return CheckoutCopy(files=len(names), bytes=size, sha256=sha256_bytes(listed.encode()))


def _files(top: Path) -> Iterator[Path]:
    """Every file and link below ``top``. Raises BadInput for what must not be copied."""
    count = 0
    for folder, folders, names in os.walk(top):
        folders[:] = [name for name in folders if name not in LEFT_OUT]
        linked = [name for name in folders if (Path(folder) / name).is_symlink()]
        for name in (*names, *linked):
            path = Path(folder) / name
            count += 1
            if count > MOST_FILES:
                raise BadInput(f"{top}: holds more than {MOST_FILES} files")
            mode = path.lstat().st_mode
            if stat.S_ISLNK(mode):
                _check_link(top, path)
            elif not stat.S_ISREG(mode):
                raise BadInput(f"{path}: is neither a file nor a link")
            yield path


def _check_link(top: Path, link: Path) -> None:
    """Require that a link stays in the tree, also once the tree is another one."""
    named = os.readlink(link)  # noqa: PTH115 - as it is written, not as a path
    if Path(named).is_absolute() or not link.resolve().is_relative_to(top):
        raise BadInput(f"{link}: leads out of the checkout, to {named}")


def _digest(path: Path) -> str:
    if path.is_symlink():
        return sha256_bytes(os.readlink(path).encode())  # noqa: PTH115 - as it is written
    return sha256_file(path)
