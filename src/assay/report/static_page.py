"""Pages rendered from the templates, with nothing from outside."""

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from jinja2.exceptions import TemplateError

from assay.base.errors import BadInput
from assay.records.verdicts import Status
from assay.report import formatting as fmt
from assay.shared.counting import agreeing, counted


def static_page(templates: Path, name: str, **values: object) -> str:
    """Return a page, every value escaped. Raises BadInput where a template is missing or broken."""
    html, markdown = _environments(templates)
    try:
        return (markdown if ".md" in name else html).get_template(name).render(**values)
    except (TemplateError, OSError) as error:
        raise BadInput(f"{templates / name}: cannot be rendered: {error}") from error


@cache
def _environments(templates: Path) -> tuple[Environment, Environment]:
    loader = FileSystemLoader(templates)
    html = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    markdown = Environment(
        loader=loader,
        autoescape=False,  # noqa: S701 - HTML's escapes are not Markdown's: ``finalize`` does it
        undefined=StrictUndefined,
        finalize=fmt.markdown,
    )
    html.globals.update(fmt=fmt, counted=counted, agreeing=agreeing, statuses=tuple(Status))
    return html, markdown
