"""late_writes: an output that changes between the end of its time and somewhat later."""

import pytest
import torch

from assay.device.timing.late_writes import PIECE_BYTES, LateWrites

OUTPUTS = {
    "large": torch.zeros(64, PIECE_BYTES),
    "small": torch.zeros(3, dtype=torch.int16),
    "transposed": torch.zeros(8, 4, 16, 64).transpose(1, 2)[:, 1:],
    "several": (torch.zeros(5), torch.zeros(7, 9, dtype=torch.float16)),
}


@pytest.mark.parametrize("name", OUTPUTS)
@pytest.mark.parametrize("late", [False, True])
def test_only_what_changes_is_seen(name: str, late: bool) -> None:
    output, watch = OUTPUTS[name], LateWrites()
    for _ in range(2):
        watch.begin(output)
        for part in (output if isinstance(output, tuple) else (output,)) if late else ():
            part.sub_(1)
        watch.end()
        assert watch.seen() is late


def test_an_output_without_memory_tells_nothing() -> None:
    watch = LateWrites()
    for output in (torch.zeros(0, 4), "no tensor"):
        watch.begin(output)
        watch.end()
        assert not watch.seen()
