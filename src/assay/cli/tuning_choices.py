"""``./assay lab tune``: measure the sweeps of a target and hold config/tuning.yaml against them."""

from dataclasses import replace
from pathlib import Path

from assay.base.errors import BadInput, MissingEnvironment
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.evidence.load import load_evidence
from assay.evidence.model import Evidence
from assay.findings.tuning_outcomes import ChoiceStanding, SweepOutcome, outcomes
from assay.judging.case import Case
from assay.pipeline.plan import make_plan
from assay.pipeline.request import Options, make_request
from assay.pipeline.run_files import bound_run
from assay.pipeline.snakemake_run import run_workflow
from assay.pipeline.workflow_process import only_run

FILE = Path("config") / "tuning.yaml"


def measure_choices(root: Path, options: Options, cores: int) -> tuple[SweepOutcome, ...]:
    """Run the sweeps of ``options.targets`` (one target); sources are left out of the plan.

    Raises BadInput for a target without sweeps, MissingEnvironment where no figure is to be had.
    """
    catalog = load_catalog(root)
    catalog.check_selection((), options.targets)
    (target,) = options.targets
    if not catalog.choices_to_hold(target):
        raise BadInput(f"{FILE}: has no sweep for target '{target}'")
    request = make_request(root, catalog, replace(options, sources=(), sweeps=True))
    plan = make_plan(catalog, request)
    (planned,) = plan.targets
    if not planned.comparisons:
        raise MissingEnvironment(
            f"target {target}: {planned.provision.detail}; no published report holds its sweeps; "
            "./assay doctor says what is missing"
        )
    with only_run(root, request.run), bound_run(root, catalog, request, plan, scratch=False):
        run_workflow(root, request, cores=cores, goal="timed")
    return of_target(catalog, load_evidence(root / "results" / request.run), target)


def of_target(catalog: Catalog, evidence: Evidence, target: str) -> tuple[SweepOutcome, ...]:
    """Return what the evidence says of a target's choices, and of those that it begins with."""
    held = catalog.choices_to_hold(target)
    tuning = catalog.tuning.model_copy(update={"choices": held})
    found = list(outcomes(Case(replace(catalog, tuning=tuning), evidence)))
    known = {outcome.choice.id for outcome in found}
    for choice in held:
        if choice.id not in known:
            words = f"No result of {choice.evidence.comparison} is among the evidence."
            found.append(
                SweepOutcome(choice, ChoiceStanding.NOT_MEASURED, None, None, None, words, ())
            )
    return tuple(found)
