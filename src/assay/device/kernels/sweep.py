"""Recorded sweeps: a rival's configurations, tried on the inputs that it is then timed on.

A rival counts when it is tuned as its own authors would, and when the record says what was tried.
A sweep is made once for a workload: the first process that has the GPU to itself leaves it in a
folder of the run, and later ones take it over, so that all of them time one configuration. So do
later runs on the same GPU with the same software, to which the host gives it. The gate does not
sweep.
"""

import io
import json
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path

import torch

from assay.device.kernels.inputs import Inputs
from assay.device.worker.messages import utc_now
from assay.device.worker.preload import SWEEPS_VARIABLE
from assay.shared.files import write_json
from assay.shared.job_file import build
from assay.shared.specs import Json

Configuration = dict[str, int]
Launch = Callable[[Configuration], object]
"""Enqueue one launch with a configuration; raises where it does not compile, or does not fit."""
Measure = Callable[[Callable[[], object], float], float]
"""(launch, how many ms of launches) to the median ms of one."""

TUNED = {
    "blksprs",
    "flex_attention_tuned",
    "flex_gradients_tuned",
    "torch_bsr_tuned",
    "torchao_bsr",
}
"""Variant.entry of what times its configurations as it is prepared or first launched."""
THREADS = 16
"""Compilations side by side, at most; a compiler's own passes hold no lock of Python's."""
SCREENING_MS, FINAL_MS = 25.0, 100.0
"""Launches of each configuration fill the first; those of the fastest few then fill the second."""
FINALISTS = 4
REASON_LENGTH = 160
MS_DIGITS = 6


@dataclass(frozen=True)
class Tried:
    """One configuration: its median time, or why it did not run."""

    settings: Configuration
    ms: float | None
    refused: str | None = None


@dataclass(frozen=True)
class Swept:
    """What was tried, in order, and what the arm runs; the RivalSweep record."""

    search: str
    chosen: Configuration
    tried: tuple[Tried, ...]
    seconds: float
    recorded_at: str = field(default_factory=utc_now)
    """When: before the run, where an earlier one swept."""


def bench_ms(launch: Callable[[], object], fill_ms: float) -> float:
    """Median ms of a launch with a cold L2, by Triton's own stopwatch."""
    bench = import_module("triton.testing").do_bench
    return float(bench(launch, warmup=fill_ms / 5, rep=fill_ms, return_mode="median"))


def sweep_grid(
    configurations: Sequence[Configuration], launch: Launch, measure: Measure = bench_ms
) -> Swept:
    """Compile all configurations side by side, time each, and the fastest few once more.

    Raises RuntimeError where none of them runs, with what the first one said.
    """
    began = time.monotonic()
    walk = Walk(launch, measure)
    for settings, refused in zip(configurations, compiled(configurations, launch), strict=True):
        if refused is None:
            walk.time(settings, SCREENING_MS)
        else:
            walk.tried.append(Tried(settings, None, refused))
    return walk.finish("grid", began)


def compiled(configurations: Sequence[Configuration], launch: Launch) -> list[str | None]:
    """Compile configurations side by side; return why each is refused, or None."""
    # The first one alone: a compiler sets itself up in it.
    refusals = [refusal(launch, one) for one in configurations[:1]]
    with ThreadPoolExecutor(min(THREADS, os.cpu_count() or 1)) as pool:
        refusals += pool.map(lambda one: refusal(launch, one), configurations[1:])
    return refusals


def refusal(launch: Launch, settings: Configuration) -> str | None:
    """Return why a first launch fails, or None. A compiler refuses with errors of many kinds."""
    try:
        launch(settings)
    except Exception as error:
        return f"{type(error).__name__}: {error}".partition("\n")[0][:REASON_LENGTH]
    return None


class Walk:
    """Configurations timed one after the other, by whoever picks the next."""

    def __init__(self, launch: Launch, measure: Measure = bench_ms) -> None:
        self._launch, self._measure = launch, measure
        self.tried: list[Tried] = []

    def time(self, settings: Configuration, fill_ms: float) -> float:
        """Time a configuration and note it. Raises RuntimeError for one that does not run."""
        refused = refusal(self._launch, settings)
        if refused is not None:
            self.tried.append(Tried(dict(settings), None, refused))
            raise RuntimeError(refused)
        ms = self._measure(lambda: self._launch(settings), fill_ms)
        self.tried.append(Tried(dict(settings), round(ms, MS_DIGITS)))
        return ms

    def fastest(self) -> list[Configuration]:
        """Return the configurations that ran so far, those that took least first."""
        ran = [one for one in self.tried if one.ms is not None]
        return [one.settings for one in sorted(ran, key=lambda one: one.ms or 0.0)]

    def finish(self, search: str, began: float, chosen: Configuration | None = None) -> Swept:
        """Return the record; ``chosen``: None for the fastest, after another look at the fastest
        few. Raises RuntimeError where nothing ran.
        """
        fastest = self.fastest()
        if not fastest:
            said = self.tried[0].refused if self.tried else "there is none"
            raise RuntimeError(f"no configuration runs here: {said}")
        if chosen is None:
            again = [(self.time(one, FINAL_MS), one) for one in fastest[:FINALISTS]]
            chosen = min(again, key=lambda timed: timed[0])[1]
        return Swept(search, chosen, tuple(self.tried), round(time.monotonic() - began, 3))


class _Alone:
    """Whether this process has the GPU to itself."""

    sweeps = False


def allow_sweeps() -> None:
    """Let this process, which has the GPU to itself, sweep, and leave what it found."""
    _Alone.sweeps = True


def swept_once(entry: str, inputs: Inputs, make: Callable[[], Swept]) -> Swept | None:
    """Return the sweep of a library on a workload: the run's own, or what ``make`` comes to.

    None where neighbours share the GPU and nobody has swept yet, as at the gate: the library's own
    choice runs there, and the outputs of what a sweep chose are checked where it is timed.
    """
    folder = os.environ.get(SWEEPS_VARIABLE)
    place = Path(folder) / f"{entry}-{inputs.workload.id}.json" if folder else None
    where = _where(inputs)
    if place is not None and (kept := _read(place, where)) is not None:
        return kept
    if not _Alone.sweeps:
        return None
    # Triton prints the whole assembly of a configuration that does not compile.
    with redirect_stdout(io.StringIO()):
        swept = make()
    if place is not None:
        write_json({"where": where, "swept": asdict(swept)}, place)
    return swept


def _where(inputs: Inputs) -> Json:
    """What a sweep holds for: the GPU, the versions that compiled, and all of the problem."""
    gpu = None
    if inputs.device.startswith("cuda"):
        gpu = str(getattr(torch.cuda.get_device_properties(0), "uuid", "unknown"))
    problem = json.dumps(asdict(inputs.workload), sort_keys=True)
    return {"gpu": gpu, "torch": str(torch.__version__), "workload": problem}


def _read(place: Path, where: Json) -> Swept | None:
    try:
        document: Json = json.loads(place.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    if document["where"] != where:
        return None
    return build(Swept, document["swept"])
