"""``./assay test``: how many processes it starts."""

import pytest

from assay.cli.commands.test import MOST, processes


@pytest.mark.parametrize("words", [[], ["tests/judging", "-k", "ratio"], ["-x", "--durations=3"]])
def test_every_core_gets_a_process(words: list[str]) -> None:
    assert processes(words, 2) == ["-n", "2", "--dist", "loadfile"]
    assert processes(words, 1) == []
    assert processes(words, 500)[1] == str(MOST)


@pytest.mark.parametrize("words", [["-n", "0"], ["-n4"], ["--numprocesses=3"], ["--pdb"], ["--co"]])
def test_who_chooses_gets_what_they_chose(words: list[str]) -> None:
    assert processes(words, 8) == []
