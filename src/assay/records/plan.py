"""The request of a run, and the plan: what this machine or cluster can answer of it."""

from typing import Annotated, Literal

from pydantic import Field

from assay.records.base import Identifier, Record, Sha256, Unread
from assay.records.cluster import ClusterFile
from assay.records.evaluations import NotRun
from assay.records.images import RuntimeName, RuntimeWish
from assay.records.originals import FileCompileJob, FileCompileRequest, OriginalJob, OriginalRequest

Executor = Literal["local", "slurm"]

NestedFolder = Annotated[
    str, Field(pattern=r"^earlier/[a-z0-9_]+/evidence(/earlier/[a-z0-9_]+/evidence)*$")
]


class Provision(Record):
    """The origin of a target's measurements."""

    target: Identifier
    kind: Literal["device", "recorded", "none"]
    """``device``: measured in this run; ``recorded``: taken from a verified report."""
    recorded_in: str | None
    """Report directory or archive, for ``recorded``, as it was found."""
    within: NestedFolder | None = None
    """Folder below the evidence in which this target's records lie, for ``recorded``: the evidence
    of a report that is nested whole. None where earlier versions copied records one by one."""
    earlier_sources: dict[Identifier, str] = {}
    """What was compiled from other sources than today's, or by other tools, and of which commit;
    for ``recorded``."""
    detail: str
    """What was found, in one sentence."""
    reason: NotRun | None = None
    """Code of why nothing is measured, for ``none``; ``no_device`` where it is not said."""
    gpus: tuple[str, ...] = ()
    """UUID of the machine's GPU that it is measured on, for ``device``; none named where a
    scheduler gives one. Earlier versions measured on several."""
    absence: str | None = None
    """Why the target cannot be measured on this machine, where its figures are recorded ones, or
    were measured by an earlier start of the run."""

    recorded_paths: Unread = None
    earlier_builds: Unread = None
    recorded_originals: Unread = None
    recorded_compilations: Unread = None
    """What earlier versions said of single files that were taken over."""


class EarlierReport(Record):
    """A signed report that a run takes over whole, below ``earlier/<name>``."""

    name: Identifier
    """Of its run."""
    path: str
    """The directory or the archive of a report: it, or one in which it is nested."""
    folder: str
    """Where it lies in that one; empty for itself."""
    manifest_sha256: Sha256


class ProgramJob(Record):
    """One program with one list of arguments; ``id`` is derived from both."""

    id: Identifier
    program: Identifier
    arguments: tuple[str, ...]


class TargetPlan(Record):
    """All jobs of one target."""

    target: Identifier
    provision: Provision
    timed: bool = True
    """Whether anything is: not where a driver compiles another GPU's PTX."""
    comparisons: tuple[Identifier, ...]
    programs: tuple[ProgramJob, ...]
    profiles: tuple[tuple[Identifier, Identifier], ...]
    """(comparison, arm) pairs."""
    stopwatches: tuple[Identifier, ...] = ()
    """Comparisons whose profiled arms other stopwatches time too."""
    cheats: bool = False
    """Whether kernels that cheat are tried there."""
    sanitized: tuple[Identifier, ...] = ()
    """Compiled variants that compute-sanitizer watches."""
    operators: Unread = None
    cards: Unread = None
    """What earlier versions tried beside: PyTorch's operators, several GPUs."""
    originals: tuple[OriginalJob, ...] = ()
    """Sources' own programs, from checkouts that the user has."""
    compilations: tuple[FileCompileJob, ...] = ()
    """Sources' files that the run which measured a recorded target compiled as published."""
    runner: bool = False
    """Whether the target is measured in a container, whose image has a record."""


class RunConfig(Record):
    """``config/config.yaml``: what runs when the command line does not say otherwise."""

    schema_: Literal["assay/run/1"] = Field(alias="schema")
    sources: tuple[Identifier, ...]
    targets: tuple[Identifier, ...]
    runtime: RuntimeWish
    executor: Executor


