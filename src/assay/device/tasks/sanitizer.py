"""NVIDIA's compute-sanitizer over every compiled kernel at small shapes: ``{"task": "sanitize"}``.

A start of a tool takes longer than what it watches, so a few kernels share one. Where that start is
not clean, each of them is started alone under that tool: a finding is one kernel's, and a crash
nobody else's. Several starts run at a time: nothing here is timed. A tool that is not installed is
a status; a tool whose control kernel it does not catch is named, for it would catch nothing else.
"""

import contextlib
import ctypes
import json
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import SimpleQueue

from assay.device.kernels.attention import gradient_strides, sizes_of
from assay.device.kernels.bindings import arguments_of
from assay.device.kernels.drawn_inputs import make_inputs, written
from assay.device.kernels.inputs import Inputs, Tensor
from assay.device.tasks.correctness import ragged_layout
from assay.device.tasks.gate_shapes import sanitized_shapes
from assay.device.tasks.sanitized import DEADLINE_S as LAUNCH_DEADLINE_S
from assay.device.tasks.sanitizer_tool import (
    Found,
    Tools,
    command_line,
    find_command,
    open_tools,
    parse_log,
    run_tool,
)
from assay.device.worker.locks import OpenGpu
from assay.device.worker.messages import progress, utc_now
from assay.shared import attention_call
from assay.shared.job import SanitizerJob
from assay.shared.launch_abi import REFUSALS, WORKSPACE_BYTES, checked_library
from assay.shared.specs import ArmSpec, Json

TOOLS = ("memcheck", "racecheck", "synccheck")
WORKERS = max(6, min(12, (os.cpu_count() or 2) - 2))
"""Starts at a time: each takes a context of some 500 MB on the GPU and a core of the host."""
REPEAT = 2
"""Launches of each shape: the second meets the workspace that the first left behind."""
SEED = 1
START_DEADLINE_S = 60.0
"""For the tool's own start, beside what each kernel may take."""
MOST_A_START = 8
"""Kernels that share a start."""
BUDGET_S = 240.0
"""Of all starts together: what has not ended by then is stopped, and its kernel ``failed``."""


def write_spec(arm: ArmSpec, folder: Path) -> Json:
    """Return how to launch an arm at its small shapes; operands are files in ``folder``."""
    assert arm.artifact is not None
    shapes = []
    for name, workload, ragged in sanitized_shapes(written(arm.workload)):
        layout = ragged_layout(workload, SEED) if ragged else None
        inputs = make_inputs(workload, "cpu", SEED, layout)
        operands, shape = _taken(arm, inputs)
        shape["name"] = name
        shape["operands"] = {operand: str(folder / f"{name}.{operand}") for operand in operands}
        for operand, path in shape["operands"].items():
            # As it lies in memory, whatever view of it the tensor is.
            storage = inputs.tensors[operand].untyped_storage()
            Path(path).write_bytes(ctypes.string_at(storage.data_ptr(), storage.nbytes()))
        shapes.append(shape)
    return {
        "library": str(Path(arm.artifact.path).resolve()),
        "symbol": arm.variant.symbol,
        "workspace_bytes": WORKSPACE_BYTES,
        "repeat": REPEAT,
        "shapes": shapes,
    }


def _taken(arm: ArmSpec, inputs: Inputs) -> tuple[tuple[str, ...], Json]:
    """Return the operands of a launch, and what else it is told and writes."""
    match arm.variant.abi:
        case attention_call.BACKWARD_ABI:
            outputs = inputs.new_gradients()
            return tuple(inputs.tensors), {
                "attention": asdict(sizes_of(inputs, inputs.tensors["o"])),
                "strides": gradient_strides(inputs, outputs),
                "gradient_bytes": list(map(bytes_of, outputs)),
            }
        case attention_call.ABI | attention_call.FP8_ABI:
            output = inputs.new_output()
            return tuple(inputs.tensors), {
                "attention": asdict(sizes_of(inputs, output)),
                "output_bytes": bytes_of(output),
            }
        case _:
            operands, output, scalars = arguments_of(arm.variant, inputs)
            return operands, {"scalars": list(scalars), "output_bytes": bytes_of(output)}


def bytes_of(tensor: Tensor) -> int:
    """Return the bytes of the memory behind a tensor."""
    return int(tensor.untyped_storage().nbytes())


@dataclass(frozen=True)
class Watched:
    """What one start showed of one kernel."""

    found: Found
    launches: Sequence[Json] = ()
    error: str = ""

    @property
    def clean(self) -> bool:
        """Whether the tool came to a summary without findings, and every launch ended or was
        refused: after any other code nothing else in that start is to be believed.
        """
        quiet = self.found.errors == 0 == self.found.warnings and not self.error
        ended = (0, *REFUSALS)
        return quiet and all(s["code"] in ended and not s["error"] for s in self.launches)


