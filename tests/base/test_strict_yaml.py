"""YAML: what is refused and by which code, what is taken, and that old files mean the same."""

import tracemalloc
from pathlib import Path
from typing import Any

import pytest
import yaml

from assay.base.strict_yaml import parse_yaml
from assay.shared.read_limits import Unreadable
from assay.verification.report_archive import read_archive
from tests.cases.yaml.syntax import REFUSED, TAKEN

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("case", REFUSED)
def test_hostile_yaml_is_refused_by_its_code(case: str) -> None:
    text, code = REFUSED[case]
    with pytest.raises(Unreadable) as raised:
        parse_yaml(text)
    assert raised.value.code == code, str(raised.value)
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 500


@pytest.mark.parametrize("case", TAKEN)
def test_what_only_looks_hostile_is_taken(case: str) -> None:
    text, value = TAKEN[case]
    found = parse_yaml(text)
    if value is not None:
        assert repr(found) == repr(value)


def test_a_refusal_names_the_line() -> None:
    with pytest.raises(Unreadable, match=r"^line 3: an alias \(\*x\)"):
        parse_yaml("a: 1\nb: 2\nc: *x\n")


def test_aliases_are_refused_before_anything_is_built() -> None:
    text, _ = REFUSED["nine levels of nine aliases each: 387 million values"]
    tracemalloc.start()
    try:
        with pytest.raises(Unreadable):
            parse_yaml(text)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


class _Earlier(yaml.SafeLoader):
    """The reader that the repository's files were written for: YAML 1.1 without dates."""


_Earlier.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in resolvers if not tag.endswith(":timestamp")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _repositorys() -> dict[str, str]:
    """Every YAML file of the repository, and of the reports that it publishes."""
    folders = ("config", "containers", "kernels", "profiles", "reports", "workflow")
    found = {
        path.relative_to(ROOT).as_posix(): path.read_text()
        for folder in folders
        for path in sorted((ROOT / folder).rglob("*.yaml"))
    }
    for archive in sorted((ROOT / "reports" / "published").glob("*.tar.xz")):
        for name, data in read_archive(archive).items():
            if name.endswith(".yaml"):
                found[f"{archive.name}/{name}"] = data.decode()
    return found


def test_every_file_of_the_repository_means_what_it_did() -> None:
    files = _repositorys()
    assert len(files) > 100
    for name, text in files.items():
        earlier: Any = yaml.load(text, Loader=_Earlier)
        assert repr(parse_yaml(text)) == repr(earlier), name
