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
    "a kernel's source lies above": (_KERNELS, "source: demo.cu", "source: ../demo.cu"),
    "a kernel's source lies in a folder": (_KERNELS, "source: demo.cu", "source: x/demo.cu"),
    "a kernel's source is an option": (_KERNELS, "source: demo.cu", "source: --run"),
    "a kernel's source is hidden": (_KERNELS, "source: demo.cu", "source: .demo.cu"),
    "a kernel's source has a space": (_KERNELS, "source: demo.cu", "source: 'de mo.cu'"),
    "a kernel's source has a newline": (_KERNELS, "source: demo.cu", 'source: "demo.cu\\n"'),
    "a kernel's source has a NUL": (_KERNELS, "source: demo.cu", 'source: "demo.cu\\0"'),
    "a kernel's source is a command": (_KERNELS, "source: demo.cu", "source: $(id).cu"),
    "a probe's source is a file of the system": (_KERNELS, "probe.cu", "/etc/shadow"),
    "a program's source lies above": (_KERNELS, "examples/demo_fmha.cu", "../../demo.cu"),
    "a program's source leaves its folder": (_KERNELS, "examples/demo_fmha.cu", "a/../../b.cu"),
    "a program's source is absolute": (_KERNELS, "examples/demo_fmha.cu", "/tmp/x.cu"),
    "a program's source names no shortest path": (_KERNELS, "examples/demo_fmha.cu", "a//b.cu"),
    "a program's includes lie above": (_KERNELS, "includes: []", "includes: [../..]"),
    "a program's package is a path": (_KERNELS, "package: demo", "package: ../demo"),
    "a launcher is no name": (_KERNELS, "symbol: demo", "symbol: 'demo;abort'"),
    "a launcher has white space": (_KERNELS, "symbol: demo", "symbol: 'de mo'"),
    "a macro carries an option": (_KERNELS, "defines: {BK:", "defines: {'BK=1 -include /etc/passwd':"),
    "a flag is a file": (_KERNELS, "artifact: reimplemented", "flags: [/etc/passwd]\n    artifact: reimplemented"),
    "a flag is two": (_KERNELS, "artifact: reimplemented", "flags: ['-O3 -x']\n    artifact: reimplemented"),
    "a flag has a newline": (_KERNELS, "artifact: reimplemented", 'flags: ["-O3\\n-x"]\n    artifact: reimplemented'),
    "an id has a space": (_KERNELS, "id: demo_bk32", "id: demo bk32"),
    "an id is a path": (_KERNELS, "id: demo_bk32", "id: ../bk32"),
    "an id has a control character": (_KERNELS, "id: demo_bk32", 'id: "demo\\ebk32"'),
    "an id has a letter that looks like another": (_KERNELS, "id: demo_bk32", "id: d\u0435mo_bk32"),
    "an id is turned round": (_KERNELS, "id: demo_bk32", 'id: "demo\\u202ebk32"'),
    "an id ends in a newline": (_KERNELS, "id: demo_bk32", 'id: "demo_bk32\\n"'),
    "an id has a thousand characters": (_KERNELS, "id: demo_bk32", f"id: {'d' * 1000}"),
    "a partition with a command": (_TARGET, "slurm_partition: gpu", "slurm_partition: gpu --wrap=id"),
    "a partition that is an option": (_TARGET, "slurm_partition: gpu", "slurm_partition: --wrap=id"),
    "a partition with a shell's words": (_TARGET, "slurm_partition: gpu", "slurm_partition: $(id)"),
    "a partition in two lines": (_TARGET, "slurm_partition: gpu", 'slurm_partition: "gpu\\n#SBATCH x"'),
    "a partition of nothing": (_TARGET, "slurm_partition: gpu", "slurm_partition: ''"),
    "a GPU model with an option": (_TARGET, "gpu_model: h100", "gpu_model: 'h100 --export=ALL'"),
    "a GPU model with a count": (_TARGET, "gpu_model: h100", "gpu_model: 'h100:8'"),
    "a product pattern that is none": (_TARGET, "product_pattern: NVIDIA", "product_pattern: '(NVIDIA'  #"),
    "a target's id is a path": (_TARGET, "id: h100", "id: ../h100"),
    "a peak that is no number": (_TARGET, "memory_gb_per_s: 3350.0", "memory_gb_per_s: '3350'"),
    "a peak without end": (_TARGET, "memory_gb_per_s: 3350.0", "memory_gb_per_s: .inf"),
    "a peak below nothing": (_TARGET, "memory_gb_per_s: 3350.0", "memory_gb_per_s: -1.0"),
    "a margin of the night": (_CLAIMS, "value: 200", "value: 3:20"),
    "a value in octal": (_CLAIMS, "value: 200", "value: 0310"),
    "a value with underscores": (_CLAIMS, "value: 200", "value: 2_00"),
    "a date that is an object": (_CLAIMS, 'date: "2025-11-01"', "date: 2025-11-01"),
    "a digest with a newline": (_CLAIMS, f"sha256: {'ab' * 32}", f'sha256: "{"ab" * 32}\\n"'),
    "a claim of another claim's id": (_CLAIMS, "id: demo_ratio", "id: demo_rate"),
    "an unknown key": (_CLAIMS, "value: 200", "value: 200\n    weight: 1"),
    "a truth where a number stands": (_CLAIMS, "value: 200", "value: true"),
    "text where a number stands": (_CLAIMS, "value: 200", "value: two hundred"),
    "a list where a number stands": (_CLAIMS, "value: 200", "value: [200]"),
    "another document's schema": (_CLAIMS, "schema: assay/claims/1", "schema: assay/target/1"),
}  # fmt: skip
"""By what it says."""
