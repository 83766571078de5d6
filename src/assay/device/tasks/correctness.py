"""The gate: each arm against its oracle, in a process of its own, a few of them side by side.

Nothing is timed here, and neighbours change no verdict (see ``worker.forks``) but by the memory
they take: an arm that found none is checked again, beside fewer. As many arms as slow as the
slowest would still end within the deadline.
"""

import contextlib
import dataclasses
import importlib.metadata
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Any

import torch

from assay.device.kernels.attention_oracle import attend, low_precision_limits
from assay.device.kernels.bindings import prepare_arm
from assay.device.kernels.drawn_inputs import fill, make_inputs, written
from assay.device.kernels.inputs import Inputs, Tensor
from assay.device.kernels.oracles import (
    errors_by_gradient,
    errors_of,
    measure_errors,
    oracle,
    true_product,
)
from assay.device.kernels.prepared import Prepare, Prepared
from assay.device.kernels.project_code import parts_of
from assay.device.tasks.gate_shapes import REPEAT_SEED, large_shapes, small_shapes
from assay.device.worker import forks
from assay.device.worker.cuda import DEVICE, open_cuda
from assay.device.worker.forks import ChildOutcome, Note, each_child
from assay.device.worker.harness_guard import HarnessGuard, changed_words, is_plain
from assay.device.worker.locks import OpenGpu
from assay.device.worker.messages import progress
from assay.shared import sparsity as patterns
from assay.shared.counting import agreeing, counted
from assay.shared.errors import OutputRefused, Unsupported
from assay.shared.job import CorrectnessJob
from assay.shared.sparsity import block_grid
from assay.shared.specs import ArmSpec, Json, WorkloadSpec
from assay.shared.stored_blocks import Blocks, ragged_blocks, scored

LOG_SUM_EXP_TOLERANCE = 1e-3
"""Largest accepted error of a log-sum-exp whose scores stay in float32. Of scores that are kept in
16 bits (``Prepared.rounds_scores``) it may be FlashAttention's limit, if that is greater: its
low-precision reference loses as much."""
FP8_SCORES = 2.0**-10
"""Largest accepted error of a log-sum-exp of scores in FP8, as a fraction of the largest: Hopper's
tensor cores add such products with some 14 bits (DeepSeek-V3's report, section 3.3.2)."""
DEADLINE_S = 600.0
"""An arm not checked by then hangs; the slowest compile and oracle take under two minutes."""


def _check(name: str, seed: int, passed: bool, detail: str = "", **errors: Any) -> Json:
    none = {"relative_error": None, "max_abs_error": None}
    return {"name": name, "seed": seed, "passed": passed, **none, "detail": detail, **errors}


def _launch_and_compare(name: str, seed: int, prepared: Prepared, inputs: Inputs) -> list[Json]:
    """Compare one launch with the oracle, computed only then: there is nothing to copy."""
    # Cloned in stream order: a launch that leaves work on another stream is not waited for.
    launched = prepared.launch()
    if prepared.stranger and not all(map(is_plain, parts_of(launched))):
        detail = "the output is no plain tensor: it may compute when it is read"
        return [_check("plain_tensor", seed, False, detail)]
    output = inputs.checked(prepared.arranged(launched).clone())
    if prepared.log_sum_exp is None:
        return [_compared(name, seed, output, oracle(inputs), inputs)]
    sums, right = inputs.checked(prepared.log_sum_exp.clone()), attend(inputs)
    limits = low_precision_limits(inputs, right)
    sums_limit = LOG_SUM_EXP_TOLERANCE
    if prepared.rounds_scores:
        sums_limit = max(sums_limit, limits.log_sum_exp)
    if inputs.workload.attends_in_fp8:
        known = right.log_sum_exp[right.log_sum_exp.isfinite()].abs()
        sums_limit = max(sums_limit, FP8_SCORES * float(known.max()))
    error = float((output.float() - right.output).abs().max())
    passed = error <= limits.output
    return [
        _compared(name, seed, output, right.output, inputs),
        _log_sum_exp(name, seed, sums, right.log_sum_exp, sums_limit),
        _limited("low_precision_rule", name, seed, error, limits.output, passed=passed),
    ]


def _compared(name: str, seed: int, output: Tensor, right: Tensor, inputs: Inputs) -> Json:
    errors = errors_of(inputs, output, right)
    beyond = errors.beyond(inputs.workload)
    detail = beyond
    if inputs.workload.differentiates:
        each = _each_gradient(inputs, output, right)
        detail = f"{beyond} ({each})" if beyond else each
    found = {"relative_error": errors.relative, "max_abs_error": errors.max_abs}
    return _check(name, seed, not beyond, detail, **found)