class Sanitizer:
    """Starts of the tools, at most WORKERS at a time."""

    def __init__(self, tools: Tools, folder: Path) -> None:
        self._tools, self._folder = tools, folder
        self._end = time.monotonic() + BUDGET_S
        self._slots: SimpleQueue[int] = SimpleQueue()
        for slot in range(WORKERS):
            self._slots.put(slot)

    def start(self, tool: str, asked: Json, name: str) -> tuple[Found, Json]:
        """Return what the tool found in one start, and what was launched in it."""
        log, result = (self._folder / f"{name}.{tool}.{what}" for what in ("log", "result"))
        path = self._folder / f"{name}.{tool}.spec"
        path.write_text(json.dumps({**asked, "result": str(result)}), encoding="utf-8")
        slot = self._slots.get()
        try:
            left = self._end - time.monotonic()
            if left <= 0:
                late = f"not begun: all starts together had {BUDGET_S:.0f} s"
                return Found(None, 0, ()), {"error": late, "kernels": []}
            command = command_line(self._tools, tool, log, slot, path)
            each = LAUNCH_DEADLINE_S * max(1, len(asked.get("kernels", ())))
            words = run_tool(command, min(each + START_DEADLINE_S, left))
        finally:
            self._slots.put(slot)
        found = parse_log(log.read_text(errors="replace") if log.is_file() else "")
        with contextlib.suppress(OSError, ValueError):  # none, or cut off where it was stopped
            return found, dict(json.loads(result.read_text(encoding="utf-8")))
        return found, {"error": words or "ended without a result", "kernels": []}

    def watch(self, tool: str, specs: Mapping[str, Json]) -> dict[str, Watched]:
        """Return what a tool shows of kernels by id: in one start, or if not clean in one each."""
        found, result = self.start(tool, {"kernels": list(specs.values())}, next(iter(specs)))
        kernels = result["kernels"] or [[]] * len(specs)
        seen = {
            name: Watched(found, launches, result["error"])
            for name, launches in zip(specs, kernels, strict=False)
        }
        if len(specs) == 1 or (len(seen) == len(specs) and all(w.clean for w in seen.values())):
            return seen
        alone = [self.watch(tool, {name: spec}) for name, spec in specs.items()]
        return {name: watched for each in alone for name, watched in each.items()}

    def check(self, arms: Sequence[ArmSpec]) -> list[Json]:
        """Return a few kernels under every tool."""
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            specs, broken = dict[str, Json](), dict[str, Watched]()
            for arm in arms:
                place = Path(folder) / arm.variant.id
                place.mkdir()
                try:
                    specs[arm.variant.id] = write_spec(arm, place)
                except (KeyError, ValueError, TypeError, RuntimeError) as error:
                    why = f"its inputs: {type(error).__name__}: {error}"
                    broken[arm.variant.id] = Watched(Found(None, 0, ()), error=why)
            seen = {
                tool: {**broken, **(self.watch(tool, specs) if specs else {})} for tool in TOOLS
            }
        return [_outcome(arm, tool, seen[tool][arm.variant.id]) for arm in arms for tool in TOOLS]

    def control(self, tool: str) -> Json:
        """Return whether a tool catches the kernel that does wrong on purpose."""
        found, result = self.start(tool, {"control": tool}, "control")
        caught = bool(found.errors or found.warnings)
        detail = "" if caught else result["error"] or "no finding"
        return {
            "tool": tool,
            "caught": caught,
            "detail": found.messages[0] if caught and found.messages else detail,
        }


def _outcome(arm: ArmSpec, tool: str, watched: Watched) -> Json:
    """Return the Sanitized record."""
    found, launches = watched.found, watched.launches
    codes = [(shape["name"], shape["code"]) for shape in launches]
    ran = [name for name, code in codes if code == 0]
    refused = [f"{name} refused" for name, code in codes if code in REFUSALS]
    wrong = [f"{name}: cudaError_t {code}" for name, code in codes if code not in (0, *REFUSALS)]
    remarks = refused + wrong
    remarks += [f"{shape['name']}: {shape['error']}" for shape in launches if shape["error"]]
    remarks += [watched.error] if watched.error else []
    broken = len(remarks) > len(refused)
    if found.errors or found.warnings:
        status = "errors" if found.errors else "warnings"
    elif found.errors is None or broken:
        status = "failed"
        if not broken:
            remarks.append("the tool gave no summary")
    else:
        status = "clean" if ran else "unsupported"
    return {
        "variant": arm.variant.id,
        "tool": tool,
        "status": status,
        "shapes": ran,
        "errors": found.errors or 0,
        "warnings": found.warnings,
        "messages": list(found.messages),
        "detail": "; ".join(remarks),
        "binary_sha256": arm.artifact.sha256 if arm.artifact else None,
    }


def run_sanitizer(job: SanitizerJob, gpu: OpenGpu) -> Json:
    """Return the SanitizerRecord of the job's compiled arms."""
    began = time.monotonic()
    arms = [arm for arm in job.arms if arm.artifact is not None]
    for artifact in job.artifacts():
        checked_library(artifact)
    command = find_command()
    tools = open_tools(command) if command else None
    what = "does not start" if command else "is not installed"
    record: Json = {
        "schema": "assay/sanitizer/1",
        "target": job.target.id,
        "gpu_uuid": gpu.choice.uuid,
        "recorded_at": utc_now(),
        "status": "collected" if tools else "not_installed",
        "detail": "" if tools else f"compute-sanitizer {what}",
        "version": tools.version if tools else None,
        **(_watched(tools, arms) if tools else {"controls": [], "runs": []}),
    }
    return {**record, "seconds": round(time.monotonic() - began, 3)}


def _watched(tools: Tools, arms: Sequence[ArmSpec]) -> Json:
    """Controls and kernels under every tool."""
    with tempfile.TemporaryDirectory(prefix="assay-sanitizer-") as folder:
        sanitizer = Sanitizer(tools, Path(folder))
        with ThreadPoolExecutor(WORKERS) as pool:
            controls = pool.map(sanitizer.control, TOOLS)
            runs: list[Json] = []
            size = max(1, min(MOST_A_START, len(arms) // WORKERS))
            shared = [arms[first : first + size] for first in range(0, len(arms), size)]
            for rows in pool.map(sanitizer.check, shared):
                runs += rows
                said = (f"{row['variant']}: {row['tool']} {row['status']}" for row in rows)
                progress(len(runs), len(TOOLS) * len(arms), "; ".join(said))
            return {"controls": list(controls), "runs": runs}
