"""From the command line's wishes to a request: probe for GPUs, look for recorded reports."""

import os
import re
import shutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from assay.base.commits import git_state
from assay.base.errors import BadInput, MissingEnvironment
from assay.base.isolation import DEVICE_PATH, package_directory
from assay.base.progress import say
from assay.catalog.cluster import gpu_type_of, load_cluster
from assay.catalog.model import Catalog
from assay.evidence.stages import toolchain_image_path
from assay.images.stage import objection
from assay.judging.needs import closure, comparisons_of, programs_of
from assay.measuring.device_process import device_python
from assay.measuring.host_machine import HostDriver, HostGpu, find_host_driver
from assay.measuring.local_gpu import Absence, find_gpu
from assay.measuring.slurm_grant import gpu_types
from assay.pipeline.original_requests import Given, find_originals, project_commands
from assay.pipeline.preconditions import require_places
from assay.pipeline.reuse import Taken, find_recorded, require_figures
from assay.pipeline.run_files import RESULTS, measured_before
from assay.records.cluster import ClusterFile
from assay.records.evaluations import NotRun
from assay.records.images import RuntimeName, RuntimeWish, is_engine
from assay.records.plan import EarlierReport, Executor, Provision, Request
from assay.records.platform import Target
from assay.runtimes.choose import choose
from assay.verification.attestation import load_public_key
from assay.verification.sign import load_or_create_signer
from assay.verification.trust import reports_measuring
from assay.verification.trusted_keys import project_keys, trusted_keys


@dataclass(frozen=True)
class Options:
    """The caller's wishes, defaults filled in; ``Request`` says what its fields mean."""

    run: str
    sources: tuple[str, ...]
    targets: tuple[str, ...]
    """Those that were asked for, or else those of config/config.yaml."""
    runtime: RuntimeWish
    signing_key: Path
    executor: Executor = "local"
    device_python: str | None = None
    prebuilt: Path | None = None
    recorded: tuple[Path, ...] = ()
    keys: tuple[Path, ...] = ()
    host_image: bool = False
    originals: Mapping[str, Given] = field(default_factory=dict)
    """By source: checkouts of their own programs, and lines that complete what they type."""
    rebuild: bool = False
    gpu_minutes: float | None = None
    prove_again: bool = False
    tuning: bool = False
    writes: bool = True
    """Whether anything may be written. A dry run writes nothing, and says what would stop a run."""
    signs: bool = True
    """Whether a report is to be signed, for which a key must be had."""
    unsigned_for: Path | None = None
    device_paths: tuple[str, ...] = ()
    takes_gpu_here: bool = False
    """Whether targets of the GPUs that are here join ``targets``: where none was asked for."""
    project: Path | None = None
    """Folder of the project whose run it is; None for this repository's own."""
    claims: tuple[str, ...] = ()
    runtime_named: bool = True
    """Whether the caller named ``runtime``; else what the site says of its nodes goes before it."""
    judges_only: bool = False


def make_request(root: Path, catalog: Catalog, options: Options) -> Request:
    """Check the options and find where each target's figures come from: named reports, a GPU here
    or on the cluster, a published report, or nowhere. Raises BadInput, MissingEnvironment,
    CheckFailed.
    """
    _check_names(catalog, options)
    key = options.signing_key if options.signs else None
    home = root if options.project is None else options.project
    if options.writes:
        require_places(home, options.run, key)
    slurm = options.executor == "slurm"
    cluster = load_cluster(root, options.project, catalog.targets) if slurm else None
    if cluster is not None and cluster.runtime is not None and not options.runtime_named:
        options = replace(options, runtime=cluster.runtime)
    driver = find_host_driver() if cluster is None else None
    if options.takes_gpu_here and driver is not None:
        options = replace(options, targets=_with_gpus_here(catalog, options.targets, driver))
    runtime = _chosen_runtime(root, catalog, options, driver)
    originals, compilations = find_originals(catalog, options.sources, options.originals, runtime)
    provisions, taken = _provisions(root, catalog, options, runtime, driver or cluster)
    measures = any(each.kind == "device" for each in provisions)
    if originals and not measures:
        raise MissingEnvironment(
            f"--original {originals[0].job.source}: it runs on a GPU, and no target of this run is "
            "measured here"
        )
    if options.project and measures:
        originals += project_commands(catalog, options.sources, options.project)
    if key is not None and options.writes:
        load_or_create_signer(key)
    built, (commit, clean) = options.prebuilt, git_state(root)
    asked = {name: each for name, each in vars(options).items() if name in Request.model_fields}
    asked |= {name: str(each.resolve()) for name, each in asked.items() if isinstance(each, Path)}
    return Request.model_validate(
        {
            **asked,
            "schema": "assay/request/1",
            "targets": provisions,
            "runtime": runtime,
            "cluster": cluster,
            "device_python": device_python(options.device_python),
            "prebuilt_toolchains": tuple(
                name
                for name in catalog.targets
                if built and (built / toolchain_image_path(name)).is_file()
            ),
            "originals": originals,
            "compilations": compilations,
            "home": options.project and str(options.project.resolve()),
            "earlier": _distinct(taken),
            "held": tuple(each.held for each in taken.values()),
            "extra_keys": tuple(str(path.resolve()) for path in options.keys),
            "commit": commit,
            "clean_tree": clean,
        }
    )


