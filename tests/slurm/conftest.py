"""The cluster, which is one on a machine, and the runs on it that several files of tests wait for.

What such a run does takes a minute or more, most of it waiting, and each is on nodes of its own at
the time. So a file whose tests keep other nodes busy begins the runs of later files: ``begin``.
"""

import threading
from collections.abc import Iterator

import pytest

from tests.slurm.cluster import NODES, PARTITION, Cluster, slurm
from tests.slurm.measured import BegunRun, MeasuredCheckout, MeasuredRun, kill_outright, waited
from tests.slurm.recorded import RecordedRun, start_recorded


@pytest.fixture(scope="package")
def cluster() -> Iterator[Cluster]:
    with Cluster() as running:
        yield running


@pytest.fixture(scope="package")
def many_run(
    cluster: Cluster, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> BegunRun:
    """A run of three targets, of whose jobs one in ten ends on the way; one meets its time limit.

    The first card of the node that has two is another user's until the platform was recorded.
    """
    folder = tmp_path_factory.mktemp("many")
    place = MeasuredCheckout(folder, list(NODES), ["duel"])
    request.addfinalizer(place.stop)
    (folder / "every").write_text("10")
    (folder / "l4" / "slow").write_text("correctness.duel")
    run = MeasuredRun(place, "many")
    recorded = run.folder / "h200" / "platform.json"
    neighbour = f"until [ -e {recorded} ]; do sleep 0.1; done"
    slurm(
        "sbatch", f"--partition={PARTITION}", "--gpus=h200:1", "--output=/dev/null",
        f"--wrap={neighbour}",
    )  # fmt: skip
    begun = BegunRun(run, run.start())
    threading.Thread(target=_meet_limit, args=(run,), daemon=True).start()
    return begun


def _meet_limit(run: MeasuredRun) -> None:
    """Once a run's job waits on the node ``l4``, have it reach its time limit."""
    folder = run.place.folder / "l4"
    if waited((folder / "waiting").exists):
        (folder / "slow").unlink()
        number = [job for job in run.journal() if job.target == "l4"][-1].job_id
        slurm("scontrol", "update", f"JobId={number}", "TimeLimit=1")


@pytest.fixture(scope="package")
def recorded_run(
    cluster: Cluster, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RecordedRun]:
    """A run whose figures are those of a signed report."""
    run = start_recorded(tmp_path_factory.mktemp("slurm"))
    yield run
    if run.command.poll() is None:
        kill_outright(run.command)


def begin(request: pytest.FixtureRequest, *runs: str) -> None:
    """Begin runs that later tests of this session are about."""
    asked = {name for item in request.session.items for name in getattr(item, "fixturenames", ())}
    for run in runs:
        if run in asked:
            request.getfixturevalue(run)
