"""The report's account of where the time of the run went: lines, a picture, tables."""

import math
from collections.abc import Mapping

from assay.evidence.model import Evidence
from assay.evidence.stages import timings_path
from assay.findings import step_timings as timings
from assay.findings.step_timings import GpuWork, Span, StageTotal, Timeline
from assay.records.timings import Stage
from assay.report import formatting as fmt
from assay.report.figures.svg import (
    DASHES,
    INCH,
    MUTED,
    SERIES,
    Drawing,
    Scale,
    short,
    text_at,
    themed,
)
from assay.report.formatting import Row, link
from assay.shared.counting import counted

HOST, ON_GPU = SERIES[0], SERIES[1]
PALE = 0.4
"""Opacity of a bar of which the GPU was kept busy in a part only."""
MINUTES_FROM_S = 300.0
"""Axes longer than this count minutes."""
TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600)


def timings_section(evidence: Evidence) -> Row | None:
    """Return the section, or None where no timing was kept."""
    if evidence.timings is None or not evidence.timings.steps:
        return None
    steps = evidence.timings.steps
    totals = timings.stage_totals(steps)
    axis = timings.timeline(steps)
    work = timings.gpu_work(evidence, steps)
    overall = timings.total_work(work.values())
    here = timings.measured_here(evidence.plan)
    held = timings.gpu_seconds(steps, here)
    taken = timings.taken_up(evidence, steps)
    recorded = [t.target for t in evidence.plan.targets if t.provision.kind == "recorded"]
    return {
        "steps": len(steps),
        "axis": axis,
        "held": held if here else None,
        "overall": overall,
        "rest": max(0.0, held - overall.wall_s) if overall else 0.0,
        "taken": len(taken),
        "least": sum(record.seconds for record in taken),
        "earlier": [
            (target, before)
            for target in recorded
            if (before := timings.earlier_work(evidence, target)) is not None
        ],
        "svg": _picture(evidence, axis, totals, work, overall) if axis.length > 0 else None,
        "rows": [_row(total, overall) for total in totals],
        "work": [
            (*key, own)
            for key, record in evidence.benchmarks.items()
            if (own := timings.own_work(record)) is not None
        ],
        "link": link(f"evidence/{timings_path()}"),
    }


def _row(total: StageTotal, overall: GpuWork | None) -> tuple[str, ...]:
    """Return a stage's name, steps, time together, longest step, share of busy phases."""
    longest = f"{timings.step_name(total.longest)}, {fmt.duration(total.longest.seconds)}"
    busy = overall.share if overall and total.stage is Stage.BENCHMARK else None
    return (
        fmt.words(total.stage.value),
        str(total.steps),
        fmt.duration(total.seconds),
        fmt.NOTHING if total.steps == 1 else longest,
        fmt.percent(busy),
    )


def _picture(
    evidence: Evidence,
    axis: Timeline,
    totals: tuple[StageTotal, ...],
    work: Mapping[str, GpuWork],
    overall: GpuWork | None,
) -> str:
    """Return the steps of every stage as bars on one axis, pauses cut out."""
    of = {total.stage: total for total in totals}
    labels = [fmt.words(stage.value) for stage, _ in axis.stages]
    width, height = 8.4 * INCH, (0.75 + 0.3 * len(labels)) * INCH
    left = (0.25 + 0.068 * max(map(len, labels))) * INCH
    across = Scale(0, axis.length, left, 0.72 * width)
    up = Scale(-0.55, len(labels) - 0.45, 0.1 * INCH, height - 0.5 * INCH)
    drawing = Drawing("timings", "Where the time went: the steps of every stage", width, height)
    step, unit, title = _time_axis(axis.length)
    ticks = [(tick, f"{tick / unit:g}") for tick in across.multiples(step)]
    drawing.axis_below(across, ticks, up.start, up.end)
    here = timings.measured_here(evidence.plan)
    beside = across.end + 0.02 * (across.end - left)
    for number, (stage, spans) in enumerate(axis.stages):
        note = f"{counted(of[stage].steps, 'step')}, {fmt.duration(of[stage].seconds)}"
        if stage is Stage.BENCHMARK and overall:
            note += f", {fmt.percent(overall.share)} busy"
        _bars(drawing, number, spans, across, up, work, here)
        drawing.beside(left - 3.5, up(number), labels[number], "end")
        drawing.beside(beside, up(number), note, "start", 8)
    for at in axis.cuts:
        drawing.line([(across(at), up.start), (across(at), up.end)], MUTED, 0.7, DASHES)
    drawing.add(text_at((left + across.end) / 2, up.end + 27, title, "middle"))
    return drawing.svg()


def _bars(
    drawing: Drawing,
    number: int,
    spans: tuple[Span, ...],
    across: Scale,
    up: Scale,
    work: Mapping[str, GpuWork],
    here: frozenset[str],
) -> None:
    """Draw the bars of one row, each lane as high as their number allows; alike ones as one."""
    lanes = 1 + max(span.lane for span in spans)
    whole = 0.9 * (up(0.72 / lanes) - up(0))
    alike: dict[tuple[float, str], list[str]] = {}
    for span in spans:
        colour = ON_GPU if timings.holds_gpu(span.step, here) else HOST
        of_target = work.get(span.step.arguments.get("target", ""))
        known = of_target if span.step.stage is Stage.BENCHMARK else None
        part = min(1.0, known.share) if known else 1.0
        x, wide = across(span.start), short(across(span.end) - across(span.start))
        bottom = up(number - 0.36 + span.lane * 0.72 / lanes) + whole
        for opacity, high in ((PALE, whole), (1.0, part * whole)):
            if opacity == 1 or part < 1:
                outline = f"M{short(x)} {short(bottom)}h{wide}v-{short(high)}h-{wide}z"
                alike.setdefault((opacity, colour), []).append(outline)
    for (opacity, colour), outlines in sorted(alike.items()):
        # An edge of the bar's own colour keeps steps visible that are shorter than a pixel.
        look = f"fill: {themed(colour)}; stroke: {themed(colour)}; stroke-width: 0.4"
        pale = f"; opacity: {opacity:g}" if opacity < 1 else ""
        drawing.add(f'<path d="{"".join(outlines)}" style="{look}{pale}"/>')


def _time_axis(length: float) -> tuple[float, float, str]:
    """Return the step between ticks and the unit that a reader counts in, in s, and its title.

    At most ten steps, of round numbers.
    """
    minutes = length > MINUTES_FROM_S
    unit = 60.0 if minutes else 1.0
    tenth = length / unit / 10
    step = next((step for step in TICKS if step >= tenth), TICKS[-1] * math.ceil(tenth / TICKS[-1]))
    return step * unit, unit, "time on the clock, min" if minutes else "time on the clock, s"
