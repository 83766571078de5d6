"""Verdicts: what the evidence says of each claim."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from pydantic import Field

from assay.records.base import Identifier, Moment, Record, Sha256


@dataclass(frozen=True)
class StatusFacts:
    """All that sets one status apart from the others, to judge, to count and to draw by."""

    light: str
    """Colour on a light page, as #rrggbb."""
    dark: str
    """The same on a dark page."""
    badge: Literal["disc", "square", "diamond", "ring"]
    """Shape before the word, so that colour alone never tells statuses apart."""
    severity: int
    """Of several terms' verdicts the claim takes the one with the least: 0 is the worst."""
    mark: str | None = None
    """Mark of a measured figure, of ``report.svg``; None where there is never one to draw."""
    decided: bool = True
    """False where the question stays open."""
    strict: bool = False
    """Whether ``reproduce --strict`` exits 1 for it."""


class Status(StrEnum):
    """The status of a verdict, in the order in which tables list them.

    This is the one table of statuses: an entry here is coloured, counted, listed and drawn
    everywhere. A figure is held by equivalence within a declared margin, never by a mean alone.
    """

    facts: StatusFacts

    def __new__(cls, code: str, facts: StatusFacts) -> "Status":
        """Make a member whose value is ``code``."""
        member = str.__new__(cls, code)
        member._value_ = code
        member.facts = facts
        return member

    REPRODUCED = ("reproduced", StatusFacts("#00574f", "#7ff0cd", "disc", 5, "o"))
    EXCEEDED = ("exceeded", StatusFacts("#1c46c4", "#5a9bff", "disc", 6, "^"))
    NOT_REPRODUCED = (
        "not_reproduced",
        StatusFacts("#c0351a", "#ff8266", "square", 1, "v", strict=True),
    )
    MISSTATED = ("misstated", StatusFacts("#6e4a00", "#e8c23a", "square", 2, "s", strict=True))
    ELSEWHERE = ("elsewhere", StatusFacts("#4b5f8a", "#9db2e0", "ring", 5, mark="P", decided=False))
    INCONCLUSIVE = (
        "inconclusive",
        StatusFacts("#706b7a", "#a39ca3", "diamond", 4, "D", decided=False),
    )
    INCORRECT = ("incorrect", StatusFacts("#86179b", "#ea86ee", "square", 0, mark="X", strict=True))
    CONSISTENT = ("consistent", StatusFacts("#00574f", "#7ff0cd", "disc", 5))
    INCONSISTENT = ("inconsistent", StatusFacts("#c0351a", "#ff8266", "square", 1, strict=True))
    NOT_RUN = ("not_run", StatusFacts("#5f6773", "#9aa4b1", "ring", 3, decided=False))

    @property
    def word(self) -> str:
        """Return the status in words: ``not_reproduced`` as ``not reproduced``."""
        return self.value.replace("_", " ")

    @property
    def variable(self) -> str:
        """Return its colour's name in the page's style sheet."""
        return f"--status-{self.value.replace('_', '-')}"


class Why(StrEnum):
    """The cause of a verdict that is not plainly that the figure holds, with its words.

    This is the one table of causes: each is told everywhere in the words beside it, or in the
    short ones where a column has no room.
    """

    words: str
    short: str

    def __new__(cls, code: str, words: str, short: str) -> "Why":
        """Make a member whose value is ``code``."""
        member = str.__new__(cls, code)
        member._value_ = code
        member.words = words
        member.short = short
        return member

    OTHER_PROBLEM = ("other_problem", "another problem seems to have run than the source states",
                     "another problem, it seems")  # fmt: skip
    OTHER_WORK = "other_work", "other work was counted than was done", "other work counted"
    OTHER_WORK_SEEMS = ("other_work_seems", "other work seems to have been counted than was done",
                        "other work counted, it seems")  # fmt: skip
    OTHER_WORDS = ("other_words", "the source's words must be taken otherwise than they stand",
                   "words taken otherwise")  # fmt: skip
    REBUILT = ("rebuilt", "what ran was rebuilt, or is another's; the original did not run",
               "original not run")  # fmt: skip
    FORECAST = ("forecast", "the source forecasts it; what was built of it here falls short",
                "forecast, built here")  # fmt: skip
    ORIGINAL_SLOWER = "original_slower", "the original itself gives less here", "original slower"
    LIBRARY_SLOWER = (
        "library_slower",
        "the library's own kernel, of the version that ran, gives less here",
        "library slower",
    )
    COMPARATOR_FASTER = ("comparator_faster", "what it is compared with is faster here than stated",
                         "rival faster")  # fmt: skip
    PART_MISSED = ("part_missed", "a figure that the ratio is formed from is not reproduced",
                   "part not reproduced")  # fmt: skip
    NOT_ALIKE = "not_alike", "what is said to be alike differs here", "not alike"
    OWN_KERNEL_SLOWER = (
        "own_kernel_slower",
        "what is stated in this project's own name is not reached",
        "own figure missed",
    )
    WRONG_OUTPUT = "wrong_output", "its output is wrong", "wrong output"
    HANGS_ON_UNSTATED = (
        "hangs_on_unstated",
        "it holds under one choice of what the source leaves unsaid, and not under another",
        "depends on what is unsaid",
    )
    READING_MISSING = (
        "reading_missing",
        "one of its meanings, which could change the verdict, was not measured here, or is open",
        "one meaning is open",
    )
    ONE_BUILD = ("one_build", "somebody's build of it was looked into, and nothing of it ran",
                 "one build, none ran")  # fmt: skip
    TOO_UNCERTAIN = "too_uncertain", "the interval, or a control, leaves it open", "too uncertain"
    OWN_FIGURES = "own_figures", "the source's own statements do not agree", "contradicts itself"
    OTHER_OUTCOME = ("other_outcome", "it compiles, or counts, otherwise than stated",
                     "other outcome")  # fmt: skip
    UNSTATED = "unstated", "the source leaves out what would have to run", "left unsaid"
    NOT_BUILT = ("not_built", "nothing that is built or installed here can run it",
                 "nothing here runs it")  # fmt: skip
    NOT_IN_BUILD = ("not_in_build", "the build that is at hand here was made without what it needs",
                    "build lacks it")  # fmt: skip
    ORIGINAL_ABSENT = ("original_absent", "the author's program is not at hand here",
                       "program not at hand")  # fmt: skip
    NO_DEVICE = "no_device", "no GPU that could answer it was measured", "no GPU for it"
    NOT_MEASURED = ("not_measured", "it could have been measured, and no usable record is there",
                    "not measured")  # fmt: skip


