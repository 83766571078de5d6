"""The compilations of a run, the order in which they start, and what makes one run again."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace

import pytest

from assay.base.io import load_yaml, read_record, write_record
from assay.building.build import RECORD
from assay.building.recipe import describe
from assay.building.toolchain import toolchain_lock_digest
from assay.catalog.load import load_catalog
from assay.catalog.model import Catalog
from assay.cli.plan_words import guessed_build_seconds
from assay.pipeline.dag import COSTS, Dag, known_costs
from assay.pipeline.plan import make_plan, unanswered
from assay.pipeline.run_files import bind_run
from assay.records.builds import BuildCost, BuildCosts
from assay.records.plan import BuildJob, Plan, Request, RunConfig
from assay.records.timings import StepTiming
from tests import builders as b
from tests.library_checkout import REPOSITORY, copy_code
from tests.report_fixtures import make_request, provision, write_repository

FIVE_MINUTES_S, REST_S = 300.0, 60.0
"""The second of the plan, Snakemake's start, judging, the report and its verification."""
CORES = 2


def request(kind: str = "none", **changes: object) -> Request:
    """A request for all that a bare ``reproduce`` asks for, as if every target were alike."""
    defaults = load_yaml(RunConfig, REPOSITORY / "config" / "config.yaml")
    provisions = [provision(target, kind) for target in defaults.targets]
    made = make_request("first", provisions, defaults.sources)
    return made.model_copy(update=changes)


def first_run(*, rebuild: bool = False) -> Request:
    """What a bare ``reproduce`` asks for without a GPU: no report has figures of an L4."""
    made = request("recorded", rebuild=rebuild)
    targets = [provision(e.target, "none" if e.target == "l4" else e.kind) for e in made.targets]
    return made.model_copy(update={"targets": tuple(targets)})


def names(plan: Plan) -> set[str]:
    return {job.id for job in plan.builds}


class TestWhatIsCompiled:
    """All of it where it runs or was asked for; elsewhere what claims rest on and is light."""

    @pytest.mark.parametrize("kind", ["none", "recorded"])
    def test_elsewhere_the_original_programs_are_left(self, catalog: Catalog, kind: str) -> None:
        plan = make_plan(catalog, request(kind))
        assert not names(plan) & catalog.programs.keys()
        run = {job.id for job in make_plan(catalog, request("device")).builds}
        assert {job.id for job in plan.not_compiled} >= run & catalog.programs.keys() > set()
        every = {*plan.builds, *plan.not_compiled}
        assert every == set(make_plan(catalog, request(kind, rebuild=True)).builds)

    @pytest.mark.parametrize("target", ["a100", "h100_nvl"])
    def test_nothing_for_a_target_that_answers_nothing(self, catalog: Catalog, target: str) -> None:
        """Its GPU is not here and no claim is for it: compiling ahead for it is asked for."""
        asked = {"targets": (provision(target, "none"),)}
        plan = make_plan(catalog, request(**asked))
        assert unanswered([t.provision for t in plan.targets], plan.answers) == (target,)
        assert {job.kind for job in plan.builds} == {"probe"}
        assert plan.not_compiled
        arch = catalog.targets[target].arch
        ahead = make_plan(catalog, request(rebuild=True, **asked)).builds
        assert {job.arch for job in ahead if job.kind == "variant"} == {arch}


class TestTheFirstRun:
    """The last known cost of every compilation keeps a run without a GPU small."""

    def test_targets_without_figures_are_left_beside_those_that_have_some(
        self, catalog: Catalog
    ) -> None:
        plan = make_plan(catalog, first_run())
        archs = {job.arch for job in plan.builds if job.kind == "variant"}
        assert archs == {catalog.targets["h100"].arch}
        assert any(job.arch == catalog.targets["l4"].arch for job in plan.not_compiled)

    def test_it_ends_within_five_minutes_on_two_cores(self, catalog: Catalog) -> None:
        plan = make_plan(catalog, first_run())
        assert REST_S + guessed_build_seconds(REPOSITORY, plan) / CORES < FIVE_MINUTES_S

    def test_the_cost_of_every_build_is_known(self, catalog: Catalog) -> None:
        """Else a new kernel would slip past the test above: ``tools.build_costs`` adds it."""
        known = known_costs(REPOSITORY).keys()
        every = make_plan(catalog, request("device", rebuild=True)).builds
        assert {(job.id, job.arch) for job in every} <= known

    def test_readme_tells_both(self, catalog: Catalog) -> None:
        """Builds, and the minutes of a processor that ``config/build_costs.json`` has for them."""
        readme = (REPOSITORY / "README.md").read_text(encoding="utf-8")
        plans = [make_plan(catalog, first_run(rebuild=each)) for each in (False, True)]
        costs = [guessed_build_seconds(REPOSITORY, plan) / 60 for plan in plans]
        rows = [
            f"| {len(plan.builds)} | {cost:.1f} min |"
            for plan, cost in zip(plans, costs, strict=True)
        ]
        assert re.findall(r"\| \d+ \| [\d.]+ min \|", readme) == rows


