"""The kernels that cheat: their names, and what must catch each."""

TIMED = "timed_run"
"""What catches a cheat that the gate lets pass: a check of a timed launch."""
CAUGHT_BY: dict[str, str | None] = {
    "honest": None,
    "other_stream": "timed_shape",
    "cached_by_pointer": "repeat",
    "cached_by_content": TIMED,
    "part_written": "poisoned",
    "zeros": "timed_shape",
    "low_precision": "timed_shape",
    "inputs_modified": "inputs_unchanged",
    "previous_result": "repeat",
    "warm_up_detector": TIMED,
    "reference_copied": TIMED,
}
"""By name: a check of the gate, TIMED, or None for the honest kernel. A GPU is shown all."""
