"""What stands beside a verdict on a stranger's code, and never changes it."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from assay.judging.judge import judge
from assay.judging.suspicions import suspicions
from assay.records.units import Unit
from tests import builders as b
from tests.judging.asked import rate

ROOT = Path(__file__).resolve().parents[2]
HONEST = (ROOT / "tests/device/kernels/test_honest.py").read_text(encoding="utf-8")
SETTINGS = """
import torch
from torch._inductor import config
torch.backends.cuda.matmul.allow_tf32 = config.max_autotune = True
torch.nn.Linear(2, 2).weight = None
"""


@pytest.mark.parametrize(
    ("source", "found"),
    [
        (re.findall(r"CODE = '''(.*?)'''", HONEST, re.S)[0], ()),
        (SETTINGS, ()),
        ("import gc as g\ng.get_objects()", ("gc.get_objects",)),
        ("from inspect import signature, stack", ("inspect.stack",)),
        ("import threading\nkept = threading", ("threading",)),
        ("x = __import__('ctypes')", ("ctypes",)),
        ("import sys\nsys._getframe(1)", ("sys._getframe",)),
        ("import torch as t\nt.cuda.Event, y = 1, 2", ("torch.cuda.Event = ...",)),
        ("import time\nsetattr(time, name, 1)", ("time.* = ...",)),
        ("import torch\n" + f"torch{'.a' * 3000}", ()),
        ("class ModelNew(:", ()),
    ],
)
def test_what_an_honest_kernel_seldom_needs_is_found(source, found):
    assert suspicions(source.encode()) == found


def test_only_cheats_of_our_referee_are_worth_a_look():
    files = sorted((ROOT / "projects/referee").rglob("*.py"))
    assert {path.stem for path in files if suspicions(path.read_bytes())} == {
        "p10_products_in_turn_answer", "p8_cross_entropy_clock", "thread", "compared"
    }  # fmt: skip


def verdict(given="", solution_ms=b.TIMES_MS["ours"], **evidence_changes):
    """The verdict on a stranger's solution, named by the parameter ``given``."""
    claim = b.claim("pair", rate("solution", "rival"), value=0.833, unit=Unit.RATIO)
    duel, (ours, rival) = b.comparisons()["duel"], b.comparisons()["duel"].arms
    ours = ours.model_copy(update={"id": "solution"})
    workloads, variants = b.workloads(), b.variants()
    workloads["sparse"] = workloads["sparse"].model_copy(update={"parameters": {"solution": given}})
    variants["our_kernel"] = variants["our_kernel"].model_copy(update={"kind": "callable"})
    catalog = b.catalog(
        [claim], comparisons={"duel": duel.model_copy(update={"arms": (ours, rival)})},
        workloads=workloads, variants=variants,
    )  # fmt: skip
    checks = b.correctness()
    first = checks.arms[0].model_copy(update={"arm": "solution"})
    checks = checks.model_copy(update={"arms": (first, *checks.arms[1:])})
    facts = {"solution": b.facts("ours").model_copy(update={"arm": "solution"})}
    times = {"solution": solution_ms, "rival": b.TIMES_MS["rival"]}
    timed = b.benchmark(times, arm_facts=facts)
    evidence = b.evidence([b.measure("pair", "h100")], benchmarks=[timed], checks=[checks])
    return judge(catalog, replace(evidence, **evidence_changes)).verdicts[0]


@pytest.mark.parametrize(
    ("file", "given", "remarked"),
    [
        ("solutions/x.py", "solutions/x.py:ModelNew", True),
        ("solutions/x/deep/helper.py", "solutions/x.py:ModelNew", True),
        ("solutions/x/main.py", "solutions/x", True),
        ("solutions/x/helper.py", "solutions/x/x.py:ModelNew", True),
        ("problems/x.py", "solutions/x.py:ModelNew", False),
    ],
)
def test_a_remark_is_beside_the_verdict(file, given, remarked):
    plain = verdict(given)
    told = verdict(given, project_code={file: b"import gc\ngc.get_objects()"})
    assert plain.status == "reproduced"
    assert (f"{file}: gc.get_objects" in told.explanation) == remarked
    assert told.model_copy(update={"explanation": plain.explanation}) == plain


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"fixed_inputs": True}, 4e-4, "the same inputs for every seed"),
        ({}, 5e-3, "less precision"),
        ({}, 9e-4, ""),
    ],
)
def test_what_the_gate_lets_pass_is_told(changes, error, words):
    correct = b.correctness()
    check = correct.arms[0].checks[0].model_copy(update={"relative_error": error})
    arm = correct.arms[0].model_copy(update={"arm": "solution", "checks": (check,), **changes})
    told = verdict(
        correctness={("h100", "duel"): correct.model_copy(update={"arms": (arm, correct.arms[1])})}
    )
    plain = verdict()
    assert told.status == plain.status
    assert words in told.explanation and (told == plain) == (not words)


@pytest.mark.parametrize(("factor", "told"), [(1.0, False), (0.95, False), (0.5, True)])
def test_a_reference_that_is_slower_beside_a_solution_is_told(factor, told):
    ours = b.facts("ours").model_copy(update={"arm": "solution"})
    times = {"solution": b.TIMES_MS["ours"], "rival": b.TIMES_MS["rival"]}
    beside = b.benchmark(times, arm_facts={"solution": ours})
    alone = b.benchmark({"rival": factor * times["rival"]}).processes[0]
    record = beside.model_copy(update={"alone": alone})
    plain, found = verdict(), verdict(benchmarks={("h100", "duel"): record})
    assert found.status == plain.status
    assert ("beside it as alone" in found.explanation) == told


def test_a_solution_faster_than_the_hardware_is_no_record():
    assert verdict(solution_ms=0.001).reason == "below_roofline_bound"