def write_costs(root: Path, **seconds: float) -> None:
    """config/build_costs.json: seconds by artifact, and a gigabyte for each of them."""
    entries = tuple(
        BuildCost(id=name, arch="sm_90a", cpu_seconds=value, peak_bytes=int(value * 1e9))
        for name, value in seconds.items()
    )
    made = BuildCosts(
        schema="assay/build_costs/1", host_compiler="g++", processor="x", costs=entries
    )
    write_record(made, root / COSTS)


def test_one_never_compiled_counts_as_the_costliest_of_its_kind(tmp_path: Path) -> None:
    root = write_repository(tmp_path / "repo")
    write_costs(root, demo_bk32=2.0, demo_bk64=7.0, demo_88=600.0)
    kinds = {"demo_bk32": "variant", "demo_bk96": "variant", "demo_88": "program"}
    jobs = [BuildJob(kind=kind, id=name, arch="sm_90a") for name, kind in kinds.items()]  # type: ignore[arg-type]
    request = make_request("costs", [provision()], ["demo"])
    plan = make_plan(load_catalog(root), request).model_copy(update={"builds": tuple(jobs)})
    found = Dag(request, plan, root, root)
    job = SimpleNamespace(artifact="demo_bk96", arch="sm_90a")
    assert found.build_priority(job) == 7
    assert found.build_memory_mb(job) == 7700


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A checkout in which two variants include headers and one does not; all were built."""
    root = write_repository(tmp_path_factory.mktemp("again") / "repo")
    shutil.rmtree(root / "reports" / "templates")
    copy_code(root)
    manifest = root / "kernels" / "demo" / "kernel.yaml"
    before, last = manifest.read_text().split("id: demo_bk96", 1)
    manifest.write_text(f"{before}id: demo_bk96{last.replace('demo.cu', 'other.cu', 1)}")
    for name, text in TestAgain.FILES.items():
        (root / "kernels" / "demo" / name).write_text(text)
    write_costs(root, demo_bk64=3.0, demo_88=9.9, demo_bk32=9.0, demo_bk96=5.0, demo_probe=1.0)
    return root, TestAgain().run(root)


class TestAgain:
    """The workflow compiles again what a change can reach, and nothing else."""

    FILES = {
        "demo.cu": '#include "outer.cuh"\n',
        "outer.cuh": '#include "inner.cuh"\n',
        "inner.cuh": "// inner\n",
        "other.cu": "// on its own\n",
        "probe.cu": "// a probe\n",
    }

    def run(self, root: Path) -> list[str]:
        """Run the workflow's builds; the artifacts of those that ran, in order of their start."""
        wish = make_request("again", [provision(kind="none")], ["demo"])
        wish = wish.model_copy(update={"rebuild": True})
        catalog = load_catalog(root)
        plan = make_plan(catalog, wish)
        jobs = plan.builds
        self.remember(root, jobs)
        bind_run(root, catalog, wish, plan)
        timings = root / "results" / "again" / "timings"
        shutil.rmtree(timings, ignore_errors=True)
        ended = subprocess.run(
            [
                sys.executable, "-m", "snakemake",
                *(f"results/again/builds/{job.arch}/{job.id}.json" for job in jobs),
                "--directory", str(root), "--snakefile", str(root / "Snakefile"),
                "--workflow-profile", str(root / "profiles" / "default"),
                "--cores", "1", "--nolock", "--resources", "gpu=1", "compile_mb=8000",
                "--config", "run=results/again",
            ],
            env={**os.environ, "PYTHONPATH": str(REPOSITORY / "src")},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert ended.returncode == 0, ended.stdout + ended.stderr
        found = [read_record(StepTiming, path) for path in timings.glob("build.*")]
        found.sort(key=lambda timing: timing.began)
        return [timing.arguments["artifact"] for timing in found]

    @staticmethod
    def remember(root: Path, jobs: Iterable[BuildJob]) -> None:
        """Fill the cache with a refusal for every build, so that nothing has to be compiled."""
        catalog, lock = load_catalog(root), toolchain_lock_digest(root)
        for job in jobs:
            described = describe(root, catalog, job.kind, job.id, job.arch, lock)
            refused = b.build(job.id, job.arch, kind=job.kind, diagnostics="no").model_copy(
                update={"key": described.key, "sources": described.sources}
            )
            cached = root / "results" / "cache" / "builds" / described.key
            write_record(refused, cached / RECORD)

    def test_at_first_everything_is_built_longest_first(self, made: tuple[Path, list[str]]) -> None:
        assert made[1] == ["demo_88", "demo_bk32", "demo_bk96", "demo_bk64", "demo_probe"]

    def test_then_only_what_a_change_can_reach(self, made: tuple[Path, list[str]]) -> None:
        assert self.run(made[0]) == []
        path = made[0] / "kernels" / "demo" / "inner.cuh"
        path.write_text(f"{path.read_text()}// changed\n")
        assert set(self.run(made[0])) == {"demo_bk32", "demo_bk64"}
