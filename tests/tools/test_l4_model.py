"""l4_model: the ranges that are claimed are those of the model; a slower clock takes longer."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
from tools.l4_model import (
    FMHA,
    L4_CLOCKS_GHZ,
    RECORD,
    SDPA,
    Rival,
    _two_digits,
    predicted_us,
    predictions,
)

from assay.base.io import read_record
from assay.catalog.load import load_catalog
from assay.records.attestation import VERDICTS
from assay.records.verdicts import VerdictsFile

ROOT = Path(__file__).parents[2]


def test_what_an_h100_took_is_of_the_record() -> None:
    (record,) = ROOT.glob(f"reports/published/*/evidence/earlier/{RECORD}/{VERDICTS}")
    verdicts = read_record(VerdictsFile, record).verdicts
    told = {each.claim: each.measured for each in verdicts if each.target == "h100"}
    for rival in (FMHA, SDPA):
        assert told[rival.claim] == rival.h100_ms


def test_a_rate_counts_what_its_claim_counts() -> None:
    catalog = load_catalog(ROOT)
    counted = catalog.audits["s004_audit_fmha_count"].operands[0]
    assert counted.value == FMHA.counted
    for rival in (FMHA, SDPA):
        name = rival.claim.replace("_time", "_rate")
        ours = catalog.claims[name.replace("s004", "l4_model")]
        assert ours.flop_formula is catalog.claims[name].flop_formula


def test_the_claims_are_what_the_model_comes_to() -> None:
    found = predictions()
    claims = load_catalog(ROOT).sources["l4_model"].claims
    for claim in (each for each in claims if each.kind == "prediction"):
        assert (claim.value, claim.to) == found[claim.id.replace("l4_model", "s004")]
        assert claim.id.replace("l4_model", "s004") in claim.predicts
        time = found.get(claim.id.replace("l4_model", "s004").replace("_rate", "_time"))
        if time is not None and claim.id != "l4_model_speedup":
            assert f"{time[0]:g} to {time[1]:g} ms" in (claim.computed or "")


@pytest.mark.parametrize("rival", [FMHA, SDPA])
def test_the_least_is_less_than_the_most_and_rises_with_what_an_h100_takes(rival: Rival) -> None:
    capped, boost = L4_CLOCKS_GHZ
    at = {clock: predicted_us(rival, clock, worst=False) for clock in (capped, boost)}
    assert at[boost] < at[capped] < predicted_us(rival, capped, worst=True)
    slower = replace(rival, h100_ms=2 * rival.h100_ms)
    assert predicted_us(slower, boost, worst=False) > at[boost]


def test_of_two_ctas_on_a_multiprocessor_each_waits_for_what_the_other_reads() -> None:
    capped, _ = L4_CLOCKS_GHZ
    least, most = (predicted_us(FMHA, capped, worst=worst) for worst in (False, True))
    assert most - least == pytest.approx((8203 + 2 * 4096) / 1e3 / capped + 5.243, rel=1e-3)


def test_a_range_is_rounded_outward() -> None:
    assert [_two_digits(each, math.floor) for each in (11.56, 7.0, 0.6354)] == [11, 7.0, 0.63]
    assert [_two_digits(each, math.ceil) for each in (0.04646, 35.14, 25)] == [0.047, 36, 25]
