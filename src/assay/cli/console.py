"""What the command line prints: results on standard output, progress on standard error."""

import json
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from assay.base.check_log import NamedCheck
from assay.findings.step_timings import GpuWork, StageTotal, step_name
from assay.findings.tuning_outcomes import Outcome
from assay.records.images import ImageRecord
from assay.records.plan import Plan
from assay.records.verdicts import Status, Verdict, VerdictsFile
from assay.report import formatting as fmt
from assay.shared.counting import counted

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def say(text: str) -> None:
    """A line of the result, whole however long, with nothing in it read as markup."""
    out.print(text, markup=False, soft_wrap=True)


def show_json(value: object) -> None:
    """A result for programs."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def show_plan(plan: Plan) -> None:
    """What a run is about to do."""
    for target in plan.targets:
        err.print(
            f"[bold]{target.target}[/bold]: {escape(target.provision.detail)}; "
            f"{counted(len(target.comparisons), 'comparison')}, "
            f"{counted(len(target.programs), 'program run')}, "
            f"{counted(len(target.profiles), 'profile')}"
        )
    ways = Counter(answer.way for answer in plan.answers)
    told = ", ".join(f"{count} {way}" for way, count in sorted(ways.items()))
    err.print(
        f"{counted(len(plan.answers), 'answer')} planned: {told}; "
        f"{counted(len(plan.builds), 'build')}"
    )


def show_image(record: ImageRecord) -> None:
    """An image that can be started now."""
    say(f"{record.tag}: {record.image_id}")
    say(
        f"{fmt.size(record.bytes)}, {counted(len(record.debian_packages), 'Debian package')}, "
        f"{counted(len(record.python_packages), 'Python distribution')}; {record.engine}"
    )


def show_counts(counts: Mapping[Status, int]) -> None:
    """Verdicts by status."""
    table = _table(counted(sum(counts.values()), "verdict"), "status", "count", numbers=("count",))
    for status in Status:
        if counts.get(status):
            table.add_row(status.value, str(counts[status]))
    out.print(table, markup=False)


def show_timings(
    totals: Sequence[StageTotal], elapsed_s: float, work: Mapping[str, GpuWork]
) -> None:
    """Where the time of a run went, stage by stage; ``work``: that of each target's benchmarks."""
    numbers = ("steps", "seconds", "longest")
    table = _table("where the time went", "stage", *numbers, "which", numbers=numbers)
    for total in totals:
        table.add_row(
            total.stage.value,
            str(total.steps),
            f"{total.seconds:.1f}",
            f"{total.longest.seconds:.1f}",
            step_name(total.longest),
        )
    out.print(table, markup=False)
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


def show_checks(checks: Iterable[NamedCheck], notes: Iterable[str]) -> None:
    """What verifying found; every check that gets here holds."""
    for check in checks:
        out.print("[green]ok[/green]  ", end=" ")
        say(f"{check.name}: {check.detail}")
    for note in notes:
        say(f"note {note}")


def show_findings(rows: Iterable[tuple[str, bool, str, str]]) -> None:
    """Parts of the machine: name, whether it is there, what was found, what to do."""
    table = _table(None, "part", "state", "found", "remedy")
    for part, there, found, remedy in rows:
        table.add_row(part, "ok" if there else "missing", found, remedy)
    out.print(table, markup=False)


def show_claims(rows: Sequence[Mapping[str, Any]]) -> None:
    """The rows of ``assay.cli.listing``."""
    counts = Counter(row["kind"] for row in rows)
    table = _table(
        f"{counted(counts['claim'], 'claim')}, "
        f"{counted(counts['audit'], 'audit')} of their arithmetic",
        *("source:line", "claim", "claimed", "target", "answered by", "statement"),
    )
    for row in rows:
        claimed = "" if row["value"] is None else f"{row['value']:g} {row['unit'] or ''}".rstrip()
        table.add_row(
            f"{row['source']}:{row['line']}",
            row["claim"],
            claimed,
            row["target"] or ("any" if row["kind"] == "claim" else "none"),
            row["answered_by"] if row["kind"] == "claim" else "audit",
            row["statement"],
        )
    out.print(table, markup=False)


def show_tuning(outcomes: Sequence[Outcome]) -> None:
    """What the sweeps say of every choice."""
    table = _table("tuning", "choice", "variant", "its sweep says", "in full")
    for outcome in outcomes:
        choice = outcome.choice
        standing = fmt.words(outcome.standing.value)
        table.add_row(choice.id, choice.variant, standing, outcome.sentence)
    out.print(table, markup=False)


def show_side_by_side(names: Sequence[str], files: Sequence[VerdictsFile]) -> None:
    """The verdicts of several reports, one column each."""
    by_key = [{(v.claim, v.target): v for v in file.verdicts} for file in files]
    table = _table("verdicts side by side", "claim", "target", *names)
    keys = {key for verdicts in by_key for key in verdicts}
    for claim, target in sorted(keys, key=lambda key: (key[0], key[1] or "")):
        cells = (_cell(verdicts.get((claim, target))) for verdicts in by_key)
        table.add_row(claim, target or "", *cells)
    out.print(table, markup=False)


def _cell(verdict: Verdict | None) -> str:
    if verdict is None:
        return "absent"
    if verdict.measured is None:
        return f"{verdict.status.value} ({verdict.reason or 'no figure'})"
    return f"{verdict.status.value}: {verdict.measured} {verdict.unit or ''}"


def _table(title: str | None, *headings: str, numbers: Collection[str] = ()) -> Table:
    """An empty table; long cells are folded, never cut, and numbers stand to the right."""
    table = Table(title=title, title_justify="left")
    for heading in headings:
        table.add_column(
            heading, overflow="fold", justify="right" if heading in numbers else "left"
        )
    return table
