"""Hostile configuration: YAML that is well formed and says what no file of its kind may.

Each case is a line of a file of the small repository, and what an enemy put in its place.
"""
# ruff: noqa: E501 - a case is a line

Case = tuple[str, str, str]
"""File, text in it, what is put there."""

_KERNELS = "kernels/demo/kernel.yaml"
_TARGET = "config/targets/h100.yaml"
_CLAIMS = "config/claims/demo.yaml"

REFUSED: dict[str, Case] = {
    "a kernel's source is a file of the system": (_KERNELS, "source: demo.cu", "source: /etc/passwd"),
    "a kernel's source is an option": (_KERNELS, "source: demo.cu", "source: --run"),
    "a kernel's source has a newline": (_KERNELS, "source: demo.cu", 'source: "demo.cu\\n"'),
    "a probe's source is a file of the system": (_KERNELS, "probe.cu", "/etc/shadow"),
    "a program's source lies above": (_KERNELS, "examples/demo_fmha.cu", "../../demo.cu"),
    "a program's includes lie above": (_KERNELS, "includes: []", "includes: [../..]"),
    "a program's package is a path": (_KERNELS, "package: demo", "package: ../demo"),
    "a launcher is no name": (_KERNELS, "symbol: demo", "symbol: 'demo;abort'"),
    "a macro carries an option": (_KERNELS, "defines: {BK:", "defines: {'BK=1 -include /etc/passwd':"),
    "a flag is a file": (_KERNELS, "artifact: reimplemented", "flags: [/etc/passwd]\n    artifact: reimplemented"),
    "an id has a space": (_KERNELS, "id: demo_bk32", "id: demo bk32"),
    "an id has a control character": (_KERNELS, "id: demo_bk32", 'id: "demo\\ebk32"'),
    "an id has a thousand characters": (_KERNELS, "id: demo_bk32", f"id: {'d' * 1000}"),
    "a partition with a command": (_TARGET, "slurm_partition: gpu", "slurm_partition: gpu --wrap=id"),
    "a partition in two lines": (_TARGET, "slurm_partition: gpu", 'slurm_partition: "gpu\\n#SBATCH x"'),
    "a GPU model with an option": (_TARGET, "gpu_model: h100", "gpu_model: 'h100 --export=ALL'"),
    "a product pattern that is none": (_TARGET, "product_pattern: NVIDIA", "product_pattern: '(NVIDIA'  #"),
    "a target's id is a path": (_TARGET, "id: h100", "id: ../h100"),
    "a peak that is no number": (_TARGET, "memory_gb_per_s: 3350.0", "memory_gb_per_s: '3350'"),
    "a peak without end": (_TARGET, "memory_gb_per_s: 3350.0", "memory_gb_per_s: .inf"),
    "a date that is an object": (_CLAIMS, 'date: "2025-11-01"', "date: 2025-11-01"),
    "a claim of another claim's id": (_CLAIMS, "id: demo_ratio", "id: demo_rate"),
    "an unknown key": (_CLAIMS, "value: 200", "value: 200\n    weight: 1"),
    "another document's schema": (_CLAIMS, "schema: assay/project/1", "schema: assay/target/1"),
}  # fmt: skip
"""By what it says."""
