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


def plan_blocks(names: list[str], blocks: int, checked_share: float, seed: str) -> list[list[Slot]]:
    """Return all turns of a process: in a block a random order and its mirror, so that drift hits
    all alike (ABBA). Of each name's turns a random share is checked, at least one.
    """
    source = random.Random(seed)  # noqa: S311 - reproducible shuffling, not secrecy
    orders = []
    for _ in range(blocks):
        order = list(names)
        source.shuffle(order)
        orders.append(order + order[::-1])
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
