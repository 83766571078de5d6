"""Every case of ``tests/cases/verify``: what is done to a report, and what verify makes of it."""

import re
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.cases.attack import FOLDER, AttackCase, load_cases
from tests.cases.bases import make_base
from tests.cases.changes import CHANGES
from tests.cases.codes import ELSEWHERE, GENERIC, documented_codes, raised_codes
from tests.cases.outcomes import (
    MOST_MEMORY,
    MOST_SECONDS,
    Outcome,
    make_verifier,
    outcome_of,
)
from tests.cases.signers import SIGNERS
from tests.cases.site import make_site

CASES = load_cases()
UNCHANGED = AttackCase.model_validate_json(
    '{"says": "Unchanged.", "base": "report", "change": "leave_as_it_is", "expect": {"exit": 0}}'
)
FEWEST = 120
SIGNED_ON = "1793491200"
"""2026-11-01: what the cases say of a key's days is said of this one."""


@dataclass
class Bench:
    """Where cases are tried."""

    bases: Path
    verifier: ProcessPoolExecutor
    unproven: dict[tuple[str, str], int] = field(default_factory=dict)

    def outcome(self, case: AttackCase, scratch: Path) -> Outcome:
        """Change a copy of the base, have it signed, verify it apart."""
        site = make_site(case, make_base(case.base, self.bases), scratch)
        CHANGES[case.change](site, **case.arguments)
        SIGNERS[case.resign](site)
        return self.verifier.submit(outcome_of, site).result(timeout=120)

    def unproven_of_base(self, case: AttackCase, scratch: Path) -> int:
        """Return how much nothing could prove of the base as it is, however it is verified."""
        key = (case.base, case.verifier.model_dump_json())
        if key not in self.unproven:
            scratch.mkdir()
            same = {"base": case.base, "verifier": case.verifier}
            found = self.outcome(UNCHANGED.model_copy(update=same), scratch)
            assert found.exit == 0, found.says
            self.unproven[key] = len(found.unproven)
        return self.unproven[key]


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with make_verifier() as verifier:
        yield Bench(tmp_path_factory.mktemp("bases"), verifier)


@pytest.fixture(autouse=True)
def signed_on_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", SIGNED_ON)


@pytest.mark.parametrize("name", CASES)
def test_a_case_ends_as_it_says(name: str, bench: Bench, tmp_path: Path) -> None:
    """For its own reason: by the code of the first check that fails, soon, in bounded memory."""
    case = CASES[name]
    found = bench.outcome(case, tmp_path)
    assert (found.exit, found.code) == (case.expect.exit, case.expect.code), found.says
    assert all(line.isprintable() for line in found.says.splitlines())
    assert found.seconds < MOST_SECONDS
    assert found.peak < MOST_MEMORY
    if found.exit == 0:
        before = bench.unproven_of_base(case, tmp_path / "unchanged")
        assert len(found.unproven) == before + case.expect.unproven, found.unproven


@pytest.mark.parametrize(
    ("base", "resign"),
    sorted({(case.base, case.resign) for case in CASES.values() if case.resign != "enemy"}),
)
def test_what_is_signed_unchanged_verifies(
    base: str, resign: str, bench: Bench, tmp_path: Path
) -> None:
    """So that what a case is refused for is its change."""
    change = "state_what_it_stated" if resign == "payload" else "leave_as_it_is"
    same = {"base": base, "resign": resign, "change": change}
    found = bench.outcome(UNCHANGED.model_copy(update=same), tmp_path)
    assert found.exit == 0, found.says


class TestSuite:
    """What holds of the cases together."""

    def test_there_are_many_of_both_kinds(self) -> None:
        assert len(CASES) >= FEWEST
        exits = Counter(case.expect.exit for case in CASES.values())
        assert exits.keys() == {0, 1, 2}
        assert exits[0] >= FEWEST / 6

    def test_each_folder_is_a_case_and_nothing_else(self) -> None:
        assert {path.name for path in FOLDER.iterdir()} == CASES.keys()
        for folder in FOLDER.iterdir():
            assert [path.name for path in folder.iterdir()] == ["case.yaml"]
            assert re.fullmatch(r"[a-z0-9_]{3,60}", folder.name)

    def test_each_change_is_used_and_each_case_has_one(self) -> None:
        used = {case.change for case in CASES.values()} | {"state_what_it_stated"}
        assert used == CHANGES.keys()

    def test_each_says_another_thing(self) -> None:
        says = Counter(case.says for case in CASES.values())
        assert [text for text, count in says.items() if count > 1] == []

    def test_each_code_is_documented(self) -> None:
        """docs/verifying.md tells programs what the codes of refusals mean."""
        assert raised_codes() - documented_codes() == set()
        assert documented_codes() - raised_codes() == set()

    def test_each_code_has_a_case_or_is_tested_elsewhere(self) -> None:
        given = {case.expect.code for case in CASES.values()} - {None}
        plain = {str(code).removeprefix("origin-") for code in given} | given
        assert raised_codes() - GENERIC - plain == ELSEWHERE.keys()
        assert not ELSEWHERE.keys() & given
        for place in ELSEWHERE.values():
            assert (FOLDER.parents[1] / place).is_file()
