"""What a machine says of itself, and what stands in the way of a run there."""

import pytest

from assay.base.errors import MissingEnvironment
from assay.remote.machine import RUN_BYTES, answers, objections, parse_machine, parse_run

GOOD = """\
system Linux x86_64
python /usr/bin/python3.12
gpu NVIDIA H100 80GB HBM3
free_kb 100000000
state none
"""


def wrong(text: str, payload: int = 0, *, own_python: bool = True) -> list[str]:
    machine = parse_machine("gpu", answers(text))
    return list(objections(machine, payload, own_python=own_python))


def test_nothing_stands_in_the_way_of_a_run_on_a_good_machine() -> None:
    assert wrong(GOOD) == []


@pytest.mark.parametrize(
    ("instead", "of", "says"),
    [
        ("system Linux aarch64", "system Linux x86_64", "is Linux aarch64, and"),
        ("lacks setsid\nlacks tail", "", "lacks setsid, tail: install"),
        ("", "gpu NVIDIA H100 80GB HBM3", "has no nvidia-smi that names a GPU"),
        ("gpu_problem no driver", "gpu NVIDIA H100 80GB HBM3", "its nvidia-smi fails (no driver)"),
        (
            "old_python 3.10",
            "python /usr/bin/python3.12",
            "3.11 or newer (its python3 is 3.10)",
        ),
        ("", "python /usr/bin/python3.12", "no Python 3.11 or newer (it has no python3)"),
        ("free_kb 1000000", "free_kb 100000000", "has 1.0 GB of free disk, and a run takes up to"),
    ],
)
def test_what_does_is_one_sentence_with_its_remedy(instead: str, of: str, says: str) -> None:
    text = GOOD.replace(of, instead, 1) if of else GOOD + instead
    found = wrong(text)
    assert len(found) == 1
    assert says in found[0]


def test_a_bundle_brings_a_python_where_there_is_none() -> None:
    text = GOOD.replace("python /usr/bin/python3.12\n", "")
    assert wrong(text, own_python=False) == []


def test_the_copy_needs_room_too() -> None:
    room = 100_000_000 * 1024 - RUN_BYTES
    assert wrong(GOOD, room) == []
    assert len(wrong(GOOD, room + 1)) == 1


@pytest.mark.parametrize("text", ["", "Welcome to gpu!\n", "system Linux x86_64\nfree_kb -\n"])
def test_a_machine_that_speaks_otherwise_is_none(text: str) -> None:
    with pytest.raises(MissingEnvironment, match="does not answer as a Linux"):
        parse_machine("gpu", answers(text))


def test_a_run_is_in_one_state() -> None:
    ended = parse_run("gpu", answers("stamp ab\nstate ended\nexit 3\n"))
    assert (ended.state, ended.stamp, ended.code) == ("ended", "ab", 3)
    with pytest.raises(MissingEnvironment, match="not all of x"):
        parse_run("gpu", answers("refused not all of x can be removed\n"))
    with pytest.raises(MissingEnvironment, match="does not answer"):
        parse_run("gpu", answers("state odd\n"))
