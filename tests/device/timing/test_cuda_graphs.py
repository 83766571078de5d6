"""cuda_graphs and rounds: rotating buffers, one graph, a check of one of its outputs."""

import pytest

from assay.device.kernels.oracles import oracle
from assay.device.kernels.prepared import Prepared
from assay.device.tasks.benchmark import BenchmarkProcesses
from assay.device.timing import rounds
from assay.device.timing.cuda_graphs import GraphFailed, make_replay
from tests.device.helpers import SteadySensor, bsr_workload, honest, make_arm, protocol, timed


def record_and_repeat(record):
    """A capture without a GPU: the launches are made again."""
    record()
    return record


@pytest.fixture
def captured(monkeypatch):
    monkeypatch.setattr(rounds, "make_replay", lambda bound: make_replay(bound, record_and_repeat))


def run_graph(prepare, **rules):
    arms = (make_arm("ours", bsr_workload()),)
    rules = protocol(timer="graph", **rules)

    def run(arms, index, note, hand_over, alone):
        told = {"note": note, "l2_bytes": 50_000, "hand_over": hand_over, "alone": alone}
        return timed(arms, "ours", f"c:{index}", prepare, rules, **told)

    return BenchmarkProcesses(arms, "ours", rules, range(1), SteadySensor(), run, "c").measure()


class TestProcess:
    def test_samples_are_times_of_one_launch(self, captured, validated):
        process = run_graph(honest).processes[0]
        assert process["timer"] == "graph"
        assert process["arms"][0]["launches_per_sample"] >= 20
        checked = [t for b in process["blocks"] for t in b["turns"] if t["checked"]]
        assert checked
        assert all(turn["relative_error"] < 1e-3 for turn in checked)
        validated("Process", process)

    def test_results_kept_from_an_earlier_replay_are_caught(self, captured):
        def prepare(arm, inputs):
            out = inputs.new_output()
            out.copy_(oracle(inputs))
            return Prepared(lambda: out, None)

        measured = run_graph(prepare)
        assert measured.dropped["ours"].startswith("incorrect")

    def test_an_arm_that_cannot_be_captured_stops_the_comparison(self, monkeypatch):
        def refuse(bound):
            def capture(record):
                raise RuntimeError("operation not permitted when stream is capturing")

            return make_replay(bound, capture)

        monkeypatch.setattr(rounds, "make_replay", refuse)
        with pytest.raises(GraphFailed, match="ours: operation not permitted"):
            run_graph(honest)
