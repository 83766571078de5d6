"""handover: what a child sends arrives; one that never stops sending stops nobody."""

import pytest

from assay.device.worker import forks, handover
from assay.device.worker.handover import Handover


@pytest.mark.parametrize("floods", [False, True])
def test_a_child_that_sends_without_end_is_stopped_at_its_deadline(monkeypatch, floods):
    monkeypatch.setattr(handover, "MOST", 1 << 20)
    given = Handover()

    def work(_note):
        send = given.as_child()
        send({"turn": 1})
        while floods:
            send({"turn": "x" * 10_000})
        return {}

    (outcome,) = forks.each_child([work], 1.0, 1, on_tick=lambda _running: given.poll())
    assert (outcome.error is None) != floods
    assert len(given._arrived) < (1 << 20) + handover.AT_ONCE
    assert floods or given.documents() == [{"turn": 1}]
