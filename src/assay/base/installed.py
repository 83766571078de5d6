"""The entry point ``assay`` of an installed package: the launcher, on the tree that came with it.

As ``./assay`` of a checkout it makes an environment from the same hash-pinned locks, beside that
tree, and becomes the command line in it. Standard library only, as the launcher.
"""

import os
import sys

from assay import __version__
from assay.base.checkout_root import installed_root
from assay.base.launcher import main as launch
from assay.shared.errors import ExitCode

COMMIT = "COMMIT"
"""File of the tree that names the commit it was made from, where that was clean."""


def main() -> int:
    """Return an exit code, where no command could be started."""
    root = installed_root()
    if root is None:
        print(
            "assay: the tree that the package came with is gone: install it again", file=sys.stderr
        )
        return ExitCode.MACHINE_LACKS
    named = root / COMMIT
    if named.is_file():
        os.environ.setdefault("ASSAY_COMMIT", named.read_text(encoding="utf-8").strip())
    if sys.argv[1:] == ["--version"]:  # asked first of all, and answered without an environment
        print(f"{__version__} (commit {os.environ.get('ASSAY_COMMIT') or 'not known'})")
        return ExitCode.DONE
    return launch(str(root), sys.argv[1:])
