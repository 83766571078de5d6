"""Short kernels: many launches in one CUDA graph, over buffers that rotate.

A launch costs the host as long as a short kernel runs, so single launches would measure the gap. In
a graph the launches follow each other closely, and since each reads and writes other buffers, more
of them than L2 holds, every launch finds its inputs cold without a flush between.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from assay.device.kernels.drawn_inputs import make_inputs
from assay.device.kernels.inputs import Inputs, Tensor
from assay.device.kernels.prepared import Prepared
from assay.shared.errors import FailureKind, KnownFailure
from assay.shared.launch_facts import launch_facts

COLD_FACTOR = 2
"""Bytes that the buffers of one round cover, in units of the L2 size."""
MOST_SETS = 64
LEAST_LAUNCHES = 20
"""Launches in a graph at least: the graph's own start is spread over them."""
SEED_STRIDE = 7919
"""Between the seeds of two sets of buffers: other values, the same pattern."""


class GraphFailed(KnownFailure):
    """An arm's launches can't be captured; all arms of its comparison are timed by events then."""

    kind = FailureKind.NOT_CAPTURED


def make_sets(first: Inputs, l2_bytes: int, cold: bool) -> list[Inputs]:
    """Return the inputs that rotate, ``first`` too: one when warm, else more than L2 holds."""
    workload, layout = first.workload, (first.blocks, first.blocks_b)
    bytes_a_launch = max(1, launch_facts(workload, *layout).bytes)
    sets = min(MOST_SETS, math.ceil(COLD_FACTOR * l2_bytes / bytes_a_launch) + 1) if cold else 1
    seeds = (workload.seed + SEED_STRIDE * number for number in range(1, sets))
    return [first, *(make_inputs(workload, first.device, seed, layout) for seed in seeds)]


@dataclass(frozen=True)
class Replay:
    """A captured graph: one call launches it, and each set's output lies where it left it."""

    launch: Callable[[], Tensor]
    outputs: tuple[Tensor, ...]
    """By set; the memory is the same in every replay."""
    launches: int
    """Launches of the arm in one replay."""
    bound: tuple[Prepared, ...]
    """By set; a graph knows addresses only, and these hold the memory behind them."""


def _capture(record: Callable[[], None]) -> Callable[[], None]:
    """Capture what ``record`` enqueues; returns its replay."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        record()
    replay: Callable[[], None] = graph.replay
    return replay


def make_replay(
    bound: Sequence[Prepared],
    capture: Callable[[Callable[[], None]], Callable[[], None]] = _capture,
) -> Replay:
    """Return one graph over an arm bound to each set of buffers. Raises GraphFailed.

    Launched once each before: what a library sets up at its first call cannot be captured. Errors
    of that first launch are the arm's own and pass.
    """
    for prepared in bound:
        prepared.launch()
    # Whole rounds of the sets, at least LEAST_LAUNCHES.
    order = list(range(len(bound))) * math.ceil(LEAST_LAUNCHES / len(bound))
    outputs: dict[int, Tensor] = {}

    def record() -> None:
        for which in order:
            outputs[which] = bound[which].launch()

    try:
        replay = capture(record)
    except RuntimeError as error:
        raise GraphFailed(" ".join(str(error).split())[:200]) from error
    kept = tuple(outputs[which] for which in range(len(bound)))

    def launch() -> Tensor:
        replay()
        return kept[-1]

    return Replay(launch, kept, len(order), tuple(bound))