def _each_gradient(inputs: Inputs, output: Tensor, right: Tensor) -> str:
    """Return the relative error of each gradient, in words."""
    words = []
    for name, errors in errors_by_gradient(inputs, output, right).items():
        error = "no number" if errors.relative is None else f"{errors.relative:.2e}"
        words.append(f"{name} {error}")
    return ", ".join(words)


def _log_sum_exp(shape: str, seed: int, found: Tensor, right: Tensor, limit: float) -> Json:
    """Return the check of log-sum-exps: -infinity, and only there, for a row without keys."""
    known = torch.isfinite(right)
    error = float((found - right)[known].abs().max()) if bool(known.any()) else 0.0
    passed = bool((found[~known] == -math.inf).all()) and error <= limit
    return _limited("log_sum_exp", shape, seed, error, limit, passed=passed)


def _limited(name: str, shape: str, seed: int, error: float, limit: float, *, passed: bool) -> Json:
    """Return a check by a limit of the launch's own."""
    numbers = {"max_abs_error": error, "limit": limit}
    known = {each: number if math.isfinite(number) else None for each, number in numbers.items()}
    return _check(name, seed, passed, f"{shape}: at most {limit:.3g}", **known)


def _fresh(name: str, seed: int, prepared: Prepared, inputs: Inputs) -> list[Json]:
    """Return a first launch into a poisoned output: right, whole, and its inputs left alone."""
    before = inputs.snapshot()
    prepared.poison()
    checks = _launch_and_compare(name, seed, prepared, inputs)
    if prepared.buffer is not None:
        unwritten = sum(int(torch.isnan(part).sum()) for part in parts_of(prepared.buffer))
        hold = f"{counted(unwritten, 'element')} {agreeing(unwritten, 'holds', 'hold')}"
        detail = f"{hold} NaN after the launch" if unwritten else ""
        checks.append(_check("poisoned", seed, unwritten == 0, detail))
    changed = inputs.changed_since(before)
    detail = f"changed: {', '.join(changed)}" if changed else ""
    checks.append(_check("inputs_unchanged", seed, not changed, detail))
    return checks


def _true_product(seed: int, prepared: Prepared, inputs: Inputs) -> Json:
    """Return the TrueProduct record: how far off one launch is that misses products."""
    a, b = inputs.blocks, inputs.blocks_b
    if a is None or b is None:
        raise ValueError("only a product of two sparse matrices misses blocks")
    output = prepared.arranged(prepared.launch()).clone()
    return {
        "seed": seed,
        "products": patterns.count_found(a.col_idx, b.found()),
        "true_products": patterns.count_products(a.row_ptr, a.col_idx, b.row_ptr, b.col_idx),
        "relative_error": measure_errors(output, true_product(inputs)).relative,
    }


def ragged_layout(workload: WorkloadSpec, seed: int) -> tuple[Blocks | None, Blocks | None]:
    """Stored blocks of a ragged shape: rows of every length, empty ones among them."""
    first = second = None
    if (a := workload.pattern) is not None:
        first = ragged_blocks(a, *block_grid(*scored(workload), a.block_rows, a.block_cols), seed)
    if (b := workload.pattern_b) is not None:
        grid = workload.k // b.block_rows, workload.n // b.block_cols
        second = ragged_blocks(b, *grid, seed + 1)
    return first, second


def check_arm(
    arm: ArmSpec, seeds: Sequence[int], device: str, prepare: Prepare, note: Note
) -> Json:
    """Return all checks of one arm: {"status", "checks", "detail", "refused", "true_product",
    "fixed_inputs"}.

    Values that a workload leaves unwritten are normal here. The checks listed are the checks that
    ran; "refused" names the extra shapes that the kernel does not take, and the detail says why.
    """
    arm = dataclasses.replace(arm, workload=written(arm.workload))
    checks: list[Json] = []
    remarks: list[str] = []
    refused: list[str] = []
    beside: Json | None = None
    fixed = False
    guard = HarnessGuard(arm) if arm.variant.kind == "callable" else None
    for seed in seeds:
        note(f"timed shape, seed {seed}")
        inputs = make_inputs(arm.workload, device, seed)
        try:
            prepared = prepare(arm, inputs)
            checks += _fresh("timed_shape", seed, prepared, inputs)
        except OutputRefused as error:
            checks.append(_check("own_check", seed, False, str(error)))
            break
        except Unsupported as error:
            return {"status": error.kind.value, "checks": checks, "detail": str(error)}
        b = inputs.blocks_b
        # Where B's columns do not rise, a search in them misses blocks.
        if beside is None and b is not None and not patterns.columns_rise(b.row_ptr, b.col_idx):
            beside = _true_product(seed, prepared, inputs)
        note(f"repeat, seed {seed}")
        before = inputs.snapshot() if inputs.case else None
        fill(inputs, seed + REPEAT_SEED)
        fixed = before is not None and not inputs.changed_since(before)
        # The same buffers with other contents: neither the last result nor a cached one will do.
        prepared.refresh()
        checks += _launch_and_compare("repeat", seed + REPEAT_SEED, prepared, inputs)
    if arm.variant.kind == "kernel":
        large = ((name, workload, True) for name, workload in large_shapes(arm.workload))
        for name, workload, ragged in (*small_shapes(arm.workload), *large):
            note(f"{name}, seed {seeds[0]}")
            layout = ragged_layout(workload, seeds[0]) if ragged else None
            inputs = make_inputs(workload, device, seeds[0], layout)
            try:
                checks += _fresh(name, seeds[0], prepare(arm, inputs), inputs)
            except Unsupported as error:
                remarks.append(f"{name} not run: {error}")
                refused.append(name)
    if guard is not None and (changed := guard.changed()):
        checks.append(_check("harness_unchanged", seeds[-1], False, changed_words(changed)))
    failed = sorted({check["name"] for check in checks if not check["passed"]})
    if failed:
        remarks.insert(0, f"failed: {', '.join(failed)}")
    return {
        "status": "incorrect" if failed else "correct",
        "checks": checks,
        "detail": "; ".join(remarks),
        "refused": refused,
        "true_product": beside,
        "fixed_inputs": fixed,
    }


