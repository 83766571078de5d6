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
    "cached_by_shape": "repeat",
    "cached_in_file": "repeat",
    "every_second_call": "repeat",
    "old_memory": "timed_shape",
    "thread_later": "timed_shape",
    "lazy_tensor": "plain_tensor",
    "graph_stale": "repeat",
    "frame_walker": TIMED,
    "stack_inspector": TIMED,
    "nan_everywhere": "timed_shape",
    "inputs_zeroed": "inputs_unchanged",
    "half_of_k": "timed_shape",
    "small_values_skipped": "timed_shape",
    "one_row_for_all": "timed_shape",
    "low_precision_output": "timed_shape",
    "function_mode": "harness_unchanged",
    "patched_event": "harness_unchanged",
    "patched_synchronize": "harness_unchanged",
    "patched_clock": "harness_unchanged",
    "patched_compare": "harness_unchanged",
    "patched_allclose": "harness_unchanged",
}
"""By name: a check of the gate, TIMED, or None for the honest kernel. A GPU is shown all."""
