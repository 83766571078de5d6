"""New contents for every timed launch, at next to no cost, with the right answer still known.

Every operation here is linear in one operand: the right-hand matrix, attention's values, or the
matrix whose tiles are loaded and summed. Turning the sign of one of its columns (there: rows) turns
the sign of that column of the result, exactly, in floating point too. So a few random columns are
turned before each launch, outside the timing, and an output is compared after its signs were turned
back. A result that was kept from an earlier call, by the address or by the content of the inputs,
is then wrong; so is a copy of the oracle.

Attention's gradients are linear in none of the matrices, and a rival may keep O of its own. But a
column of Q and K turned together leaves every score as it was, and turns that column of dQ and dK;
and the sign of dO is that of all three.
"""

import random
from typing import Any

import torch

from assay.device.kernels.inputs import ROWS, Inputs, Tensor
from assay.shared.attention_call import COLUMNS

PANELS = 16
"""Parts an operand's columns are cut into; one of them changes at a time, to keep it cheap."""
CHOICES = 64
"""Sign vectors drawn beforehand; with the panels they make a thousand steps, one after another."""
SIGN_BIT = 0x80
"""Of an 8-bit float. PyTorch multiplies no FP8 tensors, so their signs are turned as bits."""


def _operands(inputs: Inputs) -> tuple[Tensor, ...]:
    """Return the operands, turned together, whose columns' signs are the result's."""
    if inputs.workload.differentiates:
        return inputs.tensors["q"], inputs.tensors["k"]
    if inputs.workload.attends_in_fp8:  # V in the orders of those who read it
        return inputs.tensors["v"], inputs.tensors[COLUMNS].mT, inputs.tensors[ROWS]
    for name in ("v", "b", "b_values"):
        if name in inputs.tensors:
            return (inputs.tensors[name],)
    if inputs.workload.operation == "tma_load":
        return (inputs.tensors["a"].T,)  # a column of the sums is a row of A
    raise ValueError(f"{inputs.workload.operation} has no operand to turn signs of")


class Signs:
    """The signs that the columns of an operand have been turned to, changed step by step."""

    def __init__(self, inputs: Inputs, seed: str) -> None:
        self._operands = _operands(inputs)
        width = int(self._operands[0].shape[-1])
        self._panel = max(1, width // PANELS)
        self._columns = int(inputs.output_shape()[-1])
        self._random = random.Random(seed)  # noqa: S311 - reproducible, not secret
        # Zeros are measured because they are zeros: a sign bit would be data. So would it be in
        # memory that nobody wrote, and no result of that is compared.
        self._idle = inputs.workload.distribution in ("zeros", "unwritten")
        self.current: Tensor = torch.ones(width, dtype=torch.float32, device=inputs.device)
        drawn = self._draw(inputs.device)
        # Products of +1 and -1 are exact in every type; the operand's own type saves a conversion.
        self._choices = drawn.to(inputs.output_dtype)
        self._flips: Tensor | None = None
        if self._operands[0].element_size() == 1:
            self._flips = (drawn < 0).to(torch.uint8) * SIGN_BIT

    def _draw(self, device: str) -> Any:
        """CHOICES vectors of +1 and -1, each with at least one -1."""
        rows = []
        for _ in range(CHOICES):
            bits = self._random.getrandbits(self._panel) | 1 << self._random.randrange(self._panel)
            rows.append([-1.0 if bit == "1" else 1.0 for bit in f"{bits:0{self._panel}b}"])
        return torch.tensor(rows, device=device)

    def step(self) -> None:
        """Turn some columns; enqueued on the current stream."""
        if self._idle:
            return
        width = self._operands[0].shape[-1]
        begin = self._random.randrange(width // self._panel) * self._panel
        span = slice(begin, begin + self._panel)
        number = self._random.randrange(CHOICES)
        for operand in self._operands:
            if self._flips is None:
                operand[..., span].mul_(self._choices[number])
            else:
                operand.view(torch.uint8)[..., span].bitwise_xor_(self._flips[number])
        self.current[span].mul_(self._choices[number])

    def snapshot(self) -> Tensor:
        """Return the signs now, copied in stream order."""
        return self.current.clone()

    def turned_back(self, output: Tensor, signs: Tensor) -> Tensor:
        """Return an output as it would be had no sign been turned: exact, for only signs change."""
        times = -(-self._columns // signs.shape[0])
        # The columns of a sparse B are those of its blocks, over and over.
        return output * signs.repeat(times)[: self._columns].to(output.dtype)


class GradientSigns(Signs):
    """The same of attention's gradients: signs of the columns of Q and K, and last that of dO."""

    def __init__(self, inputs: Inputs, seed: str) -> None:
        super().__init__(inputs, seed)
        self._inputs, self._grad = inputs, inputs.tensors["grad"]
        self.current = torch.cat([self.current, self.current[:1]])

    def step(self) -> None:
        """Turn some columns, and half of the times dO."""
        super().step()
        if not self._idle and self._random.choice((False, True)):
            self._grad.neg_()
            self.current[-1].neg_()

    def turned_back(self, output: Tensor, signs: Tensor) -> Tensor:
        """As of Signs."""
        signs = signs.to(output.dtype)
        by_q, by_k, by_v = self._inputs.gradients(output * signs[-1])
        return torch.cat([by_q * signs[:-1], by_k * signs[:-1], by_v])


def signs_of(inputs: Inputs, seed: str) -> Signs:
    """Return the signs that are turned between launches of a workload."""
    return (GradientSigns if inputs.workload.differentiates else Signs)(inputs, seed)
