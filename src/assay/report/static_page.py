"""Pages beside a report: rendered from a template, with nothing from outside."""

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.exceptions import TemplateError

from assay.base.errors import BadInput


def static_page(templates: Path, name: str, **values: object) -> str:
    """Return a page, every value escaped. Raises BadInput where a template is missing or broken."""
    try:
        return _environment(templates).get_template(name).render(**values)
    except (TemplateError, OSError) as error:
        raise BadInput(f"{templates / name}: cannot be rendered: {error}") from error


@cache
def _environment(templates: Path) -> Environment:
    loader = FileSystemLoader(templates)
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