def _provisions(
    root: Path,
    catalog: Catalog,
    options: Options,
    runtime: RuntimeName,
    at: HostDriver | ClusterFile | None,
) -> tuple[tuple[Provision, ...], dict[str, Taken]]:
    """Return where each target's figures come from, and what is taken of earlier reports."""
    keys = [*options.keys, *trusted_keys(root), *project_keys(options.project)]
    run_dir = (options.project or root) / RESULTS / options.run
    before = {target: measured_before(run_dir, target) for target in options.targets}
    own = {target: provision for target, provision in before.items() if provision}
    others = [each for each in options.targets if each not in own]
    taken = find_recorded(root, catalog, others, options.recorded, keys)
    _require_used(options, taken)
    found = {target: each.held.provision for target, each in taken.items()}
    missing = dict[str, Absence]()
    for target in (each for each in options.targets if each not in found):
        here = _device(catalog, options, runtime, at, target, own.get(target))
        if not isinstance(here, Absence):
            found[target] = here
        elif target in own:
            say(f"{target}: {own[target].detail}; nothing more is measured here ({here})")
            found[target] = own[target].model_copy(update={"absence": str(here)})
        else:
            missing[target] = here
    # A GPU that is here and only wants a newer driver is no reason for another machine's figures.
    elsewhere = [t for t, why in missing.items() if why.reason is not NotRun.DRIVER_TOO_OLD]
    reports = _published(root, catalog, options, elsewhere) if elsewhere else []
    published = find_recorded(root, catalog, elsewhere, reports, keys)
    for target, why in missing.items():
        if target in published:
            provision = published[target].held.provision
            found[target] = provision.model_copy(update={"absence": str(why)})
        else:
            found[target] = Provision(
                target=target, kind="none", recorded_in=None, detail=str(why), reason=why.reason
            )
    return tuple(found[target] for target in options.targets), taken | published


def _require_used(options: Options, taken: Mapping[str, Taken]) -> None:
    """Raise BadInput for a report that was named and of which nothing would be taken."""
    used = {each.report.path for each in taken.values()}
    for report in options.recorded:
        if str(report.resolve()) not in used:
            raise BadInput(
                f"--recorded {report}: nothing of it would be used: it holds no measurements of "
                f"{' or '.join(options.targets)} that a report named before it does not hold"
            )
    for each in taken.values():
        require_figures(each.held)


def _distinct(taken: Mapping[str, Taken]) -> tuple[EarlierReport, ...]:
    """Return the reports that are nested, each once. Raises BadInput for two of one name."""
    found: dict[str, EarlierReport] = {}
    for report in (each.report for each in taken.values()):
        other = found.setdefault(report.name, report)
        if other.manifest_sha256 != report.manifest_sha256:
            raise BadInput(
                f"{report.path} and {other.path}: figures would come from two reports of run "
                f"'{report.name}', and only one of a name can be nested"
            )
    return tuple(found.values())


def _published(
    root: Path, catalog: Catalog, options: Options, targets: Collection[str]
) -> list[Path]:
    """Return published reports, that first which measured most of what is asked for."""
    claims = closure(catalog, catalog.claims_of(options.sources, options.claims))
    asked = {claim.id for claim in claims} | {job.id for job in programs_of(claims)}
    asked |= set(comparisons_of(catalog, claims))
    return reports_measuring(root, asked, targets, options.project)


