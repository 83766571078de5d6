"""The definition of an image: its inputs, and the digest of all that decides on its bytes."""

import re
from dataclasses import dataclass
from pathlib import Path

from assay.base.errors import BadInput
from assay.base.io import dump_record, load_yaml, read_text
from assay.base.pip_locks import lock_digest
from assay.records.images import ImagesFile, Role, RoleInputs
from assay.shared.files import sha256_bytes

FORMAT = 2
"""Counts changes of this package that change an image's bytes."""
INPUTS = Path("containers/images.yaml")
INSTALL = Path("containers/install.sh")
LISTING = Path("containers/list_packages.py")
"""What lists an image's packages, in it."""
PIP_LOCK = Path("requirements/build.txt")


@dataclass(frozen=True)
class Definition:
    """One image before it is made; every target's is the same."""

    root: Path
    role: Role
    inputs: ImagesFile
    digest: str

    @property
    def mine(self) -> RoleInputs:
        """Return the inputs of this role."""
        return self.inputs.roles[self.role]

    @property
    def tag(self) -> str:
        """Name in an engine; another definition has another."""
        return f"assay/{self.role}:{self.digest[:12]}"


def load_inputs(root: Path) -> ImagesFile:
    """Read ``containers/images.yaml``. Raises BadInput."""
    return load_yaml(ImagesFile, root / INPUTS)


def define(root: Path, role: Role) -> Definition:
    """Digest everything that decides on an image. Raises BadInput."""
    inputs = load_inputs(root)
    mine = inputs.roles[role]
    parts = (
        FORMAT,
        role,
        read_text(root / INSTALL),
        read_text(root / LISTING),
        lock_digest(root / mine.lock),
        sha256_bytes(pip_entry(root).encode()),
        dump_record(inputs.base),
        dump_record(mine),
        sorted(inputs.environment.items()),
        sorted(labels_of(inputs, role).items()),
    )
    return Definition(root, role, inputs, sha256_bytes(repr(parts).encode()))


def labels_of(inputs: ImagesFile, role: Role) -> dict[str, str]:
    """Return the labels of a role's image."""
    return {**inputs.labels, "assay.role": role}


def pip_entry(root: Path) -> str:
    """pip's own lines of its lock: pip in the image is the one that installs on the host."""
    match = re.search(r"^pip==[^\n]*\n(?:[ ]+--hash[^\n]*\n)+", read_text(root / PIP_LOCK), re.M)
    if match is None:
        raise BadInput(f"{root / PIP_LOCK}: does not pin pip")
    return match.group(0).rstrip().removesuffix("\\").rstrip() + "\n"
