"""Other contents for every timed launch of a project's arms, with the right answer still known.

Nothing is known of such an operation but its oracle, so no sign can be turned (``sign_flips``).
Instead a few whole sets of inputs are drawn beforehand; ahead of each launch, outside its timing,
another one than the last is copied into the tensors that the arm reads. A result that was kept from
an earlier call, by the address of the inputs or as the last one, is then wrong.
"""

import random

import torch

from assay.device.kernels.inputs import Inputs, Tensor
from assay.device.kernels.oracles import Errors, errors_of, oracle
from assay.device.kernels.project_code import put

SETS = 3
SEED_STRIDE = 104_729
"""Between the seeds of two sets."""


class Contents:
    """The set that the tensors hold, changed step by step."""

    def __init__(self, inputs: Inputs, seed: str, *, answers: bool = True) -> None:
        """``answers``: whether the right answer of each set is kept, for ``errors``."""
        self._inputs, self._tensors = inputs, inputs.tensors
        self._random = random.Random(seed)  # noqa: S311 - reproducible, not secret
        case = inputs.project_case
        first = {name: tensor.clone() for name, tensor in inputs.tensors.items()}
        own = inputs.workload.seed
        more = (case.inputs(own + SEED_STRIDE * number) for number in range(1, SETS))
        self._sets = [first, *more]
        self._answers: list[Tensor] = []
        for contents in self._sets if answers else ():
            put(self._tensors, contents, case.name)
            self._answers.append(oracle(inputs))
        put(self._tensors, first, case.name)
        self._number = 0
        self.current: Tensor = torch.zeros((), dtype=torch.int64, device=inputs.device)

    def step(self) -> None:
        """Put in another set; enqueued on the current stream."""
        number = self._random.randrange(SETS - 1)
        self._number = number + (number >= self._number)
        for name, tensor in self._tensors.items():
            tensor.copy_(self._sets[self._number][name])
        self.current.fill_(self._number)

    def snapshot(self) -> Tensor:
        """Return which set there is now, copied in stream order."""
        return self.current.clone()

    def errors(self, output: Tensor, at: Tensor) -> Errors:
        """Return how far an output of the set ``at`` is from its right answer."""
        return errors_of(self._inputs, output, self._answers[int(at)])
