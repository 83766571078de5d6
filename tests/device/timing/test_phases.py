"""phases: seconds by phase, and what they leave."""

from assay.device.timing.phases import NAMES, Phases


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_counts_what_happens_inside_up_to_the_gpus_end():
    clock = Clock()

    def settle():
        clock.now += 2.0

    phases = Phases(settle, clock)
    for _ in range(2):
        with phases.phase("turns"):
            clock.now += 1.0
    phases.add("start", 0.5)
    assert phases.record() == {**dict.fromkeys(NAMES, 0.0), "turns": 6.0, "start": 0.5}


def test_moves_no_more_than_there_is():
    clock = Clock()
    phases = Phases(clock=clock)
    with phases.phase("warm_up"):
        clock.now += 3.0
    phases.move("warm_up", "first_launch", 2.0)
    phases.move("warm_up", "first_launch", 5.0)
    record = phases.record()
    assert (record["warm_up"], record["first_launch"]) == (0.0, 3.0)
