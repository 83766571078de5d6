"""A report in other places: its badge, its verdicts in Markdown, its citation in BibTeX. Pure.

All are derived from a report and no part of it: equal reports give equal bytes.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import date
from html import escape

from assay.base.printable import shown, shown_line
from assay.findings.headline import KINDS, OF_WHAT, Counts, headed
from assay.records.platform import Target
from assay.records.report_figures import OutcomeCounts, ReportFigure, ReportFigures
from assay.records.verdicts import Status
from assay.report import formatting as fmt
from assay.report.claims import project_stamp
from assay.report.counts import told, with_another
from assay.shared.counting import counted
from assay.verification.open_report import OpenReport

LABEL, DARK = "assay", "#3a3f47"
WIDTH, PADDING = 6.6, 6
"""Of a character in Verdana at 11 pixels, about: ``textLength`` holds the words to it."""


def badge(counts: Counts) -> str:
    """Return the badge of a report: its published speed figures, else its signer's own claims."""
    words, colour = _said(_shown(counts))
    title = escape(f"{LABEL}: {badge_words(counts)}")
    left, right = (WIDTH * len(text) + 2 * PADDING for text in (LABEL, words))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right:g}" height="20" '
        f'viewBox="0 0 {left + right:g} 20" role="img" aria-label="{title}"><title>{title}</title>'
        f'<rect width="{left:g}" height="20" fill="{DARK}"/>'
        f'<rect x="{left:g}" width="{right:g}" height="20" fill="{colour}"/>'
        '<g fill="#fff" font-family="Verdana, DejaVu Sans, sans-serif" font-size="11">'
        f"{_text(LABEL, PADDING)}{_text(words, left + PADDING)}</g></svg>\n"
    )


def _shown(counts: Counts) -> OutcomeCounts:
    return counts.get(headed(counts)) or OutcomeCounts(statuses={}, away={})


def badge_words(counts: Counts) -> str:
    """Return what a badge says, and everything that is counted."""
    shown = _shown(counts)
    total = counted(shown.total, *OF_WHAT[headed(counts)])
    return f"{total}: {told(shown)}" if shown.statuses else total


def _said(shown: OutcomeCounts) -> tuple[str, str]:
    """Return the words on the badge, and the colour of what they come to.

    Green: every figure holds on the GPU that its source names; as not reproduced: none holds.
    """
    statuses, total = shown.judged, shown.total
    if total == statuses.get(Status.NOT_RUN, 0):
        words = "nothing measured" if total else "no speed figure"
        return words, Status.NOT_RUN.facts.light
    reproduced, exceeded = (statuses.get(each, 0) for each in (Status.REPRODUCED, Status.EXCEEDED))
    held = reproduced + exceeded
    state = Status.INCONCLUSIVE if held else Status.NOT_REPRODUCED
    if held == total:
        state = Status.REPRODUCED
    words = f"{reproduced} of {counted(total, 'figure')} reproduced"
    words += f", {exceeded} exceeded" if exceeded else ""
    words += f", {shown.elsewhere} on another GPU" if shown.elsewhere else ""
    return words, state.facts.light


def _text(words: str, x: float) -> str:
    length = f"{WIDTH * len(words):g}"
    return f'<text x="{x:g}" y="14" textLength="{length}">{escape(words)}</text>'


def outcome_lines(figures: ReportFigures) -> list[str]:
    """Return how a report's figures came out, kind by kind; of a kind that nobody ran, nothing.
    Last, how many claims count with another.
    """
    lines = [
        f"{counted(found.total, *KINDS[kind])}: {told(found, kind)}"
        for kind, found in figures.counts.items()
        if set(found.statuses) - {Status.NOT_RUN}
    ]
    others = len(figures.claims) - sum(found.total for found in figures.counts.values())
    return [*lines, *([with_another(others)] if lines and others > 0 else [])]


def markdown_summary(figures: ReportFigures, targets: Mapping[str, Target]) -> str:
    """Return what a report says, and a row for each figure that it answers; of a target where
    nothing is timed that it is one.
    """
    rows = ["| verdict | claim | on | claimed | measured |", "|---|---|---|---|---|"]
    answered = [figure for figure in figures.figures if figure.status is not Status.NOT_RUN]
    rows += [_markdown_row(figures, each) for each in answered]
    left = len(figures.figures) - len(answered)
    more = [f"{counted(left, 'figure')} not run."] if left else []
    on = dict.fromkeys(each.target for each in answered if each.target is not None)
    untimed = [targets[name] for name in on if name in targets and not targets[name].timed]
    more += [f"{each.id}: {fmt.markdown(each.product)}." for each in untimed]
    counts = [f"- {line}" for line in outcome_lines(figures)]
    parts = [f"## {figures.run}", "", *counts, "", *rows, "", *more]
    return shown("\n".join(parts).strip()) + "\n"


def _markdown_row(figures: ReportFigures, figure: ReportFigure) -> str:
    said = figures.claims.get(figure.claim)
    measured = fmt.with_interval(figure.measured, figure.unit, figure.ci90, figure.claimed)
    named, claimed = (said.title, said.claimed) if said else (figure.claim, "")
    cells = figure.said, named, figure.target or "", claimed, measured
    return f"| {' | '.join(str(fmt.markdown(cell)) for cell in cells)} |"


SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}


def bibtex(report: OpenReport, authors: Sequence[str], version: str) -> str:
    """Return the entry of a signed report, which ends in a newline.

    ``authors``: who stands for it, by name; ``version``: of Assay.
    """
    signed, stamp = report.signed, project_stamp(report.contents.catalog)
    targets, measured = report.contents.catalog.targets, report.verdicts.dropna(subset="gpu")
    on_targets = zip(measured.gpu, measured.target, strict=True)
    # Where nothing is timed, the target's own name, which says so.
    products = sorted({g if n is None or targets[n].timed else targets[n].product
                       for g, n in on_targets})  # fmt: skip
    what = f"Figures of {stamp.title}" if stamp else "Published GPU-kernel figures"
    on = f" on {' and '.join(products)}" if products else ""
    day = date.fromisoformat(signed.statement.predicate.created[:10])
    notes = [
        f"Signed report of run {report.run}, {day}",
        f"SHA-256 of manifest.json {report.manifest_sha256}",
        f"signed by key {signed.signer.keyid} ({signed.signer.name})",
        *([f"judged by commit {report.commit}"] if report.commit else []),
    ]
    fields = {
        "title": "{" + _tex(f"{what}, measured again{on}") + "}",
        "author": " and ".join("{" + _tex(name) + "}" for name in authors),
        "year": str(day.year),
        "month": f"{day:%B}",
        "howpublished": _tex(f"Assay {version}, report {report.run}"),
        "note": _tex("; ".join(notes)),
    }
    key = f"assay_{re.sub('[^A-Za-z0-9]+', '_', report.run)}_{report.manifest_sha256[:8]}"
    lines = [f"  {name:12} = {{{value}}}," for name, value in fields.items()]
    return "\n".join([f"@misc{{{key},", *lines, "}"]) + "\n"


def _tex(text: str) -> str:
    """Return a text as TeX shows it, in one line and with nothing in it that is not seen."""
    return "".join(SPECIAL.get(character, character) for character in shown_line(text))
