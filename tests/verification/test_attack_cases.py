"""Every case of ``tests/cases/attacks.py``: what is done to a report, and how verifying ends."""

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.cases.attacks import CASES
from tests.cases.bases import make_base
from tests.cases.codes import documented_codes, raised_codes
from tests.cases.site import SIGNERS, make_site, make_verifier, outcome_of

MOST_SECONDS = 10.0
MOST_MEMORY = 500_000_000
"""Bytes of the process that verifies, at its peak: what docs/trust.md promises of any refusal."""
SIGNED_ON = "1793491200"
"""2026-11-01: what the cases say of a key's days is said of this one."""
BAD_INPUT = ("bad-input", "key-", "trusted-keys", "yaml-tag", "record")
"""Codes of what is wrong with what the verifier was given."""


@dataclass
class Bench:
    """Where cases are tried."""

    bases: Path
    verifier: ProcessPoolExecutor


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with make_verifier() as verifier:
        yield Bench(tmp_path_factory.mktemp("bases"), verifier)


@pytest.mark.parametrize("name", CASES)
def test_a_case_ends_as_it_says(name, bench, tmp_path, monkeypatch):
    """For its own reason: by the code of the first check that fails, soon, in bounded memory."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", SIGNED_ON)
    case = CASES[name]
    site = make_site(make_base(case.base, bench.bases), tmp_path, case.asked)
    case.change(site)
    SIGNERS[case.resign](site)
    found = bench.verifier.submit(outcome_of, site).result(timeout=120)
    assert found.code == case.code, found.says
    assert (found.exit == 0) is (case.code is None)
    if found.exit == 2:
        assert found.code is not None and found.code.startswith(BAD_INPUT)
    assert all(line.isprintable() for line in found.says.splitlines())
    assert found.seconds < MOST_SECONDS
    assert found.peak < MOST_MEMORY
    if case.leaves:
        assert any(case.leaves in each for each in found.unproven)


def test_each_code_is_documented() -> None:
    """docs/verifying.md tells programs what the codes of refusals mean."""
    assert raised_codes() ^ documented_codes() == set()
