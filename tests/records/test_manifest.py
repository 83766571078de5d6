"""Names of a report's files, and of what there are few of: each set stands once."""

import ast
from pathlib import Path
from typing import get_args

import pytest

from assay.records.images import EngineName, Role, RuntimeName, RuntimeWish
from assay.records.manifest import ATTESTATION, MANIFEST, PAGE, SIGNER, TEXT, VERDICTS
from assay.records.plan import Executor
from assay.runtimes.choose import OPENERS

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "assay"
HOME = PACKAGE / "records" / "manifest.py"
OTHERS = {
    PACKAGE / "images" / "archive.py",  # an image archive's own manifest.json
    PACKAGE / "records" / "attestation.py",  # a Literal, whose value the schema shows
}


@pytest.mark.parametrize("name", [MANIFEST, ATTESTATION, SIGNER, VERDICTS, PAGE, TEXT])
def test_a_files_name_is_typed_once(name: str):
    typed = {
        path
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value == name
    }
    assert typed - OTHERS == {HOME}


@pytest.mark.parametrize(
    "names",
    [set(get_args(kind)) for kind in (EngineName, RuntimeName, RuntimeWish, Executor, Role)],
    ids=["engines", "runtimes", "wishes", "executors", "roles"],
)
def test_a_set_of_names_is_typed_once(names: set[str]):
    typed = [
        path
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, (ast.Tuple, ast.List, ast.Set))
        and names <= {each.value for each in node.elts if isinstance(each, ast.Constant)}
    ]
    assert len(typed) <= 1


def test_every_runtime_can_be_opened_and_auto_tries_them_in_order():
    assert tuple(OPENERS) == get_args(RuntimeName)
    assert get_args(RuntimeWish) == ("auto", *OPENERS)
