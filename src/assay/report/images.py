"""The images' part of the report: what compilers and measurements ran in, and what that holds."""

from collections.abc import Iterator
from dataclasses import dataclass

from assay.evidence.model import Evidence
from assay.evidence.stages import runner_image_path, sbom_path, toolchain_image_path
from assay.records.images import ImageBase, ImageRecord
from assay.report import formatting as fmt
from assay.report.links import Link, link


@dataclass(frozen=True)
class ImageRow:
    """One image."""

    target: str
    role: str
    image_id: str
    engine: str
    layers: str
    size: str
    base: str
    packages: str
    links: tuple[Link, ...]


def image_rows(evidence: Evidence) -> tuple[ImageRow, ...]:
    """Images that compiled, then images that measured."""
    return tuple(_rows(evidence))


def _rows(evidence: Evidence) -> Iterator[ImageRow]:
    for target, record in evidence.toolchain_images.items():
        yield _row(record, toolchain_image_path(target))
    for target, record in evidence.runner_images.items():
        yield _row(record, runner_image_path(target))


def _row(record: ImageRecord, path: str) -> ImageRow:
    return ImageRow(
        target=record.target,
        role={"toolchain": "compiles", "runner": "measures"}[record.role],
        image_id=record.image_id,
        engine=record.engine,
        layers=", ".join(fmt.short_hash(layer.removeprefix("sha256:")) for layer in record.layers),
        size=fmt.size(record.bytes),
        base=_base(record.base),
        packages=(
            f"{len(record.debian_packages)} Debian packages, "
            f"{len(record.python_packages)} Python distributions"
        ),
        links=(
            link(f"evidence/{path}"),
            Link(text="bill of materials", href=f"evidence/{sbom_path(path)}"),
        ),
    )


def _base(base: ImageBase) -> str:
    made = {
        "debian": "made of Debian packages",
        "registry": "pulled by digest",
        "host": "the GPU machine's own files",
    }
    digest = f", SHA-256 {fmt.short_hash(base.sha256)}" if base.sha256 else ""
    return f"{base.reference}: {made[base.kind]}{digest}"
