"""The definition of an image, and the digest of all that it rests on."""

import re
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, StrictUndefined, TemplateError

from assay.base.errors import BadInput
from assay.base.io import dump_record, load_yaml, read_text
from assay.base.pip_locks import lock_digest, lock_versions
from assay.images.base import base_definition
from assay.images.layer import FORMAT as LAYER_FORMAT
from assay.records.images import ImagesFile, Role, RoleInputs
from assay.records.platform import Target
from assay.shared.files import sha256_bytes

FORMAT = 1
"""Counts changes of this package that change an image's bytes."""
INPUTS = Path("containers/images.yaml")
TEMPLATE = Path("containers/Dockerfile.j2")
PIP_LOCK = Path("requirements/build.txt")


@dataclass(frozen=True)
class Definition:
    """One image before it is built."""

    target: Target
    role: Role
    inputs: ImagesFile
    lock: Path
    dockerfile: str
    labels: dict[str, str]
    digest: str

    @property
    def mine(self) -> RoleInputs:
        """Return the inputs of this role."""
        return self.inputs.role(self.role)

    @property
    def tag(self) -> str:
        """Name in an engine; another definition has another."""
        return f"assay/{self.target.id}-{self.role}:{self.digest[:12]}"


def load_inputs(root: Path) -> ImagesFile:
    """Read ``containers/images.yaml``. Raises BadInput."""
    return load_yaml(ImagesFile, root / INPUTS)


def define(root: Path, target: Target, role: Role) -> Definition:
    """Render the Dockerfile and digest everything that decides on the image. Raises BadInput."""
    inputs = load_inputs(root)
    mine = inputs.role(role)
    lock = root / mine.lock
    labels = labels_of(inputs, target, role)
    dockerfile = render(root, inputs, target, role, labels)
    parts = (
        FORMAT,
        LAYER_FORMAT,
        dockerfile,
        lock_digest(lock),
        sha256_bytes(pip_entry(root).encode()),
        base_definition(inputs.base, mine.debian_packages),
        dump_record(inputs.base),
        sorted(inputs.environment.items()),
        sorted(labels.items()),
    )
    digest = sha256_bytes(repr(parts).encode())
    return Definition(target, role, inputs, lock, dockerfile, labels, digest)


def labels_of(inputs: ImagesFile, target: Target, role: Role) -> dict[str, str]:
    """Return the labels of an image."""
    own = {"assay.arch": target.arch, "assay.role": role, "assay.target": target.id}
    return {**inputs.labels, **own}


def render(
    root: Path, inputs: ImagesFile, target: Target, role: Role, labels: dict[str, str]
) -> str:
    """Return the Dockerfile of one image. Raises BadInput when the template names what there is
    not.
    """
    environment = Environment(
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - not HTML
    )
    mine = inputs.role(role)
    try:
        return environment.from_string(read_text(root / TEMPLATE)).render(
            role=role,
            target=target.id,
            arch=target.arch,
            environment=inputs.environment,
            labels=labels,
            site=mine.site,
            epoch=inputs.base.source_date_epoch,
            pip_wheel=f"pip-{lock_versions(root / PIP_LOCK)['pip']}-py3-none-any.whl",
        )
    except TemplateError as error:
        raise BadInput(f"{root / TEMPLATE}: {error}") from error


def pip_entry(root: Path) -> str:
    """pip's own lines of its lock: pip in the image is the one that installs on the host."""
    match = re.search(r"^pip==[^\n]*\n(?:[ ]+--hash[^\n]*\n)+", read_text(root / PIP_LOCK), re.M)
    if match is None:
        raise BadInput(f"{root / PIP_LOCK}: does not pin pip")
    return match.group(0).rstrip().removesuffix("\\").rstrip() + "\n"
