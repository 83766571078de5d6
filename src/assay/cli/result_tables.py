"""What commands show as tables: images, timings of a run, claims, choices of a sweep."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from assay.cli import console
from assay.cli.console import say
from assay.cli.tables import TableColumn, show_table
from assay.findings.claimed_figures import COMPUTED, RELATIONS
from assay.findings.step_timings import GpuWork, StageTotal, step_name
from assay.findings.tuning_outcomes import SweepOutcome
from assay.records.images import ImageRecord
from assay.report import formatting as fmt
from assay.shared.counting import counted


def show_image(record: ImageRecord) -> None:
    """An image that can be started now."""
    say(f"{record.tag}: {record.image_id}")
    say(
        f"{fmt.size(record.bytes)}, {counted(len(record.debian_packages), 'Debian package')}, "
        f"{counted(len(record.python_packages), 'Python distribution')}; {record.engine}"
    )


def show_timings(
    totals: Sequence[StageTotal], elapsed_s: float, work: Mapping[str, GpuWork]
) -> None:
    """Where the time of a run went, stage by stage; ``work``: that of each target's benchmarks."""
    columns = (
        TableColumn("stage"),
        TableColumn("steps", 1, number=True),
        TableColumn("seconds", number=True),
        TableColumn("longest", 2, number=True),
        TableColumn("which", 3),
    )
    rows = [
        (
            total.stage.value,
            str(total.steps),
            f"{total.seconds:.1f}",
            f"{total.longest.seconds:.1f}",
            step_name(total.longest),
        )
        for total in totals
    ]
    show_table(console.out, console.err, "where the time went", columns, rows)
    say(
        f"{counted(sum(total.steps for total in totals), 'step')}, "
        f"{fmt.duration(elapsed_s)} on the clock; "
        "a step that had nothing to do keeps the time of its last run"
    )
    for target, part in work.items():
        say(
            f"benchmarks of {target}: processes kept the GPU busy in {fmt.percent(part.share)} of "
            f"{fmt.duration(part.wall_s)}, imports and starts included; the launches alone took "
            f"{fmt.percent(part.timed_share)}"
        )


def show_claims(rows: Sequence[Mapping[str, Any]], report: str | None) -> None:
    """The rows of ``assay.cli.listing``; ``report`` is the one that their verdicts stand in."""
    counts = Counter(row["kind"] for row in rows)
    title = f"{counted(counts['claim'], 'claim')}, {counted(counts['audit'], 'audit')}"
    where = f"; verdicts of {report}" if report else ""
    columns = (
        TableColumn("claim"),
        TableColumn("verdict", 1, prose=True),
        TableColumn("claimed", 2),
        TableColumn("source:line", 3),
        TableColumn("target", 4),
        TableColumn("statement", 5, prose=True),
        TableColumn("answered by", 6, prose=True),
    )
    cells = [
        (
            row["claim"],
            _standings(row["verdicts"]) or "none",
            _claimed(row),
            f"{row['source']}:{row['line']}",
            ", ".join(row["targets"]) or ("any" if row["kind"] == "claim" else "none"),
            row["statement"],
            row["answered_by"] if row["kind"] == "claim" else "audit",
        )
        for row in rows
    ]
    more = "a wider terminal, --json or a pipe shows all"
    show_table(
        console.out, console.err, f"{title} of their arithmetic{where}", columns, cells, more=more
    )


def _claimed(row: Mapping[str, Any]) -> str:
    """Return a listed claim's figure, marked where its source does not print it itself."""
    if row["value"] is None:
        return ""
    ends = [fmt.printed(end, None) for end in (row["value"], row["to"]) if end is not None]
    digits = f"{'~' if row['about'] else ''}{'-'.join(ends)}"
    bound = "" if row["to"] is not None else RELATIONS.get(row["relation"], "")
    figure = f"{bound}{fmt.with_unit(digits, row['unit'])}"
    return f"{figure}{COMPUTED}" if row["computed"] else figure


def _standings(verdicts: Sequence[Mapping[str, Any]]) -> str:
    """Return a claim's listed verdicts in short, each with its target where there are several."""
    return ", ".join(_standing(verdict, named=len(verdicts) > 1) for verdict in verdicts)


def _standing(verdict: Mapping[str, Any], *, named: bool) -> str:
    """Return a listed verdict in short: its status, what it would be elsewhere, or its cause.

    Of a figure from elsewhere the target is told in any case: it is not the claim's.
    """
    beside = f"there: {verdict['as_if']}" if verdict["as_if"] else verdict["why"]
    said = f"{verdict['status']} ({beside})" if beside else str(verdict["status"])
    return f"{verdict['target']}: {said}" if named or verdict["as_if"] else said


def show_tuning(outcomes: Sequence[SweepOutcome]) -> None:
    """What the sweeps say of every choice."""
    columns = (
        TableColumn("choice"),
        TableColumn("variant", 1),
        TableColumn("its sweep says", prose=True),
        TableColumn("in full", 2, prose=True),
    )
    rows = [
        (one.choice.id, one.choice.variant, fmt.words(one.standing.value), one.sentence)
        for one in outcomes
    ]
    show_table(console.out, console.err, "tuning", columns, rows)
