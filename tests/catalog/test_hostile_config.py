"""Configuration that would name files, options or commands of an enemy's choice is refused."""

import shutil
from pathlib import Path

import pytest

from assay.base.errors import BadInput
from assay.base.printable import shown_line
from assay.catalog.load import load_catalog
from tests.cases.yaml.records import REFUSED
from tests.report_fixtures import write_repository


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_repository(tmp_path_factory.mktemp("sound") / "repo")


@pytest.mark.parametrize("case", REFUSED)
def test_it_is_one_sentence(case: str, sound: Path, tmp_path: Path) -> None:
    path, stands, put = REFUSED[case]
    root = Path(shutil.copytree(sound, tmp_path / "repo"))
    text = (root / path).read_text()
    assert stands in text
    (root / path).write_text(text.replace(stands, put, 1))
    with pytest.raises(BadInput) as raised:
        load_catalog(root)
    sentence = str(raised.value)
    assert str(root / path) in sentence or "given twice" in sentence
    assert len(sentence) < 700
    assert "\n" not in shown_line(sentence)
    assert raised.value.exit_code == 2
