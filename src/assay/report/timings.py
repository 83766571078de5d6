"""The report's account of where the time of the run went."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from assay.evidence.model import Evidence
from assay.evidence.stages import timings_path
from assay.findings import step_timings as timings
from assay.findings.step_timings import GpuWork, Span, StageTotal, Timeline
from assay.records.timings import Stage, StepTiming
from assay.report import formatting as fmt
from assay.report.figure_timings import StageRow, StepBar, where_the_time_went
from assay.report.links import Link, link
from assay.report.rate_pictures import Picture
from assay.shared.counting import agreeing, counted

CAPTION = (
    "Every step on the clock, from its start to its end; steps that ran side by side lie in lanes "
    "of their row. Blue steps ran on the host alone, orange ones held a GPU. Of a benchmark, the "
    "dark part of its height is the share of busy phases."
)
WORK = (
    "Busy phases are those in which a process keeps the GPU busy, by the host's clock. In them it "
    "makes inputs, computes the oracle, warms up, takes its timed turns and checks outputs. "
    "Settling, flushes of L2 and changes of contents belong to the turns. Importing, compiling, "
    "loading and starting are no busy phases. Launches are a part of them: those that warm up, "
    "settle or are timed, as CUDA events measured them."
)
CUT = " At a dashed line the run was started again later; the pause is left out."


@dataclass(frozen=True)
class TimingRow:
    """One stage."""

    stage: str
    steps: str
    seconds: str
    longest: str
    busy: str


@dataclass(frozen=True)
class WorkRow:
    """One comparison's benchmark, by its own record."""

    target: str
    comparison: str
    seconds: str
    busy: str
    launches: str


@dataclass(frozen=True)
class TimingsSection:
    """The section on the time that the run took."""

    lines: tuple[str, ...]
    picture: Picture | None
    rows: tuple[TimingRow, ...]
    work: tuple[WorkRow, ...]
    work_note: str
    link: Link


def timings_section(evidence: Evidence) -> TimingsSection | None:
    """Return the section, or None where no timing was kept."""
    if evidence.timings is None or not evidence.timings.steps:
        return None
    steps = evidence.timings.steps
    here = timings.measured_here(evidence.plan)
    totals = timings.stage_totals(steps)
    axis = timings.timeline(steps)
    work = timings.gpu_work(evidence, steps)
    overall = timings.total_work(work.values())
    svg = where_the_time_went(
        [_stage_row(stage, spans, totals, overall, work, here) for stage, spans in axis.stages],
        axis.length,
        axis.cuts,
        "timings",
    )
    return TimingsSection(
        lines=tuple(_lines(evidence, axis, totals, overall)),
        picture=Picture(svg, CAPTION + (CUT if axis.cuts else "")) if svg else None,
        rows=tuple(_row(total, overall) for total in totals),
        work=tuple(_work_rows(evidence)),
        work_note=WORK,
        link=link(f"evidence/{timings_path()}"),
    )


def _lines(
    evidence: Evidence,
    axis: Timeline,
    totals: tuple[StageTotal, ...],
    overall: GpuWork | None,
) -> Iterator[str]:
    steps = evidence.timings.steps if evidence.timings else ()
    here = timings.measured_here(evidence.plan)
    yield (
        f"{counted(len(steps), 'step')} up to the verdicts, "
        f"{fmt.duration(axis.length)} on the clock. The time to write, sign and verify this "
        "report came after it, and what Snakemake or a scheduler needs to start a step is in no "
        "step."
    )
    if here:
        yield _held(timings.gpu_seconds(steps, here), overall)
    for step in steps:
        if step.stage is Stage.BENCHMARK and len(step.gpus) > 1:
            shares = ", ".join(
                f"{uuid[:12]} {fmt.percent(share)}"
                for uuid, share in timings.held_shares(step).items()
            )
            yield (
                f"{timings.step_name(step)}: {len(step.gpus)} GPUs shared the benchmarks out; of "
                f"the step's {fmt.duration(step.seconds)} a unit of work had each of them for "
                f"{shares}."
            )
    if taken := timings.taken_up(evidence, steps):
        least = fmt.duration(sum(record.seconds for record in taken))
        yield (
            f"{len(taken)} of the benchmarks {agreeing(len(taken), 'was', 'were')} finished by an "
            "earlier start of this run, which was interrupted. What that took (by their own "
            f"records, {least}; the start did more) stands in none of these sums."
        )
    for planned in evidence.plan.targets:
        earlier = timings.earlier_work(evidence, planned.target)
        if planned.provision.kind == "recorded" and earlier:
            yield (
                f"The benchmarks of {planned.target} were taken over, which takes no time here. "
                f"By their own record they took {fmt.duration(earlier.wall_s)}, "
                f"{fmt.percent(earlier.share)} of it in busy phases and "
                f"{fmt.percent(earlier.timed_share)} in launches."
            )


