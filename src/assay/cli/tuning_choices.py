"""``./assay lab tune``: measure the sweeps of a target and hold config/tuning.yaml against them."""

import json
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from assay.base.errors import BadInput, MissingEnvironment
from assay.base.io import load_yaml, read_text
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.catalog.tuning import choices_to_hold
from assay.evidence.load import load_evidence
from assay.evidence.model import Evidence
from assay.findings.tuning_outcomes import ChoiceStanding, SweepOutcome, outcomes
from assay.judging.case import Case
from assay.pipeline.plan import make_plan
from assay.pipeline.request import Options, make_request
from assay.pipeline.run_files import bound_run
from assay.pipeline.snakemake_run import run_workflow
from assay.pipeline.workflow_process import only_run
from assay.records.tuning import SweepArm, TuningChoice, TuningFile
from assay.report import formatting as fmt
from assay.shared.files import write_bytes
from assay.verification.report_archive import report_name

FILE = Path("config") / "tuning.yaml"


@dataclass(frozen=True)
class Tuned:
    """The outcome of the sweeps of one run."""

    detail: str
    """Where the figures come from."""
    outcomes: tuple[SweepOutcome, ...]
    evidence: Evidence
    margin: float
    """By which a rival has to be faster to take a choice's place."""


def measure_choices(root: Path, options: Options, cores: int) -> Tuned:
    """Run the sweeps of ``options.targets`` (one target); sources are left out of the plan.

    Raises BadInput for a target without sweeps, MissingEnvironment where no figure is to be had.
    """
    catalog = load_catalog(root)
    catalog.check_selection((), options.targets)
    (target,) = options.targets
    if not choices_to_hold(catalog, target):
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
    evidence = load_evidence(root / "results" / request.run)
    found = of_target(catalog, evidence, target)
    return Tuned(planned.provision.detail, found, evidence, catalog.judging.ratio_margin)


def of_target(catalog: Catalog, evidence: Evidence, target: str) -> tuple[SweepOutcome, ...]:
    """Return what the evidence says of a target's choices, and of those that it begins with."""
    held = choices_to_hold(catalog, target)
    tuning = catalog.tuning.model_copy(update={"choices": held})
    found = list(outcomes(Case(replace(catalog, tuning=tuning), evidence)))
    told = {outcome.choice.id for outcome in found}
    for choice in held:
        if choice.id not in told:
            words = f"No result of {choice.evidence.comparison} is among the evidence."
            found.append(
                SweepOutcome(choice, ChoiceStanding.NOT_MEASURED, None, None, None, words, ())
            )
    return tuple(found)


def better_choices(tuned: Tuned, made: Iterable[TuningChoice]) -> list[TuningChoice]:
    """Return the choices as they should be, of those that a rival beat, and of those that are not
    ``made`` yet and that the sweep confirms or replaces.
    """
    known = {choice.id for choice in made}
    better: list[TuningChoice] = []
    for outcome in tuned.outcomes:
        where = _measured_on(tuned.evidence, outcome.choice.target)
        if outcome.standing is ChoiceStanding.ANOTHER_IS_FASTER:
            better.append(replaced(outcome, where))
        elif outcome.standing is ChoiceStanding.CONFIRMED and outcome.choice.id not in known:
            better.append(confirmed(outcome, where, tuned.margin))
    return better


def confirmed(outcome: SweepOutcome, measured_on: str, margin: float) -> TuningChoice:
    """Return what a sweep begins with and no rival beat."""
    choice, ratio = outcome.choice, outcome.ratio
    assert outcome.rival_variant and ratio
    figure = f"{fmt.number(ratio.value())} times as fast {fmt.interval(ratio.interval())}"
    faster = fmt.declared_percent(margin).replace(
        "\N{NO-BREAK SPACE}", " "
    )  # no page's line breaks
    why = (
        f"No rival is faster by more than {faster}; {figure} as "
        f"{outcome.rival_variant}, the fastest of them, in {choice.evidence.comparison} on "
        f"{measured_on}."
    )
    return choice.model_copy(update={"why": why})


def replaced(outcome: SweepOutcome, measured_on: str) -> TuningChoice:
    """Return the rival that was faster, in the place of what was chosen."""
    choice, ratio = outcome.choice, outcome.ratio
    assert outcome.rival and outcome.rival_variant and ratio
    speed = ratio.inverse()
    why = (
        f"{fmt.number(speed.value())} times as fast {fmt.interval(speed.interval())} as "
        f"{choice.variant}, which it replaced, in {choice.evidence.comparison} on {measured_on}."
    )
    return choice.model_copy(
        update={
            "variant": outcome.rival_variant,
            "evidence": SweepArm(comparison=choice.evidence.comparison, arm=outcome.rival),
            "why": why,
        }
    )


def _measured_on(evidence: Evidence, target: str) -> str:
    platform = evidence.platforms.get(target)
    if platform is None:
        return target
    (origin,) = (plan.provision for plan in evidence.plan.targets if plan.target == target)
    taken = report_name(Path(origin.recorded_in)) if origin.recorded_in else None
    run = taken or evidence.plan.run
    return f"{platform.device.gpu.product}, {platform.recorded_at[:10]}, run {run}"


def write_choices(root: Path, choices: Iterable[TuningChoice]) -> None:
    """Put choices into config/tuning.yaml, in the place of those with their ids, new ones behind.

    What stands above the choices stays as it is; comments among them go. Raises BadInput, before
    anything is written, where the file is not laid out so that this gives what was meant.
    """
    path = root / FILE
    wanted = {choice.id: choice for choice in choices}
    before = {choice.id: choice for choice in load_yaml(TuningFile, path).choices}
    meant = (before | wanted).values()
    head = read_text(path).partition("\nchoices:")[0].rstrip("\n")
    trial = path.with_suffix(".yaml.new")
    try:
        write_bytes(trial, "".join([f"{head}\nchoices:\n", *map(written, meant)]).encode())
        if load_yaml(TuningFile, trial).choices != tuple(meant):
            raise BadInput(f"{path}: is laid out in another way than it can be rewritten in")
        trial.replace(path)
    finally:
        trial.unlink(missing_ok=True)


def written(choice: TuningChoice) -> str:
    """Return a choice as an entry of the file."""
    shapes = choice.shapes.model_dump(mode="json", exclude_defaults=True)
    given = ", ".join(f"{name}: {json.dumps(value)}" for name, value in shapes.items())
    arm, quoted = choice.evidence, choice.why.replace("'", "''")
    why = textwrap.wrap(f"why: '{quoted}'", 110, break_long_words=False, break_on_hyphens=False)
    lines = (
        f"  - id: {choice.id}",
        f"    target: {choice.target}",
        f"    operation: {choice.operation.value}",
        f"    dtype: {choice.dtype}",
        f"    block_rows: {choice.block_rows}",
        f"    block_cols: {choice.block_cols}",
        f"    shapes: {{{given}}}",
        f"    variant: {choice.variant}",
        f"    evidence: {{comparison: {arm.comparison}, arm: {arm.arm}}}",
        "    " + "\n      ".join(why),
    )
    return "".join(f"{line}\n" for line in lines)
