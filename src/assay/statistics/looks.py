"""Sequential designs: how sure an interval must be that may be looked at several times. Pure.

A comparison is measured in a few fresh processes, and in more only where its verdict hangs
(Jennison & Turnbull 2000). Each look is another chance to be wrong, so the chance that the
confidence leaves is shared out among the looks beforehand, by the share of processes that each has:
Lan and DeMets' spending function of Pocock's kind. Where no look's interval misses the truth more
often than its share (as of normal process values), the interval at which a comparison stops holds
it as often as the confidence says, whenever it stops: Bonferroni's bound.

Few processes may all have met one state of a card that has two. A second state of which ``n``
processes saw nothing may still have a share of about 1.6 / n (four times in five it has less), and
would move the mean by that share of the gap between states: no interval of such a design is
narrower.

``python -m tools.simulation_looks`` shows what comes of it on data of known truth.
"""

import math
from collections.abc import Sequence

from assay.records.workloads import Judging

UNSEEN = math.log(5)
"""A state of share s is missed by n processes with chance (1 - s)^n: at this / n, by three in one
of ten cases and by many in one of five."""


def look_of(looks: Sequence[int], ran: int) -> int:
    """Return how many looks were taken by the time that ``ran`` processes were; 1 of a design with
    one.
    """
    return max(1, sum(processes <= ran for processes in looks))


def at_look(judging: Judging, looks: Sequence[int], ran: int) -> Judging:
    """Return the rules for the interval of a comparison of which ``ran`` processes were measured.

    ``looks``: the numbers of processes of its design, rising; fewer than two, and the rules stay.
    """
    if len(looks) < 2:
        return judging
    look, most = look_of(looks, ran), looks[-1]
    before = looks[look - 2] / most if look > 1 else 0.0
    share = _spent(looks[look - 1] / most) - _spent(before)
    confidence = 1 - (1 - judging.confidence) * share
    return judging.model_copy(update={"confidence": confidence, "width_factor": 1.0})


def _spent(fraction: float) -> float:
    """Return the share of the error that is spent when this fraction of the processes ran."""
    return math.log(1 + (math.e - 1) * fraction)


def least_half_width(judging: Judging, looks: Sequence[int], processes: int) -> float:
    """Return the least half-width (a log) that allows for a state which none of ``processes`` met;
    0 of a design with one look.
    """
    return math.log1p(judging.state_gap) * UNSEEN / processes if len(looks) > 1 else 0.0
