"""CONTRIBUTING.md, followed to the letter in a copy of the repository.

A walk-through is a heading ``### Add ...`` with steps. A step is a sentence that ends in a colon
and names a file, with a fenced block behind it: ``Write `PATH`:``, ``Append to `PATH`:``,
``In `PATH`, before `LINE`:`` and ``In `PATH`, after `LINE`:``. A block of ``console`` holds a
command and lines that its output must hold.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from assay.catalog.load import load_catalog
from assay.pipeline.plan import make_plan
from tests.report_fixtures import make_request, provision

REPOSITORY = Path(__file__).resolve().parents[1]
PAGE = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
COPIED = (
    "Snakefile", "assay", "config", "containers", "docs", "kernels", "profiles", "pyproject.toml",
    "reports/templates", "requirements", "src", "tests", "tools", "workflow",
)  # fmt: skip
STEP = re.compile(
    r"(?P<write>Write\s`(?P<new>[^`]+)`:)"
    r"|(?P<append>Append\sto\s`(?P<old>[^`]+)`:)"
    r"|(?P<insert>In\s`(?P<file>[^`]+)`,\s(?P<side>before|after)\s`(?P<anchor>[^`]+)`:)"
)
FENCE = re.compile(r"^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.S | re.M)


def walkthrough(title: str) -> Iterator[Callable[[Path], None]]:
    section = PAGE.split(f"\n### {title}\n")[1]
    section = re.split(r"\n#{2,3} ", section)[0]
    behind = 0
    for fence in FENCE.finditer(section):
        told = section[behind : fence.start()]
        behind = fence.end()
        if fence["language"] == "console":
            yield _command(fence["text"])
            continue
        steps = list(STEP.finditer(told))
        assert steps, f"{title}: no step says what becomes of the block behind {told[-200:]!r}"
        yield _edit(steps[-1], fence["text"])


def _edit(step: re.Match[str], block: str) -> Callable[[Path], None]:
    def write(house: Path) -> None:
        path = house / step["new"]
        assert not path.exists()
        path.parent.mkdir(exist_ok=True)
        path.write_text(block)

    def append(house: Path) -> None:
        with (house / step["old"]).open("a") as stream:
            stream.write(block)

    def insert(house: Path) -> None:
        path = house / step["file"]
        lines = path.read_text().splitlines(keepends=True)
        found = [n for n, line in enumerate(lines) if line.startswith(step["anchor"])]
        assert len(found) == 1, f"{step['file']}: {len(found)} lines start with {step['anchor']!r}"
        at = found[0] + (step["side"] == "after")
        path.write_text("".join([*lines[:at], block, *lines[at:]]))

    return write if step["write"] else append if step["append"] else insert


def _command(block: str) -> Callable[[Path], None]:
    first, *wanted = block.splitlines()
    words = first.removeprefix("$ ").split()
    module = {"./assay": ["-m", "assay.cli"], "python": []}[words[0]]

    def run(house: Path) -> None:
        said = run_in(house, *module, *words[1:])
        for line in wanted:
            assert line in said, said

    return run


def run_in(house: Path, *arguments: str) -> str:
    """Run this Python on the copy's own code; returns both outputs."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("ASSAY_", "COV_", "PYTEST"))}
    ended = subprocess.run(
        [sys.executable, *arguments],
        cwd=house,
        env={**kept, "PYTHONPATH": str(house / "src"), "COLUMNS": "200", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout + ended.stderr


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A copy of what contributors edit; published reports stay out of it."""
    house = tmp_path / "house"
    house.mkdir()
    for name in COPIED:
        source, place = REPOSITORY / name, house / name
        if source.is_dir():
            shutil.copytree(source, place, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, place)
    return house


def follow(house: Path, title: str) -> None:
    steps = list(walkthrough(title))
    assert steps
    for step in steps:
        step(house)


def test_every_walk_through_is_followed_here():
    followed = set(re.findall(r'follow\(house, "([^"]+)"\)', Path(__file__).read_text()))
    assert followed == set(re.findall(r"^### (.+)$", PAGE, re.M))


def test_a_kernel_variant_is_planned_and_built(house: Path):
    follow(house, "Add a kernel variant")
    catalog = load_catalog(house)
    plan = make_plan(catalog, make_request("r", [provision()], ["assay"]))
    assert "bsr_gemm_mma_deep" in {job.id for job in plan.builds}
    assert catalog.variants["bsr_gemm_mma_deep"].defines["STAGES"] == 3
    assert "bsr_gemm_mma_depths" in plan.targets[0].comparisons


def test_a_target_is_known(house: Path):
    follow(house, "Add a target")
    assert load_catalog(house).targets["h200_nvl"].multiprocessors == 132


def test_a_source_is_planned_and_its_arithmetic_judged(house: Path):
    follow(house, "Add a source")
    catalog = load_catalog(house)
    plan = make_plan(catalog, make_request("r", [provision()], ["post"]))
    ways = {answer.claim: answer.way for answer in plan.answers}
    assert ways == {
        "post_rate": "measure",
        "post_time": "measure",
        "post_rate_from_time": "compute",
    }


def test_a_verdict_status_needs_nothing_else(house: Path):
    follow(house, "Add a verdict status")
    run_in(house, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/report/test_render.py")


def test_a_report_section_is_on_the_page(house: Path, tmp_path: Path):
    follow(house, "Add a report section")
    script = (
        "import sys; from pathlib import Path; sys.path.insert(0, '.');"
        "from tests.report_fixtures import signed_report, write_repository;"
        "print(signed_report(write_repository(Path(sys.argv[1]))))"
    )
    report = Path(run_in(house, "-c", script, str(tmp_path / "demo")).strip().splitlines()[-1])
    page = (report / "appendix.html").read_text()
    assert '<section id="hosts">' in page
    assert ", Linux " in page


def test_every_path_it_names_exists():
    for path in re.findall(
        r"`((?:src|tests|docs|config|workflow|kernels|requirements|reports)/[^`*<]*)`", PAGE
    ):
        new = re.search(rf"Write\s`{re.escape(path)}`:", PAGE)
        assert new or (REPOSITORY / path).exists(), path


def test_the_table_of_packages_is_the_package():
    listed = re.findall(r"^\| `(\w+)` \|", PAGE.split("## Walk-throughs")[0], re.M)
    package = REPOSITORY / "src" / "assay"
    found = {path.relative_to(package).parts[0] for path in package.glob("*/*.py")}
    assert set(listed) == found


def test_what_decides_is_where_the_table_says() -> None:
    rows = re.findall(r"^\|[^|]+\| `([a-z_/]+\.(?:py|c))` \| `([a-z_.]+)` \|$", PAGE, re.M)
    assert len(rows) == 6
    for path, name in rows:
        assert f"{name}(" in (REPOSITORY / "src/assay" / path).read_text(encoding="utf-8")
