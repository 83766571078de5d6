"""The order of arms and the choice of turns to check. Pure: a process index gives one plan."""

import random
from dataclasses import dataclass

CONTROL = "control"
"""Second name of the control arm."""


@dataclass(frozen=True)
class Slot:
    """One turn to be taken."""

    name: str
    """Arm id, or CONTROL."""
    checked: bool


def block_order(names: list[str], source: random.Random) -> list[str]:
    """Return a random permutation followed by its mirror: drift within a block hits all alike
    (ABBA).
    """
    order = list(names)
    source.shuffle(order)
    return order + order[::-1]


def plan_blocks(names: list[str], blocks: int, checked_share: float, seed: str) -> list[list[Slot]]:
    """Return all turns of a process. Of each name's turns a random share is checked, at least
    one.
    """
    source = random.Random(seed)  # noqa: S311 - reproducible shuffling, not secrecy
    orders = [block_order(names, source) for _ in range(blocks)]
    turns = 2 * blocks
    share = max(1, round(checked_share * turns))
    checked = {name: set(source.sample(range(turns), share)) for name in names}
    taken = dict.fromkeys(names, 0)
    plan = []
    for order in orders:
        slots = []
        for name in order:
            slots.append(Slot(name, taken[name] in checked[name]))
            taken[name] += 1
        plan.append(slots)
    return plan
