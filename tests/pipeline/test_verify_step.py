"""The workflow's last step verifies as a reader would, by the rules of the checkout's history."""

from pathlib import Path

import pytest

from assay.base.errors import CheckFailed
from assay.base.io import read_record, write_record
from assay.cli.commands.reproduce import _verify_command
from assay.evidence.stages import pipeline_path
from assay.pipeline.steps import Steps
from assay.records.attestation import PipelineRecord
from assay.records.plan import Request
from assay.report.render import render
from assay.verification.sign import sign
from tests.git_history import git
from tests.report_fixtures import write_repository, write_run

MARGIN = ("absolute_margin: 0.08", "absolute_margin: 0.5")

REPORT = Path("reports/demo_run")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with a history of one commit."""
    root = write_repository(tmp_path / "repo")
    git(root, "init", "-q")
    git(root, "add", "config", "kernels")
    git(root, "commit", "-q", "-m", "rules")
    return root


def other_margin(root: Path) -> None:
    path = root / "config" / "judging.yaml"
    assert MARGIN[0] in path.read_text()
    path.write_text(path.read_text().replace(*MARGIN))


def verified(root: Path, commit: str | None, clean: bool | None) -> tuple[str, Request]:
    """What the step wrote of a run that says to be of this state of the tree."""
    run = write_run(root)
    state = {"commit": commit, "clean_tree": clean}
    record = read_record(PipelineRecord, run / pipeline_path())
    write_record(record.model_copy(update=state), run / pipeline_path())
    request = read_record(Request, run / "request.json")
    request = request.model_copy(update={**state, "signing_key": str(root.parent / "key")})
    write_record(request, run / "request.json")
    render(root, run, root / "reports" / "demo_run")
    sign(root / "reports" / "demo_run", root.parent / "key")
    Steps(root, "results/demo_run").verify()
    return (run / "verified.txt").read_text(), request


def test_the_rules_of_a_commit_are_checked(root: Path) -> None:
    text, request = verified(root, git(root, "rev-parse", "HEAD"), True)
    assert "ok  policy: " in text
    assert "--accept-policy" not in _verify_command(REPORT, request)
    again = request.model_copy(update={"extra_keys": (f"{request.signing_key}.pub",)})
    assert _verify_command(REPORT, again) == _verify_command(REPORT, request), "each key once"


def test_other_rules_under_the_name_of_a_commit_fail(root: Path) -> None:
    head = git(root, "rev-parse", "HEAD")
    other_margin(root)
    with pytest.raises(CheckFailed, match=r"absolute_margin is 0\.5, not 0\.08") as raised:
        verified(root, head, True)
    assert raised.value.code == "policy"


def test_rules_of_a_tree_with_changes_are_listed_and_unproven(root: Path) -> None:
    head = git(root, "rev-parse", "HEAD")
    other_margin(root)
    text, request = verified(root, head, False)
    assert "ok  policy: accepted: judged by other rules" in text
    assert "absolute_margin is 0.5, not 0.08" in text
    assert "unproven: that margins, " in text
    assert _verify_command(REPORT, request)[-1] == "--accept-policy", "what is printed can be typed"


@pytest.mark.parametrize("commit", ["b" * 40, None])
def test_a_commit_that_no_history_holds_is_held_to_what_is_checked_out(
    root: Path, commit: str | None
) -> None:
    text, _ = verified(root, commit, None)
    assert "ok  policy: " in text
    assert "accepted" not in text


def test_a_commit_that_no_history_holds_does_not_end_a_run(root: Path) -> None:
    """A tree that came with the git of an older one, which a bundle's ASSAY_COMMIT names."""
    other_margin(root)
    text, _ = verified(root, "b" * 40, None)
    assert "ok  policy: accepted: judged by other rules than those of what is checked out" in text
    assert "unproven: that margins, " in text


def test_a_tree_without_git_is_unproven(root: Path) -> None:
    (root / ".git").rename(root.parent / "gone")
    text, _ = verified(root, "b" * 40, None)
    assert "unproven: that margins, protocols and claims are this verifier's: " in text
