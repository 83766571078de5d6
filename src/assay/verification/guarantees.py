"""The six things that a verified report guarantees, each by the checks that it rests on. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.base.check_log import NamedCheck
from assay.records.verification import ProofState
from assay.shared.counting import counted
from assay.verification.proof_tree import worst_state

TIMES = "The times are the signer's word."
"""What no check can guarantee."""


@dataclass(frozen=True)
class Guarantee:
    """One thing that holds where all of its checks do."""

    name: str
    checks: tuple[str, ...]
    says: str
    unasked: str = "nobody looked at it"


GUARANTEES = (
    Guarantee(
        "intact",
        ("signature", "statement", "name", "shape", "contents"),
        "a trusted key signed it, and every byte is as it was signed",
    ),
    Guarantee(
        "complete",
        ("evidence", "declared", "origins", "complete", "provenance"),
        "everything that the plan asked for is there, or there is a reason",
    ),
    Guarantee(
        "judged again",
        ("policy", "problems", "measured", "verdicts"),
        "the verdicts follow from the raw samples by the rules of this version",
    ),
    Guarantee("pages", ("texts",), "they say what the evidence says, byte for byte"),
    Guarantee(
        "gate first",
        ("machine", "gate", "binaries"),
        "each timed arm was correct before, by the same binary on the same GPU",
    ),
    Guarantee(
        "same binaries",
        ("sources", "rebuild"),
        "these sources compile to the recorded hashes; that those ran, nobody can show",
        "--rebuild compiles the sources again",
    ),
)
"""In this order; each check belongs to one."""


def guarantee_lines(checks: Sequence[NamedCheck]) -> Iterator[tuple[ProofState, str]]:
    """Yield the state of each guarantee and its line."""
    for guarantee in GUARANTEES:
        mine = [check for check in checks if check.name in guarantee.checks]
        state = worst_state(mine)
        yield state, f"{guarantee.name}: {_says(guarantee, state, mine)}"


def _says(guarantee: Guarantee, state: ProofState, checks: Sequence[NamedCheck]) -> str:
    if state is ProofState.FAILED:
        return ", ".join(check.name for check in checks if check.state is state)
    if state is ProofState.NOT_CHECKED:
        skipped = [check.detail for check in checks if check.state is state]
        return skipped[0].removeprefix("not checked, ") if skipped else guarantee.unasked
    left = sum(len(check.unproven) for check in checks)
    more = f"; {counted(left, 'thing')} left unproven, as named above" if left else ""
    return f"{guarantee.says}{more}"