class Request(Record):
    """The caller's wishes and what probing found, written by the command line."""

    schema_: Literal["assay/request/1"] = Field(alias="schema")
    run: Identifier
    sources: tuple[Identifier, ...]
    claims: tuple[Identifier, ...] = ()
    """The claims and audits of these that are asked for; none named, all of them are."""
    targets: tuple[Provision, ...]
    runtime: RuntimeName
    """What ``auto`` came to."""
    host_image: bool = False
    """Whether the runner image is made from this machine's own file system."""
    executor: Executor
    cluster: ClusterFile | None = None
    """What the site says of its Slurm; None where jobs run on this machine."""
    device_python: str
    device_paths: tuple[str, ...] = ()
    """Directories in which that Python looks for packages before its own."""
    prebuilt: str | None
    """Directory of build records and artifacts made elsewhere."""
    prebuilt_toolchains: tuple[Identifier, ...] = ()
    """Targets whose toolchain image, in which ``prebuilt`` was compiled, has its record there."""
    tuning: bool = False
    """Whether the sweeps of config/tuning.yaml are measured whatever sources are asked for."""
    originals: tuple[OriginalRequest, ...] = ()
    """Checkouts of sources' own programs that the user has, with the lines to be run there."""
    compilations: tuple[FileCompileRequest, ...] = ()
    """Files of such checkouts that are compiled as published."""
    rebuild: bool = False
    """Whether everything is compiled here, also what runs nowhere in this run."""
    gpu_minutes: Annotated[float, Field(gt=0)] | None = None
    """Most of one GPU for timing; None: as long as verdicts hang on samples."""
    prove_again: bool = False
    """Whether gates and the like are done again that an earlier run did on the same GPU."""
    home: str | None = None
    """Folder of the project that the run is of, in which it lies; None: this repository."""
    signing_key: str
    """Path of the private key that signs the report; never part of the evidence."""
    unsigned_for: str | None = None
    """Path of the public key whose holder signs the report elsewhere; None: it is signed here."""
    earlier: tuple[EarlierReport, ...] = ()
    """Reports that are taken over."""
    held: tuple[TargetPlan, ...] = ()
    """What they hold of each recorded target that still means what the configuration says."""
    judges_only: bool = False
    """Whether nothing is compiled or looked into: a report is judged again, by what it holds."""
    extra_keys: tuple[str, ...] = ()
    """Public keys the caller trusts beside the repository's own."""
    commit: str | None
    clean_tree: bool | None


class BuildJob(Record):
    """One compilation."""

    kind: Literal["variant", "program", "probe"]
    id: Identifier
    arch: str


class Answer(Record):
    """The way in which one claim will be answered on one target."""

    claim: Identifier
    target: Identifier | None
    """None for arithmetic, inspection and support, which need no GPU."""
    way: Literal["measure", "recorded", "compute", "not_run"]
    reason: NotRun | None
    detail: str


class Plan(Record):
    """Every claim that was asked for stands in ``answers`` at least once."""

    schema_: Literal["assay/plan/1"] = Field(alias="schema")
    run: Identifier
    sources: tuple[Identifier, ...]
    claims: tuple[Identifier, ...] = ()
    """The claims and audits of these that are asked for; none named, all of them are."""
    builds: tuple[BuildJob, ...]
    """What is compiled in this run, or taken from a prebuilt one."""
    not_compiled: tuple[BuildJob, ...] = ()
    """What is left to a machine that runs it, or to ``reproduce --rebuild``: the original programs,
    and variants that no claim rests on."""
    compilations: tuple[FileCompileJob, ...] = ()
    """Sources' files, from checkouts that the user has, that are compiled as published."""
    toolchains: tuple[Identifier, ...] = ()
    """Targets whose toolchain image compiles the builds; none when the host does."""
    judges_only: bool = False
    """Whether nothing is compiled or looked into: a report is judged again, by what it holds."""
    targets: tuple[TargetPlan, ...]
    answers: tuple[Answer, ...]
