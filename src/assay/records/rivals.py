"""Optional rivals: packages that are measured, or looked into, where somebody installed them."""

import shlex
from typing import Annotated, Literal

from pydantic import Field

from assay.records.base import FileName, Identifier, PackageName, Record, Sha256


class PinnedWheel(Record):
    """One file of a package, for one kind of machine."""

    file: FileName
    bytes: Annotated[int, Field(gt=0)]
    sha256: Sha256


class PinnedPackage(Record):
    """A package at one version, with the digests of all wheels that will do."""

    name: PackageName
    version: Annotated[str, Field(pattern=r"^[0-9A-Za-z][0-9A-Za-z.+!_-]*$")]
    wheels: Annotated[tuple[PinnedWheel, ...], Field(min_length=1)]


class Rival(Record):
    """Packages that no lock of this repository installs."""

    id: Identifier
    title: str
    purpose: str
    """What it answers, one line."""
    module: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$")]
    """What the device side imports of it."""
    packages: Annotated[tuple[PinnedPackage, ...], Field(min_length=1)]
    """The first is the one that is looked for; without their dependencies, which PyTorch is."""
    python: str
    """Versions of Python that the wheels are for, as ``>=3.9``."""
    needs: str
    """What else has to be there, in words."""

    @property
    def main(self) -> PinnedPackage:
        """Return the package whose version tells whether the rival is here."""
        return self.packages[0]

    def install_line(self, python: str = "PYTHON") -> str:
        """Return the shell line that installs it for ``python``, each wheel by its hash."""
        pins = [
            " ".join([f"{p.name}=={p.version}", *(f"--hash=sha256:{w.sha256}" for w in p.wheels)])
            for p in self.packages
        ]
        printed = " ".join(shlex.quote(pin) for pin in pins)
        named = python if python == "PYTHON" else shlex.quote(python)
        return (
            f"printf '%s\\n' {printed} | {named} -m pip install --no-deps --require-hashes "
            "-r /dev/stdin"
        )

    def how_to_get(self) -> str:
        """Return a sentence on how a run finds it; PYTHON stands for the device's.

        In a new run: what one has measured without it stays as it is.
        """
        return (
            f"To have it: {self.install_line()}, then a new run: ./assay reproduce --run NAME "
            "--runtime host --device-python PYTHON."
        )


class RivalsFile(Record):
    """``config/rivals.yaml``."""

    schema_: Literal["assay/rivals/1"] = Field(alias="schema")
    rivals: tuple[Rival, ...] = ()
