"""The check that a report's readable texts are what its evidence and verdicts render to."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.base.check_log import CheckLog
from assay.base.errors import CheckFailed
from assay.evidence.report_contents import ReportContents
from assay.records.attestation import PipelineRecord
from assay.records.manifest import TEXTS
from assay.statistics.shared_summaries import SharedSummaries


@dataclass(frozen=True)
class Renderer:
    """This version's way of making the readable texts; handed in, for stages know no other."""

    texts: Callable[[ReportContents, SharedSummaries], dict[str, str]]
    """The readable texts by name, rendered from a report's evidence and verdicts; the summaries
    are those that judging it again made."""
    commit: str | None
    """The commit this version is."""
    clean_tree: bool | None

    def made(self, pipeline: PipelineRecord) -> bool:
        """Return whether this very version, unchanged, says to have made a report."""
        same = self.commit is not None and self.commit == pipeline.commit
        return same and self.clean_tree is True and pipeline.clean_tree is True


def check_texts(
    log: CheckLog,
    report_dir: Path,
    contents: ReportContents,
    renderer: Renderer,
    summaries: SharedSummaries,
) -> str | None:
    """Render the texts again and compare every byte.

    Equal bytes pass, whichever version wrote them. Other bytes fail where this version made the
    report. Return how they differ where another version did: nothing is checked then.
    """
    problem = _problem(report_dir, contents, renderer, summaries)
    if problem is not None and not renderer.made(contents.pipeline):
        return problem
    with log.check("texts") as says:
        if problem is not None:
            raise CheckFailed(problem, code="texts")
        again = "rendered again from the evidence, byte for byte the same"
        says(f"{_listed(TEXTS)}: {again}", short="rendered again, the same")
    return None


def _problem(
    report_dir: Path, contents: ReportContents, renderer: Renderer, summaries: SharedSummaries
) -> str | None:
    """Return how the texts differ from what this version renders."""
    try:
        texts = renderer.texts(contents, summaries)
    except Exception as error:
        # A template of today may ask for what an older record does not hold.
        return f"{_listed(TEXTS)} cannot be rendered again: {type(error).__name__}: {error}"
    names = [name for name in TEXTS if _bytes(report_dir / name) != texts[name].encode()]
    return f"{_listed(names)}: the evidence renders to other bytes here" if names else None


def _bytes(path: Path) -> bytes | None:
    """Return a text; None where a report has none of that name, as those from before."""
    return path.read_bytes() if path.is_file() else None


def _listed(names: Sequence[str]) -> str:
    """Return names as a sentence has them."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