def _held(seconds: float, overall: GpuWork | None) -> str:
    """Return how long steps held a GPU, and how much of it is known to have kept it busy."""
    text = f"Steps held a GPU to themselves for {fmt.duration(seconds)} together."
    if overall is None:
        return f"{text} In how much of it they kept it busy is not known."
    text += (
        f" In {fmt.duration(overall.work_s)} of it processes are known to have kept the GPU busy, "
        f"all in the benchmarks: {fmt.percent(overall.share)} of their "
        f"{fmt.duration(overall.wall_s)}, imports and starts included. The launches alone, as CUDA "
        f"events measured them, took {fmt.duration(overall.timed_s)} "
        f"({fmt.percent(overall.timed_share)})."
    )
    if (rest := seconds - overall.wall_s) > 0:
        text += f" Of the steps' other {fmt.duration(rest)} no phases are kept."
    return text


def _stage_row(
    stage: Stage,
    spans: tuple[Span, ...],
    totals: tuple[StageTotal, ...],
    overall: GpuWork | None,
    work: Mapping[str, GpuWork],
    here: frozenset[str],
) -> StageRow:
    total = next(total for total in totals if total.stage is stage)
    note = f"{_steps(total)}, {fmt.duration(total.seconds)}"
    if stage is Stage.BENCHMARK and overall:
        note += f", {fmt.percent(overall.share)} busy"
    return StageRow(
        label=fmt.words(stage.value),
        note=note,
        bars=tuple(
            StepBar(
                start=span.start,
                end=span.end,
                lane=span.lane,
                on_gpu=timings.holds_gpu(span.step, here),
                share=_share(span.step, work),
            )
            for span in spans
        ),
    )


def _share(step: StepTiming, work: Mapping[str, GpuWork]) -> float | None:
    if step.stage is not Stage.BENCHMARK:
        return None
    of_target = work.get(step.arguments.get("target", ""))
    return of_target.share if of_target else None


def _work_rows(evidence: Evidence) -> Iterator[WorkRow]:
    """Yield a row for each benchmark that the report holds, wherever it was measured."""
    for (target, comparison), record in evidence.benchmarks.items():
        if (work := timings.own_work(record)) is not None:
            yield WorkRow(
                target=target,
                comparison=comparison,
                seconds=fmt.duration(work.wall_s),
                busy=fmt.percent(work.share),
                launches=fmt.percent(work.timed_share),
            )


def _row(total: StageTotal, overall: GpuWork | None) -> TimingRow:
    shared = overall is not None and total.stage is Stage.BENCHMARK
    return TimingRow(
        stage=fmt.words(total.stage.value),
        steps=str(total.steps),
        seconds=fmt.duration(total.seconds),
        longest=(
            fmt.NOTHING
            if total.steps == 1
            else f"{timings.step_name(total.longest)}, {fmt.duration(total.longest.seconds)}"
        ),
        busy=fmt.percent(overall.share) if overall and shared else fmt.NOTHING,
    )


def _steps(total: StageTotal) -> str:
    return counted(total.steps, "step")
