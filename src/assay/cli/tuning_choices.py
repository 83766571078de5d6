"""``./assay tune``: measure the sweeps of a target and hold config/tuning.yaml against them."""

import json
import re
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


def told_changes(before: Iterable[TuningChoice], choices: Iterable[TuningChoice]) -> list[str]:
    """Return a line a choice: what stood there, and what stands there now."""
    known = {choice.id: choice.variant for choice in before}
    return [
        f"{choice.id}: {known.get(choice.id, 'none before')} -> {choice.variant}"
        for choice in choices
    ]


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

    Comments and order stay. Raises BadInput, before anything is written, where the file is not laid
    out so that this gives what was meant.
    """
    path = root / FILE
    before = load_yaml(TuningFile, path)
    wanted = {choice.id: choice for choice in choices}
    text = read_text(path)
    known = {choice.id for choice in before.choices}
    added = [choice for choice in wanted.values() if choice.id not in known]
    for choice in wanted.values():
        text = rewritten(text, choice)
    text = "".join([text if text.endswith("\n") else f"{text}\n", *map(written, added)])
    meant = (*(wanted.get(choice.id, choice) for choice in before.choices), *added)
    trial = path.with_suffix(".yaml.new")
    try:
        write_bytes(trial, text.encode())
        if load_yaml(TuningFile, trial).choices != meant:
            raise BadInput(f"{path}: is laid out in another way than it can be rewritten in")
        trial.replace(path)
    finally:
        trial.unlink(missing_ok=True)


def rewritten(text: str, choice: TuningChoice) -> str:
    """Return the file's text with the variant, arm and reason of one choice replaced."""
    entry = re.compile(rf"^  - id: {choice.id}\n(?:    .*\n?)+", re.MULTILINE)
    patterns = (r"^    variant: .*$", r"^    evidence: .*$", r"^    why: .*(?:\n      .*)*$")

    def renewed(found: re.Match[str]) -> str:
        block = found[0]
        for pattern, line in zip(patterns, _decided(choice), strict=True):
            plain = line.replace("\\", r"\\")  # a reason's text is no template
            block = re.sub(pattern, plain, block, flags=re.MULTILINE)
        return block

    return entry.sub(renewed, text)


def _decided(choice: TuningChoice) -> tuple[str, str, str]:
    """Return the lines of a choice that a sweep decides."""
    arm, quoted = choice.evidence, choice.why.replace("'", "''")
    return (
        f"    variant: {choice.variant}",
        f"    evidence: {{comparison: {arm.comparison}, arm: {arm.arm}}}",
        f"    why: '{quoted}'",
    )


def written(choice: TuningChoice) -> str:
    """Return a choice as a new entry of the file."""
    shapes = choice.shapes.model_dump(mode="json", exclude_defaults=True)
    given = ", ".join(f"{name}: {json.dumps(value)}" for name, value in shapes.items())
    lines = (
        f"  - id: {choice.id}",
        f"    target: {choice.target}",
        f"    operation: {choice.operation.value}",
        f"    dtype: {choice.dtype}",
        f"    block_rows: {choice.block_rows}",
        f"    block_cols: {choice.block_cols}",
        f"    shapes: {{{given}}}",
        *_decided(choice),
    )
    return "".join(f"{line}\n" for line in lines)
