"""l4_model: the ranges that are claimed are those of the model; a slower clock takes longer."""

import math
from pathlib import Path

import pytest
from tools.l4_model import FMHA, L4_CLOCKS_GHZ, SDPA, Rival, _two_digits, predicted_us, predictions

from assay.base.io import read_record
from assay.catalog.load import load_catalog
from assay.records.attestation import VERDICTS
from assay.records.verdicts import VerdictsFile

ROOT = Path(__file__).parents[2]


def test_the_claims_are_what_the_newest_report_and_the_model_come_to() -> None:
    (report,) = (path.parent for path in ROOT.glob(f"reports/published/*/{VERDICTS}"))
    found = predictions(read_record(VerdictsFile, report / VERDICTS))
    claims = load_catalog(ROOT).sources["l4_model"].claims
    for claim in (each for each in claims if each.kind == "prediction"):
        assert (claim.value, claim.to) == found[claim.id.replace("l4_model", "s004")]
        time = found.get(claim.id.replace("l4_model", "s004").replace("_rate", "_time"))
        if time is not None and claim.id != "l4_model_speedup":
            assert f"{time[0]:g} to {time[1]:g} ms" in (claim.computed or "")


@pytest.mark.parametrize("rival", [FMHA, SDPA])
def test_the_least_is_less_than_the_most_and_rises_with_what_an_h100_takes(rival: Rival) -> None:
    base, boost = L4_CLOCKS_GHZ
    at = {clock: predicted_us(rival, 0.01, clock, worst=False) for clock in (base, boost)}
    assert at[boost] < at[base] < predicted_us(rival, 0.01, base, worst=True)
    assert predicted_us(rival, 0.02, boost, worst=False) > at[boost]


def test_of_two_ctas_on_a_multiprocessor_each_waits_for_what_the_other_reads() -> None:
    base, _ = L4_CLOCKS_GHZ
    least, most = (predicted_us(FMHA, 0.0197392, base, worst=worst) for worst in (False, True))
    assert most - least == pytest.approx((8203 + 2 * 4096) / 1e3 / base + 5.243, rel=1e-3)


def test_a_range_is_rounded_outward() -> None:
    assert [_two_digits(each, math.floor) for each in (11.56, 7.0, 0.6354)] == [11, 7.0, 0.63]
    assert [_two_digits(each, math.ceil) for each in (0.04646, 35.14, 25)] == [0.047, 36, 25]
