"""Whether blocks are void, and said to run so, for the clock events that telemetry saw. Pure."""

from collections.abc import Mapping

from assay.records.measurements import Block, Process, Telemetry
from assay.records.workloads import Protocol
from assay.shared.clock_events import REGIMES, SHARED_GPU, VOIDING_REASONS
from assay.verification.contradictions import Findings, names
from assay.verification.process_turns import ROUNDING_S


def check_blocks(
    process: Process, protocol: Protocol, where: str, findings: Findings, *, exact: bool
) -> None:
    """A block is void, and ran, as its telemetry shows, and in no other way.

    ``exact``: no arm was dropped whose turns belonged to the blocks, too.
    """
    for number, block in enumerate(process.blocks):
        reasons = block.void.split(", ") if block.void else []
        if SHARED_GPU in reasons:
            findings.leave("that somebody else used the GPU where blocks are void for it")
        given = [reason for reason in reasons if reason != SHARED_GPU]
        place = f"{where}, block {number}"
        if not _seen_so(process.telemetry, block, protocol, VOIDING_REASONS, given, exact=exact):
            says = (
                f"void for '{block.void}', which its telemetry does not show"
                if given
                else "it counts, though its telemetry shows what voids it"
            )
            findings.refuse("void", f"{place}: {says}")
        ran = list(block.regimes)
        if not _seen_so(process.telemetry, block, protocol, REGIMES, ran, exact=exact):
            told = names(ran) if ran else "under no limit"
            findings.refuse("regime", f"{place}: it ran {told}, by its telemetry otherwise")


def _seen_so(
    telemetry: Telemetry,
    block: Block,
    protocol: Protocol,
    of: Mapping[int, str],
    given: list[str],
    *,
    exact: bool,
) -> bool:
    """Return whether telemetry shows those events of a kind while a block ran that are given."""
    interval = protocol.telemetry_interval_ms / 1e3
    slacks = (interval - ROUNDING_S, interval, interval + ROUNDING_S)
    seen = [_events(telemetry, block, slack, of) for slack in slacks]
    if exact:
        return given in seen
    # The block was longer than its turns that are left.
    whole = _events(telemetry, block, telemetry.at_s[-1] if telemetry.at_s else 0.0, of)
    return set(seen[0]) <= set(given) <= set(whole)


def _events(telemetry: Telemetry, block: Block, slack: float, of: Mapping[int, str]) -> list[str]:
    started = min((turn.started_s for turn in block.turns), default=0.0)
    ended = max((turn.ended_s for turn in block.turns), default=0.0)
    seen = 0
    for at, reasons in zip(telemetry.at_s, telemetry.event_reasons, strict=False):
        if started - slack <= at <= ended + slack:
            seen |= reasons
    return [name for bit, name in of.items() if seen & bit]
