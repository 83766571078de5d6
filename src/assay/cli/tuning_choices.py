"""``./assay tune``: measure the sweeps of a target and hold config/tuning.yaml against them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from assay.base.errors import BadInput, MissingEnvironment
from assay.base.io import load_yaml, read_text
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.evidence.load import load_evidence
from assay.evidence.model import Evidence
from assay.findings.tuning_outcomes import ChoiceStanding, SweepOutcome, outcomes
from assay.judging.case import Case
from assay.pipeline.plan import make_plan
from assay.pipeline.request import Options, make_request
from assay.pipeline.run_files import bound_run
from assay.pipeline.snakemake_run import only_run, run_workflow
from assay.records.tuning import SweepArm, TuningChoice, TuningFile
from assay.report import formatting as fmt
from assay.shared.files import write_bytes

FILE = Path("config") / "tuning.yaml"


@dataclass(frozen=True)
class Tuned:
    """The outcome of the sweeps of one run."""

    detail: str
    """Where the figures come from."""
    outcomes: tuple[SweepOutcome, ...]
    evidence: Evidence


def measure_choices(root: Path, options: Options, cores: int) -> Tuned:
    """Run the sweeps of ``options.targets`` (one target); sources are left out of the plan.

    Raises BadInput for a target without choices, MissingEnvironment where no figure is to be had.
    """
    catalog = load_catalog(root)
    catalog.check_selection((), options.targets)
    (target,) = options.targets
    if not catalog.tuning.of(target):
        raise BadInput(f"{FILE}: makes no choice for target '{target}'")
    request = make_request(root, catalog, replace(options, sources=()))
    request = request.model_copy(update={"tuning": True})
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
    return Tuned(planned.provision.detail, _of_target(catalog, evidence, target), evidence)


def _of_target(catalog: Catalog, evidence: Evidence, target: str) -> tuple[SweepOutcome, ...]:
    found = [o for o in outcomes(Case(catalog, evidence)) if o.choice.target == target]
    told = {outcome.choice.id for outcome in found}
    for choice in catalog.tuning.of(target):
        if choice.id not in told:
            words = f"No result of {choice.evidence.comparison} is among the evidence."
            found.append(
                SweepOutcome(choice, ChoiceStanding.NOT_MEASURED, None, None, None, words, ())
            )
    return tuple(found)


def better_choices(tuned: Tuned) -> list[TuningChoice]:
    """Return the choices as they should be, of those that a rival beat."""
    return [
        better(outcome, _measured_on(tuned.evidence, outcome.choice.target))
        for outcome in tuned.outcomes
        if outcome.standing is ChoiceStanding.ANOTHER_IS_FASTER
    ]


def better(outcome: SweepOutcome, measured_on: str) -> TuningChoice:
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
    return f"{platform.device.gpu.product}, {platform.recorded_at[:10]}"


def write_choices(root: Path, choices: Iterable[TuningChoice]) -> None:
    """Put choices into config/tuning.yaml, in the place of those with their ids.

    Comments and order stay. Raises BadInput, before anything is written, where the file is not laid
    out so that this gives what was meant.
    """
    path = root / FILE
    before = load_yaml(TuningFile, path)
    wanted = {choice.id: choice for choice in choices}
    text = read_text(path)
    for choice in wanted.values():
        text = rewritten(text, choice)
    meant = tuple(wanted.get(choice.id, choice) for choice in before.choices)
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
    quoted = choice.why.replace("'", "''")
    lines = (
        (r"^    variant: .*$", f"    variant: {choice.variant}"),
        (
            r"^    evidence: .*$",
            f"    evidence: {{comparison: {choice.evidence.comparison}, "
            f"arm: {choice.evidence.arm}}}",
        ),
        (r"^    why: .*(?:\n      .*)*$", f"    why: '{quoted}'"),
    )

    def replaced(found: re.Match[str]) -> str:
        block = found[0]
        for pattern, line in lines:
            plain = line.replace("\\", r"\\")  # a reason's text is no template
            block = re.sub(pattern, plain, block, flags=re.MULTILINE)
        return block

    return entry.sub(replaced, text)
