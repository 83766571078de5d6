"""The end of a run's report: it is signed, then verified as its reader will."""

from functools import partial
from pathlib import Path

from assay.records.plan import Request
from assay.report.render import render_contents
from assay.verification.policy import Policy
from assay.verification.rendered_again import Renderer
from assay.verification.sign import public_key_path, sign
from assay.verification.trusted_keys import project_keys, trusted_keys
from assay.verification.verify import verify


def sign_own(report_dir: Path, request: Request) -> None:
    """Sign a report as its run was asked to. Raises what ``sign`` raises."""
    sign(report_dir, Path(request.signing_key))


def verify_own(root: Path, report_dir: Path, request: Request) -> str:
    """Verify the signed report of a run as its reader will: with the signer's own key and the
    trusted ones, by the rules that the history of the repository at ``root`` holds. Return what was
    found, a line a check.

    A run of a tree that is no commit's may have rules of its own: they are listed, and its readers
    must accept them. Where there is no history, nothing is proven of them. Raises CheckFailed.
    """
    home = None if request.home is None else Path(request.home)
    own = public_key_path(Path(request.signing_key))
    keys = [own, *project_keys(home), *trusted_keys(root), *map(Path, request.extra_keys)]
    result = verify(
        report_dir,
        keys,
        repository=root,
        renderer=Renderer(partial(render_contents, root), request.commit, request.clean_tree),
        policy=Policy(root, accepted=request.clean_tree is not True),
    )
    lines = [f"ok  {check.name}: {check.detail}" for check in result.checks if check.detail]
    lines += [f"unproven: {line}" for line in result.unproven]
    return "\n".join(lines) + "\n"