INFERRED = (Why.OTHER_PROBLEM, Why.OTHER_WORK_SEEMS)
"""Causes of a misstatement that nothing which ran shows by itself: "it seems"."""
Artifact = Literal["original", "library", "reimplemented", "arithmetic", "inspection"]
"""What a verdict rests on: the author's own program, the named library's own kernel from its
published package, what was rebuilt from statements, or no run at all."""


class VerdictReading(Record):
    """One meaning of a claim's words, as measured."""

    id: Identifier
    """``primary``, or the id that the claim gives it; ``as_typed`` for the command as typed."""
    says: str
    primary: bool
    """True for the plain meaning of the text, work really done: the verdict rests on it."""
    measured: float | None
    """In the verdict's unit; None where it could not be measured."""
    ci90: tuple[float, float] | None
    holds: bool | None
    """Whether the claimed figure lies within the margin under it; None where nobody can say."""
    work_ratio: float | None = None
    """FLOPs counted for each one really done, of a rate; None for other figures."""
    reason: str | None = None
    """Why there is no figure, or why a ratio that fits does not hold."""


class Nearest(Record):
    """The nearest measured thing, shown beside a claim that has no answer of its own."""

    what: str
    """Claim id, or "arm of comparison" in words."""
    target: Identifier | None
    measured: float | None
    unit: str | None
    ci90: tuple[float, float] | None


class MeasuredOn(Record):
    """The machine and the time at which a figure was measured."""

    product: str
    uuid: str
    driver: str
    power_limit_w: float | None
    recorded_at: Moment
    in_this_run: bool
    """False when the figure comes from a published report's evidence."""
    vbios: str | None = None


class VerdictInShort(Record):
    """What a verdict, and a report's figure, say of one claim on one target."""

    claim: Identifier
    source: Identifier
    target: Identifier | None
    status: Status
    claimed: float | str | None
    measured: float | str | None
    unit: str | None
    ci90: tuple[float, float] | None
    reason: str | None
    """Code, for not_run and for reproductions that fail for a nameable cause."""
    roofline_fraction: float | None
    """Measured rate over the roofline bound of the target's datasheet."""
    binary_sha256: Sha256 | None
    gpu_uuid: str | None
    why: Why | None = None
    """The cause that is known of the figure, where the claim does not plainly hold. By rules before
    5 only what was found on this verdict's own GPU."""
    as_if: Status | None = None
    """Of a figure measured elsewhere: what it would be, were that the claimed hardware."""


class Verdict(VerdictInShort):
    """One claim on one target."""

    artifact: Artifact | None
    explanation: str
    """One or two sentences that name what was run and how it stands to the claim."""
    relation: str
    margin: float | None
    noise_floor: float | None
    """Largest |log ratio| inside the A/A control's interval, as a fraction."""
    samples: int | None
    discarded_blocks: int | None
    measured_on: MeasuredOn | None
    ran: str | None
    """The problem that really ran, as the program or the record reports it."""
    nearest: tuple[Nearest, ...]
    same_measurement: tuple[Identifier, ...] = ()
    """Other claims judged by the very same samples: their verdicts are not independent of this."""
    evidence: tuple[str, ...]
    """Paths inside the report directory."""
    why_on: Identifier | None = None
    """The target whose verdict on the same claim found the cause; None where this one did."""
    readings: tuple[VerdictReading, ...] = ()
    """Every meaning of the claim's words that was tried, the primary one first; none where the
    words have but one."""


class VerdictsFile(Record):
    """``verdicts.json``."""

    schema_: Literal["assay/verdicts/1", "assay/verdicts/2"] = Field(alias="schema")
    run: Identifier
    rules: int = 1
    """Version of the rules that judged; the first schema does not say it."""
    verdicts: tuple[Verdict, ...]
