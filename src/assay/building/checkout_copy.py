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
    return describe_files(*_tree(checkout))


def copy_checkout(checkout: Path, into: Path) -> CheckoutCopy:
    """Copy the tree below ``checkout`` to ``into``, which must not be there yet.

    Links inside the tree stay links. Raises BadInput as ``describe_checkout`` does, and leaves
    nothing behind then.
    """
    top, names = _tree(checkout)
    if into.resolve().is_relative_to(top):
        raise BadInput(f"{checkout}: a run's folder lies in it, so it cannot be copied there")
    return copy_files(top, names, into)


def describe_files(folder: Path, names: Sequence[str]) -> CheckoutCopy:
    """Return count, size and digest of these files of a folder. Raises BadInput."""
    try:
        listed = "".join(f"{_digest(folder / name)}  {name}\n" for name in names)
        size = sum((folder / name).lstat().st_size for name in names)
    except OSError as error:
        raise BadInput(f"{folder}: cannot be read: {error}") from error
    return CheckoutCopy(files=len(names), bytes=size, sha256=sha256_bytes(listed.encode()))


def copy_files(folder: Path, names: Sequence[str], into: Path) -> CheckoutCopy:
    """Copy these files of a folder to ``into``, whole or not at all. Raises BadInput."""
    partial = into.with_name(f"{into.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        partial.mkdir(parents=True)
        for name in names:
            (partial / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(folder / name, partial / name, follow_symlinks=False)
        described = describe_files(partial, names)
        partial.rename(into)
    except OSError as error:
        raise BadInput(f"{folder}: cannot be copied: {error}") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return described


def _tree(checkout: Path) -> tuple[Path, list[str]]:
    """Return the top of a checkout and the names of all that is copied of it. Raises BadInput."""
    if not checkout.is_dir():
        raise BadInput(f"{checkout}: no such directory")
    top = checkout.resolve()
    files = sorted(_files(top))
    size = sum(path.lstat().st_size for path in files)
    if size > MOST_BYTES:
        raise BadInput(f"{checkout}: holds {size} bytes, more than {MOST_BYTES}")
    return top, [path.relative_to(top).as_posix() for path in files]


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
