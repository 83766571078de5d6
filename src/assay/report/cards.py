"""Several GPUs of one machine: whether they disturb each other, and what each of them gives."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay.evidence.model import Evidence
from assay.evidence.stages import cards_path
from assay.findings.card_spread import extent_of
from assay.findings.cards import CardFigures, Company, Disturbance
from assay.records.cards import CardsRecord
from assay.records.platform import PlatformRecord
from assay.records.verdicts import Verdict
from assay.report import formatting as fmt
from assay.report.claims import ClaimLine
from assay.report.links import Link, link
from assay.shared.counting import agreeing, counted
from assay.statistics.summaries import Summary


@dataclass(frozen=True)
class CardRow:
    """One claim, as each card gives it."""

    claim: str
    title: str
    cells: tuple[tuple[str, str], ...]
    """(figure, interval and share of the roofline)."""
    apart: str
    """The largest over the smallest, less 1."""


@dataclass(frozen=True)
class CardsSection:
    """The cards of one target."""

    target: str
    company: str
    """Whether busy neighbours disturbed the control, in a sentence."""
    arms: tuple[tuple[str, str], ...]
    """Each arm of the control, with its time beside neighbours over that alone."""
    cards: tuple[str, ...]
    rows: tuple[CardRow, ...]
    link: Link


def cards_sections(
    evidence: Evidence,
    lines: Mapping[str, ClaimLine],
    found: Iterable[Disturbance],
    figures: Sequence[CardFigures],
) -> tuple[CardsSection, ...]:
    """Return every target whose GPUs were held against each other."""
    disturbed = {each.target: each for each in found}
    return tuple(
        _section(evidence, target, record, lines, disturbed.get(target), figures)
        for target, record in evidence.cards.items()
    )


def _section(
    evidence: Evidence,
    target: str,
    record: CardsRecord,
    lines: Mapping[str, ClaimLine],
    found: Disturbance | None,
    figures: Sequence[CardFigures],
) -> CardsSection:
    mine = [each for each in figures if each.target == target]
    return CardsSection(
        target=target,
        company=company_words(record, found),
        arms=tuple((arm.arm, _ratio(arm.ratio)) for arm in (found.arms if found else ())),
        cards=tuple(_card(evidence.platforms.get(target), each.gpu_uuid) for each in mine),
        rows=tuple(_rows(lines, mine)),
        link=link(f"evidence/{cards_path(target)}"),
    )


def company_words(record: CardsRecord, found: Disturbance | None) -> str:
    """Return whether GPUs of one machine disturb each other, in a sentence."""
    if record.status == "failed":
        return f"{record.target}: its GPUs were not held against each other: {record.detail}."
    if found is None:
        return f"{record.target}: too little was measured of {record.control} beside neighbours."
    by = counted(found.neighbours, "busy neighbour")
    verdict = {
        Company.HARMLESS: f"no disturbance found beyond {fmt.percent(found.beyond)}",
        Company.DISTURBED: f"disturbed, by as much as {fmt.percent(found.beyond)}",
        Company.OPEN: (
            f"undecided: no disturbance found beyond {fmt.percent(found.beyond)}, and "
            f"{fmt.declared_percent(found.margin)} is the margin"
        ),
    }[found.company]
    rest = f" There was {record.detail}." if record.detail else ""
    return (
        f"{found.target}, one GPU beside {by} at the same work: {verdict}. Its A/A control "
        f"({found.control.arm} of {record.control}) took {_ratio(found.control.ratio)} times as "
        f"long as alone.{rest}"
    )


def _ratio(ratio: Summary) -> str:
    low, high = ratio.interval()
    return f"{ratio.value():.4f} [{low:.4f}, {high:.4f}]"


def _card(platform: PlatformRecord | None, uuid: str) -> str:
    card = platform.of_card(uuid) if platform else None
    return f"GPU {card.device.gpu.index}, {uuid[:12]}" if card else uuid[:12]


def _rows(lines: Mapping[str, ClaimLine], cards: Sequence[CardFigures]) -> Iterator[CardRow]:
    by_claim: dict[str, dict[str, Verdict]] = {}
    for card in cards:
        for verdict in card.verdicts.verdicts:
            if verdict.ci90 is not None:
                by_claim.setdefault(verdict.claim, {})[card.gpu_uuid] = verdict
    for claim, on in by_claim.items():
        values = [v.measured for v in on.values() if isinstance(v.measured, float)]
        if claim in lines and len(values) > 1:
            extent = extent_of(values)
            yield CardRow(
                claim,
                lines[claim].title,
                tuple(_cell(on.get(card.gpu_uuid)) for card in cards),
                fmt.NOTHING if extent is None else fmt.percent(extent),
            )


def _cell(verdict: Verdict | None) -> tuple[str, str]:
    if verdict is None:
        return fmt.NOTHING, ""
    words = [fmt.interval_of(verdict.measured, verdict.unit, verdict.ci90) or ""]
    if verdict.roofline_fraction is not None:
        words.append(f"{fmt.percent(verdict.roofline_fraction)} of the roofline")
    return fmt.figure(verdict.measured, verdict.unit), ", ".join(filter(None, words))


def machine_differences(evidence: Evidence) -> tuple[str, ...]:
    """Return what else than the GPU differs between the machines of a report's targets."""
    told: dict[str, dict[str, list[str]]] = {}
    for target, platform in evidence.platforms.items():
        for device in platform.devices:
            for what, value in (
                ("driver", device.driver),
                ("CUDA of the driver", device.cuda_driver),
                ("CUDA runtime", device.cuda_runtime),
                ("PyTorch", device.torch),
                ("Triton", device.triton or "none"),
                ("commit that measured", (platform.commit or "not recorded")[:12]),
            ):
                names = told.setdefault(what, {}).setdefault(value, [])
                if target not in names:
                    names.append(target)
    return tuple(
        f"{what} differs: "
        + "; ".join(f"{value} ({', '.join(names)})" for value, names in values.items())
        for what, values in told.items()
        if len(values) > 1
    )


def several_gpus(evidence: Evidence) -> Iterator[str]:
    """Yield how many GPUs a target's figures were measured on, where they were several."""
    for target, platform in evidence.platforms.items():
        on: dict[str, int] = {}
        for (name, _), record in evidence.benchmarks.items():
            if name == target:
                on[record.gpu_uuid] = on.get(record.gpu_uuid, 0) + 1
        if len(on) > 1:
            parts = ", ".join(f"{count} on {_card(platform, uuid)}" for uuid, count in on.items())
            yield (
                f"{target}: its {counted(sum(on.values()), 'comparison')} "
                f"{agreeing(sum(on.values()), 'was', 'were')} shared out among {len(on)} GPUs of "
                f"one machine, each whole on one of them: {parts}."
            )
