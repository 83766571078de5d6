"""The time that each step of a run took."""

from datetime import datetime
from enum import StrEnum
from typing import Literal

from pydantic import Field

from assay.records.base import Identifier, Measurable, Moment, Record


class Stage(StrEnum):
    """The workflow's rules, in the order of its flow."""

    PLAN = "plan"
    EARLIER = "earlier"
    TOOLCHAIN_IMAGE = "toolchain_image"
    RUNNER_IMAGE = "runner_image"
    INSPECT = "inspect"
    BUILD = "build"
    FILE_COMPILE = "file_compile"
    PLATFORM = "platform"
    CORRECTNESS = "correctness"
    BENCHMARK = "benchmark"
    PROGRAM = "program"
    ORIGINAL = "original"
    PROFILE = "profile"
    STOPWATCH = "stopwatch"
    CHEATS = "cheats"
    SANITIZER = "sanitizer"
    OPERATORS = "operators"
    JUDGE = "judge"
    REPORT = "report"
    SIGN = "sign"
    VERIFY = "verify"


class StepTiming(Record):
    """One step as it last ran; a step with nothing to do keeps the timing of its last run."""

    stage: Stage
    arguments: dict[str, Identifier]
    """The rule's wildcards: target, comparison ..."""
    started: Moment
    """With milliseconds."""
    seconds: Measurable
    """Wall clock inside the step; what a scheduler or Snakemake needs to start it is not in it."""
    gpus: dict[str, Measurable] = {}
    """Of each GPU that units of work had to themselves, by UUID: for how many of the seconds. Empty
    in timings from before."""

    @property
    def began(self) -> float:
        """Return when the step began, in seconds since the epoch."""
        return datetime.fromisoformat(self.started).timestamp()


class TimingsRecord(Record):
    """Every step up to the verdicts that a report rests on, in the order in which they started."""

    schema_: Literal["assay/timings/1"] = Field(alias="schema")
    steps: tuple[StepTiming, ...]