know_packages = cache(importlib.metadata.packages_distributions)
"""Which distributions each module may come from; what is installed is looked through once, by a
process that forks for all its children."""


def imported_packages() -> dict[str, str]:
    """Return the version of each distribution that a module of this process may come from, by its
    name.

    Several share a folder of one name (``nvidia``): of such each is told. What no distribution
    brought, a file of one's own, is not among them, nor what is broken and does not tell.
    """
    brought_by = know_packages()
    modules = {name.partition(".")[0] for name in list(sys.modules)}
    found = {}
    for name in sorted({each for module in modules for each in brought_by.get(module, ()) if each}):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError, KeyError):
            found[name] = importlib.metadata.version(name)
    return {name: version for name, version in found.items() if version}


def arm_record(arm: ArmSpec, outcome: ChildOutcome) -> Json:
    """Return the ArmCorrectness record; a child that died is a failed arm."""
    result = outcome.value
    if result is None:
        where = f" ({outcome.note})" if outcome.note else ""
        result = {"status": "failed", "checks": [], "detail": f"{outcome.error}{where}"}
    return {
        "arm": arm.id,
        "variant": arm.variant.id,
        "workload": arm.workload.id,
        **result,
        "binary_sha256": arm.artifact.sha256 if arm.artifact else None,
    }


def run_correctness(jobs: Sequence[CorrectnessJob], gpu: OpenGpu) -> list[Callable[[], Json]]:
    """Return what gives each comparison's record, in this order; all arms go side by side."""
    arms = [(job, arm) for job in jobs for arm in job.comparison.arms]

    def work(job: CorrectnessJob, arm: ArmSpec, note: Note) -> Json:
        open_cuda(gpu.choice)
        checked = check_arm(arm, job.seeds, DEVICE, prepare_arm, note)
        calls = arm.variant.kind != "kernel"
        return {**checked, "packages": imported_packages()} if calls else checked

    def again(number: int, outcome: ChildOutcome) -> bool:
        if outcome.kind not in forks.WANT_OF_ROOM:
            return False
        # The trace that the child left above would seem to be the arm's verdict.
        sys.stderr.write(f"{arms[number][1].id} found no room beside others: once more\n")
        sys.stderr.flush()
        return True

    if any(arm.variant.kind != "kernel" for _, arm in arms):
        know_packages()  # before the children are forked, each of which would look for itself
    works = [partial(work, job, arm) for job, arm in arms]
    outcomes = each_child(works, DEADLINE_S, forks.width(), again)
    return [partial(_record, job, outcomes, gpu) for job in jobs]


def _record(job: CorrectnessJob, outcomes: Iterator[ChildOutcome], gpu: OpenGpu) -> Json:
    """Return the CorrectnessRecord of a comparison, whose arms' outcomes come next. Its seconds
    are those that pass until all are known: neighbours are checked meanwhile.
    """
    began = time.monotonic()
    arms = job.comparison.arms
    records: list[Json] = []
    for number, (arm, outcome) in enumerate(zip(arms, outcomes, strict=False), start=1):
        records.append(arm_record(arm, outcome))
        status, count = records[-1]["status"], len(records[-1]["checks"])
        text = f"{arm.id}: {status}, {counted(count, 'check')}, {outcome.seconds:.1f} s"
        progress(number, len(arms), f"{text} {records[-1]['detail']}".rstrip())
    return {
        "schema": "assay/correctness/1",
        "comparison": job.comparison.id,
        "target": job.target.id,
        "gpu_uuid": gpu.choice.uuid,
        "arms": records,
        "seconds": round(time.monotonic() - began, 3),
    }
