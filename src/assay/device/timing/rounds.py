"""Rounds: the launches, changes and checks of a turn, as single launches or graphs of many."""

import random
from functools import partial

from assay.device.kernels.inputs import Inputs, Tensor
from assay.device.kernels.oracles import Errors, errors_of, oracle
from assay.device.kernels.prepared import Prepare, Prepared, spoil
from assay.device.timing.contents import Contents
from assay.device.timing.cuda_graphs import Replay, make_replay, make_sets
from assay.device.timing.sign_flips import signs_of
from assay.device.timing.stopwatch import Keep
from assay.shared.specs import ArmSpec


class Single:
    """Single launches on one set of tensors whose contents change before each."""

    def __init__(self, inputs: Inputs, seed: str) -> None:
        self.inputs = inputs
        own = inputs.case is None
        # Before any sign is turned. What nobody wrote has no right answer.
        self.oracle = oracle(inputs) if own and inputs.workload.written else None
        self.changes = signs_of(inputs, seed) if own else Contents(inputs, seed)
        self.kept: Tensor = inputs.new_output()

    def bind(self, arm: ArmSpec, prepare: Prepare) -> "SingleRound":
        """Prepare an arm on these tensors."""
        return SingleRound(self, prepare(arm, self.inputs))

    def errors(self, output: Tensor, at: Tensor) -> Errors:
        """Return how far an output is from the oracle, whose contents were those of ``at``."""
        if isinstance(self.changes, Contents):
            return self.changes.errors(output, at)
        found = self.inputs.checked(self.changes.turned_back(output, at))
        return errors_of(self.inputs, found, self.oracle)


class SingleRound:
    """An arm bound to tensors. A kept output is compared by the contents its launch had."""

    def __init__(self, subject: Single, prepared: Prepared) -> None:
        self._subject, self._prepared = subject, prepared
        self.launch, self.inputs = prepared.launch, subject.inputs
        self.launches = 1
        """Launches of the arm that one call of ``launch`` enqueues."""
        self.swept, self.stranger = prepared.swept, prepared.stranger
        self._number: int | None = None
        self._poisoned = False
        self._places = [subject.kept, *([self.inputs.new_output()] if self.stranger else [])]
        self._contents = [subject.changes.snapshot() for _ in self._places]
        """What the launch whose output lies in each place was given."""

    def start_turn(self, number: int | None, samples: int, poisoned: bool) -> list[Keep]:
        """Get ready for a turn of ``samples``; ``number`` of the launch to check, None for none. Of
        a stranger's turns another one is kept, too, drawn when all that it is drawn from has ended.

        ``poisoned``: whether the output is filled with NaN before launch ``number``.
        """
        self._number, self._poisoned = number, poisoned
        numbered = [] if number is None else [self._keep(0, number)]
        return [*numbered, *([self._keep(1, None)] if self.stranger else [])]

    def _keep(self, place: int, number: int | None) -> Keep:
        current, contents = self._subject.changes.current, self._contents[place]
        taken = partial(contents.copy_, current)
        return Keep(number, self._places[place], self._prepared.arranged, taken)

    def before(self, number: int) -> None:
        """Called ahead of each launch, outside its timing."""
        self._subject.changes.step()
        if number == self._number and self._poisoned:
            self._prepared.poison()

    def errors(self) -> list[Errors]:
        """Return how far each kept output is from the oracle."""
        return list(map(self._subject.errors, self._places, self._contents))


class Rotating:
    """Sets of tensors that the launches of a graph take in turn."""

    def __init__(self, inputs: Inputs, seed: str, l2_bytes: int, cold: bool) -> None:
        self.inputs = inputs
        self.sets = make_sets(inputs, l2_bytes, cold)
        # The oracle is asked for an output when it is kept.
        self.changes = [
            signs_of(one, f"{seed}:{number}")
            if inputs.case is None
            else Contents(one, f"{seed}:{number}", answers=False)
            for number, one in enumerate(self.sets)
        ]
        self.random = random.Random(f"{seed}:sets")  # noqa: S311 - reproducible, not secret
        self.kept: Tensor = inputs.new_output()

    def bind(self, arm: ArmSpec, prepare: Prepare) -> "RotatingRound":
        """As of Single. Raises GraphFailed."""
        bound = [prepare(arm, inputs) for inputs in self.sets]
        return RotatingRound(self, make_replay(bound))


class RotatingRound:
    """The same of a graph. The last replay of a checked turn is kept: one random set's output."""

    def __init__(self, subject: Rotating, replay: Replay) -> None:
        self._subject, self._replay = subject, replay
        self.launches, self.inputs = replay.launches, subject.inputs
        self.swept, self.stranger = replay.bound[0].swept, replay.bound[0].stranger
        self._chosen, self._last, self._poisoned = 0, -1, False

    def launch(self) -> Tensor:
        """Replay the graph; returns the chosen set's output."""
        self._replay.launch()
        return self._replay.outputs[self._chosen]

    def start_turn(self, number: int | None, samples: int, poisoned: bool) -> list[Keep]:
        """As SingleRound, of the last replay: no code in it could ask which is checked."""
        self._chosen = self._subject.random.randrange(len(self._subject.sets))
        self._last, self._poisoned = samples - 1, poisoned and number is not None
        if number is None:
            return []
        return [Keep(samples - 1, self._subject.kept, self._replay.bound[0].arranged)]

    def before(self, number: int) -> None:
        """Change the chosen set each time, so that its last output is no old one."""
        self._subject.changes[self._chosen].step()
        if self._poisoned and number == self._last:
            spoil(self._replay.outputs[self._chosen])

    def errors(self) -> list[Errors]:
        """Ask the oracle as it is: nothing was changed since the kept launch."""
        inputs = self._subject.sets[self._chosen]
        return [errors_of(inputs, inputs.checked(self._subject.kept), oracle(inputs))]


Round = SingleRound | RotatingRound
Subject = Single | Rotating