def _with_gpus_here(
    catalog: Catalog, targets: tuple[str, ...], driver: HostDriver
) -> tuple[str, ...]:
    """Return ``targets`` and those that this machine's GPUs are of; says which were added."""
    added: list[str] = []
    for name, target in catalog.targets.items():
        gpus = driver.gpus_of(target, os.environ)
        if gpus and target.timed and name not in targets:
            say(f"this machine has {gpus[0].product}: target {name} is measured too")
            added.append(name)
    return (*targets, *added)


def _chosen_runtime(
    root: Path, catalog: Catalog, options: Options, driver: HostDriver | None
) -> RuntimeName:
    """Return the working runtime, and say why not others. Raises BadInput, MissingEnvironment."""
    runtime, lines = choose(
        options.runtime,
        gpu=driver is not None,
        objection=partial(objection, root, options.prebuilt, host_image=options.host_image),
    )
    if driver is not None or runtime.name != "host":
        for line in lines:
            say(line)
    if options.host_image and not is_engine(runtime.name):
        raise BadInput("--host-image needs --runtime docker or podman, which hold the image")
    return runtime.name


def _check_names(catalog: Catalog, options: Options) -> None:
    """Raise BadInput or MissingEnvironment for a name that cannot be meant."""
    catalog.check_selection(options.sources, options.targets)
    for noun, names in (("source", options.sources), ("target", options.targets)):
        if len(set(names)) != len(names):
            raise BadInput(f"a {noun} is named twice")
    if not re.fullmatch(r"[a-z0-9][a-z0-9_]{0,79}", options.run):
        raise BadInput(f"run name '{options.run}': use lower-case letters, digits and _")
    if options.run in ("templates", "published", "cache"):
        raise BadInput(f"run name '{options.run}' is taken by a folder of the repository")
    if options.prebuilt is not None and not options.prebuilt.is_dir():
        raise BadInput(f"{options.prebuilt}: no such directory")
    for path in options.keys:
        if not path.is_file():
            raise BadInput(f"{path}: no such key file")
    if options.unsigned_for is not None:
        load_public_key(options.unsigned_for)
    local = options.executor == "local"  # a cluster's node has its own Python and directories
    python = device_python(options.device_python)
    if options.device_python and local and shutil.which(python) is None:
        raise BadInput(f"--device-python {python}: there is no such program")
    for name in options.device_paths:
        package_directory(DEVICE_PATH, name, present=local)
    if not local and shutil.which("sbatch") is None:
        raise MissingEnvironment(
            "--executor slurm needs sbatch on PATH: run on a cluster's login node, "
            "or use --executor local"
        )


def _device(
    catalog: Catalog,
    options: Options,
    runtime: RuntimeName,
    at: HostDriver | ClusterFile | None,
    name: str,
    earlier: Provision | None,
) -> Provision | Absence:
    """Return a target's device here or on the cluster, by an ``earlier`` start's; else why not."""
    target, gpus = catalog.targets[name], tuple[str, ...]()
    if isinstance(at, ClusterFile):
        gpu_type = gpu_type_of(at, target)
        if gpu_type not in gpu_types():
            return Absence(NotRun.NO_DEVICE, f"the cluster offers no GPU of type {gpu_type}")
        detail = f"measured on the cluster's {gpu_type} nodes"
    else:
        packages = [Path(path) for path in options.device_paths]
        found = _still_here(target, at, earlier) or find_gpu(
            target, at, runtime, device_python(options.device_python), packages
        )
        if isinstance(found, Absence):
            return found
        where = "" if runtime == "host" else f" in {runtime}"
        gpus, detail = (found.uuid,), f"measured on this machine's {found}{where}"
    return Provision(target=name, kind="device", recorded_in=None, detail=detail, gpus=gpus)


def _still_here(
    target: Target, driver: HostDriver | None, earlier: Provision | None
) -> HostGpu | None:
    """Return an earlier start's GPU if the driver still lists it first: no Python is started."""
    if driver is None or driver.too_old or earlier is None:
        return None
    gpus = driver.gpus_of(target, os.environ)
    return gpus[0] if gpus and earlier.gpus == (gpus[0].uuid,) else None
