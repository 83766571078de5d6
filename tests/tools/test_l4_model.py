"""l4_model: the ranges that are claimed are those of the model; a slower clock takes longer."""

from pathlib import Path

from tools.l4_model import FMHA, RECORD, SDPA, predictions

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
