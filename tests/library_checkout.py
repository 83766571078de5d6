"""A checkout that compares two libraries, for the tests that run the workflow itself.

Nothing has to be compiled; the code is this repository's own, copied.
"""

import shutil
import textwrap
from collections.abc import Sequence
from pathlib import Path

from assay.shared.files import write_bytes
from tests.report_fixtures import JUDGING, PROTOCOLS

REPOSITORY = Path(__file__).resolve().parents[1]
CODE = ("Snakefile", "workflow", "profiles", "src", "requirements", "reports/templates")
LIBRARIES = ("torch_bsr", "cusparse_bsr")

CONFIG = """
schema: assay/run/1
sources: [fixture]
targets: [{targets}]
runtime: {runtime}
executor: local
"""
CLAIMS = f"""
schema: assay/project/1
sources:
  - id: fixture
    title: A test fixture
    date: "2025-11-01"
    file: none.txt
    sha256: {"ab" * 32}
claims:
"""
CLAIM = """
  - id: fixture_{comparison}_{target}
    kind: measurement
    statement: One library beside another, on {target}
    place: {{section: Results, line: 1}}
    value: 1.4
    unit: ratio
    resolution: 0.1
    hardware: {{target: {target}, as_stated: {target}}}
    evaluation:
      kind: benchmark
      metric: rate_ratio
      terms: [{{comparison: {comparison}, arm: second, over: first}}]
"""
WORKLOADS = """
schema: assay/workloads/1
workloads:
  - id: fixture_bsr
    operation: bsr_gemm
    dtype: float16
    distribution: normal
    seed: 1
    m: 1024
    n: 1024
    k: 1024
    pattern: {kind: random, block_rows: 128, block_cols: 128, blocks_per_row: 2}
    relative_tolerance: 1.0e-3
"""
COMPARISON = """
  - id: {comparison}
    title: Two libraries
    protocol: standard
    control: first
    profile: [{profiled}]
    arms:
      - {{id: first, variant: torch_bsr, workload: fixture_bsr}}
      - {{id: second, variant: cusparse_bsr, workload: fixture_bsr}}
"""
KERNELS = "schema: assay/kernels/1\nvariants:\n" + "".join(
    f"""
  - id: {name}
    operation: bsr_gemm
    title: "{name}"
    kind: library
    entry: {name}
    artifact: original
    built_from: as installed
"""
    for name in LIBRARIES
)


def write_config(
    root: Path,
    targets: Sequence[str],
    comparisons: Sequence[str],
    *,
    profiled: Sequence[str] = (),
    runtime: str = "host",
) -> Path:
    """The configuration: a claim for every comparison on every target; ``profiled`` names arms."""
    claims = [CLAIM.format(comparison=c, target=t) for c in comparisons for t in targets]
    pairs = [COMPARISON.format(comparison=c, profiled=", ".join(profiled)) for c in comparisons]
    files = {
        "config/config.yaml": CONFIG.format(targets=", ".join(targets), runtime=runtime),
        "config/claims/fixture.yaml": CLAIMS + "".join(claims),
        "config/workloads/fixture.yaml": WORKLOADS,
        "config/comparisons/fixture.yaml": "schema: assay/comparisons/1\ncomparisons:\n"
        + "".join(pairs),
        "config/protocols.yaml": PROTOCOLS,
        "config/judging.yaml": JUDGING,
        "kernels/bsr_gemm/kernel.yaml": KERNELS,
    }
    for path, text in files.items():
        write_bytes(root / path, text.encode())
    for target in targets:
        described = f"config/targets/{target}.yaml"
        write_bytes(root / described, (REPOSITORY / described).read_bytes())
    return root


def add_to_claims(path: Path, claims: str, of_source: str) -> None:
    """Give the one source of a file of claims further claims, and what it has beside them."""
    head, rest = path.read_text(encoding="utf-8").split("\nclaims:", 1)
    before, audits, after = rest.partition("\naudits:")
    beside = textwrap.indent(of_source.strip("\n"), "    ")
    text = f"{head}\n{beside}\nclaims:{before}{claims.rstrip()}\n{audits}{after}"
    path.write_text(text, encoding="utf-8")


def copy_code(root: Path) -> None:
    """What the workflow runs from."""
    for name in CODE:
        source = REPOSITORY / name
        if source.is_dir():
            shutil.copytree(source, root / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copyfile(source, root / name)
