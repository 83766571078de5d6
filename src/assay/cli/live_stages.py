"""A running workflow at a terminal: one line a stage, kept up to date, and nothing that scrolls by.

Without a terminal nothing of this is made: each step is told by a plain line when it ends.
"""

import shutil
import subprocess
import textwrap
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from assay.base.printable import NARROWEST, folded
from assay.cli import console
from assay.cli.plan_words import roughly
from assay.cli.tables import is_terminal, show_line
from assay.findings.step_timings import ON_GPU, measured_here
from assay.pipeline.durations import Step
from assay.pipeline.stage_progress import StageProgress, mean_seconds
from assay.records.plan import Plan
from assay.report import formatting as fmt

EVERY_S = 5
"""Between two looks at the card. The measuring process takes its own samples, far more often."""
QUERY = ("nvidia-smi", "--query-gpu=clocks.sm,power.draw", "--format=csv,noheader,nounits")
NAME_WIDTH = 16
COUNT_WIDTH = 9


class CardWatch:
    """The clock and the power of this machine's first GPU, asked of nvidia-smi now and then."""

    def __init__(self) -> None:
        self.says = ""
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Begin to ask; nothing where there is no nvidia-smi."""
        if self._process is not None or shutil.which(QUERY[0]) is None:
            return
        with suppress(OSError):
            self._process = subprocess.Popen(
                [*QUERY, "-i", "0", "-l", str(EVERY_S)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            threading.Thread(target=self._read, daemon=True).start()

    def stop(self) -> None:
        """End asking."""
        process, self._process, self.says = self._process, None, ""
        if process is not None:
            process.terminate()
            process.wait()

    def _read(self) -> None:
        process = self._process
        if process is None or process.stdout is None:
            return
        for line in process.stdout:
            self.says = card_words(line)


def card_words(line: str) -> str:
    """Return what nvidia-smi says of clock and power, in words; empty for what is no such line."""
    parts = [part.strip() for part in line.split(",")]
    try:
        clock, power = (float(part) for part in parts)
    except ValueError:
        return ""
    return f"{clock:.0f} MHz, {power:.0f} W"


class LiveStages:
    """The lines of a workflow's stages, drawn anew whenever they are asked for."""

    def __init__(self, screen: Console, progress: StageProgress, card: CardWatch) -> None:
        self._screen, self._progress, self._card = screen, progress, card

    def see(self, line: str) -> None:
        """Take up one line of the workflow's output."""
        self._progress.see(line)
        measuring = any(
            state.running and name in ON_GPU for name, state in self._progress.stages.items()
        )
        if measuring:
            self._card.start()
        else:
            self._card.stop()

    def tell(self, line: str) -> None:
        """Print a line for people above the stages, unless these say the same."""
        if not self._progress.told(line):
            show_line(self._screen, line)

    def __rich__(self) -> RenderableType:
        lines = stage_lines(self._progress, self._card.says, self._screen.width - 1)
        return Group(*map(Text, lines))


def stage_lines(progress: StageProgress, card: str, width: int) -> Iterator[str]:
    """Yield a line for each stage that has begun, and what is left; none is broken in a word."""
    for name, state in progress.stages.items():
        if not state.begun:
            continue
        count = f"{state.ended}/{state.total}"
        head = f"{fmt.words(name):{NAME_WIDTH}}{count:>{COUNT_WIDTH}}  "
        if not state.running and state.ended >= state.total:
            yield f"{head}{fmt.duration(state.ended_at - state.started_at)}"
            continue
        left = progress.left_s(name)
        parts = [f"about {roughly(left)} left" if left is not None else "time not known"]
        if card and name in ON_GPU:
            parts.append(card)
        says = "; ".join(filter(None, [*parts, state.doing]))
        yield head + textwrap.shorten(says, max(width - len(head), NARROWEST), placeholder=" ...")
    waiting = [fmt.words(name) for name, state in progress.stages.items() if not state.begun]
    left = progress.all_left_s()
    if waiting:
        in_all = f"about {roughly(left)} left in all; " if left is not None else ""
        yield from folded(f"{in_all}to come: {', '.join(waiting)}", width)


@contextmanager
def live_stages(screen: Console, progress: StageProgress) -> Iterator[LiveStages]:
    """Show stages at the foot of a terminal until the body ends; their last state stays."""
    card = CardWatch()
    shown = LiveStages(screen, progress, card)
    try:
        with Live(shown, console=screen, refresh_per_second=2, redirect_stdout=False):
            yield shown
    finally:
        card.stop()


@contextmanager
def stages_shown(
    plan: Plan, known: Mapping[Step, float], cores: int, *, verbose: bool
) -> Iterator[LiveStages | None]:
    """Yield what shows a run's stages at a terminal; None elsewhere, where a line tells each step.

    ``known``: the seconds that steps likely take. Where everything is told (``verbose``), nothing
    stands still that could be kept up to date.
    """
    if verbose or not is_terminal(console.err):
        yield None
        return
    progress = StageProgress(mean_seconds(known), cores, measures=bool(measured_here(plan)))
    with live_stages(console.err, progress) as shown:
        yield shown
