"""Output of the CUTLASS examples, as their sources print it."""

import pytest

from assay.catalog.formula_names import OUTPUTS
from assay.judging.cutlass_output import MalformedOutput, parse, printed_flop
from tests import builders as b

FMHA = b.output_88({"tma ws cooperative 128x64x64": 401.5, "tma ws ping-pong 128x64x64": 433.25})
SCHEDULES = {
    "Cooperative schedule": (0.12, 14.0),
    "Cooperative schedule (host problem shapes unavailable)": (0.13, 13.0),
    "Pingpong schedule": (0.11, 15.25),
    "Pingpong schedule (host problem shapes unavailable)": (0.115, 14.6),
}
GROUPED = b.output_57(SCHEDULES)
ELL = "ELL Block Sparse GEMM (CUTLASS):\n\n    Runtime: 0.0312 ms\n     GFLOPs: 68719\n\n{}\n"
STREAM_K = """\
10000 timing iterations of 2048 x 1024 x 512 matrix-matrix multiply

Basic data-parallel GEMM
  Disposition: Passed
  Avg runtime: 0.112633 ms
  GFLOPs: 152530

StreamK GEMM with default load-balancing
  Disposition: Passed
  Avg runtime: 0.0941929 ms
  GFLOPs: 182390
  Speedup vs Basic-DP: 1.196
"""
"""As the source of example 47 shows it, of another problem."""
SHAPE_41 = {"seq_length": 512, "seq_length_kv": 512, "head_size": 64, "head_size_v": 64,
            "head_number": 8, "batch_size": 1}  # fmt: skip


@pytest.mark.parametrize(
    ("parser", "text", "shape", "figures"),
    [
        (
            "cutlass_88",
            FMHA,
            {"b": 1, "h": 8, "q": 1024, "k": 1024, "d": 64, "causal": False},
            {"tma_ws_cooperative_128x64x64": 401.5, "tma_ws_ping_pong_128x64x64": 433.25},
        ),
        (
            "cutlass_57",
            GROUPED,
            {"groups": 3, "m": 128, "n": 128, "k": 64},
            {
                "cooperative_ms": 0.12,
                "cooperative_tflop_per_s": 14.0,
                "cooperative_device_shapes_ms": 0.13,
                "cooperative_device_shapes_tflop_per_s": 13.0,
                "pingpong_ms": 0.11,
                "pingpong_tflop_per_s": 15.25,
                "pingpong_device_shapes_ms": 0.115,
                "pingpong_device_shapes_tflop_per_s": 14.6,
            },
        ),
        (
            "cutlass_41",
            b.output_41(27631.6, 0.0245),
            SHAPE_41,
            {"gflop_per_s": 27631.6, "ms": 0.0245},
        ),
        ("cutlass_43", ELL.format("Passed"), {}, {"gflop_per_s": 68719.0, "ms": 0.0312}),
        (
            "cutlass_47",
            STREAM_K,
            {"m": 2048, "n": 1024, "k": 512},
            {"gflop_per_s": 182390.0, "ms": 0.0941929},
        ),
    ],
)
def test_shape_and_figures_are_read(parser, text, shape, figures):
    parsed = parse(parser, text)
    assert (parsed.shape, parsed.figures, parsed.passed) == (shape, figures, True)
    if parser != "cutlass_88":  # whose kernels have names of their own
        assert figures.keys() == set(OUTPUTS[parser].figures)


@pytest.mark.parametrize(
    ("parser", "text", "failed"),
    [
        ("cutlass_57", b.output_57(SCHEDULES, disposition="Failed"), "cooperative_ms"),
        ("cutlass_41", b.output_41(1.0, 1.0, end="Failed"), None),
        ("cutlass_43", ELL.format("Failed"), None),
        ("cutlass_47", STREAM_K.replace("Passed", "Failed", 1), None),
    ],
)
def test_what_failed_has_no_figure(parser: str, text: str, failed: str | None) -> None:
    parsed = parse(parser, text)
    assert (parsed.passed, parsed.figures) == (False, {})
    assert failed is None or failed in parsed.failed


@pytest.mark.parametrize(
    ("parser", "text", "reason"),
    [
        ("cutlass_88", "", "its problem 0 times"),
        ("cutlass_47", STREAM_K.replace("timing", ""), "its problem 0 times"),
        ("cutlass_47", STREAM_K.replace("  GFLOPs: 152530\n", ""), "2 run times and 1 rate"),
        ("cutlass_88", FMHA * 2, "its problem 2 times"),
        ("cutlass_88", b.output_88({}), "states no rate"),
        ("cutlass_88", b.output_88({"tma": float("nan")}), "nan"),
        ("cutlass_88", FMHA.replace("Forward", "Backward"), "backward"),
        ("cutlass_57", GROUPED.replace("Groups      : 3", "Groups      : 4"), "3 problems for 4"),
        ("cutlass_57", GROUPED.replace("Pingpong sch", "Other sch"), "unknown schedule"),
        ("cutlass_57", GROUPED.replace("  Avg runtime : 0.12 ms\n", ""), "run time 0 times"),
        ("cutlass_57", GROUPED.replace("*** ", "--- "), "names no schedule"),
        (
            "cutlass_57",
            b.output_57({"Cooperative schedule": (0.1, 1.0)})
            + b.output_57({"Pingpong schedule": (0.1, 1.0)}, problems=[(64, 64, 64)]),
            "different problems",
        ),
        ("cutlass_41", "Kernel execution error", "neither"),
    ],
)
def test_malformed_output_says_why(parser: str, text: str, reason: str) -> None:
    with pytest.raises(MalformedOutput, match=reason):
        parse(parser, text)


def test_unequal_groups_have_no_common_shape() -> None:
    text = b.output_57(SCHEDULES, problems=[(128, 128, 64), (256, 128, 64)])
    assert parse("cutlass_57", text).shape == {"groups": 2}


def test_example_57_counts_every_group() -> None:
    shape = {"groups": 800, "m": 128, "n": 128, "k": 64}
    assert printed_flop("cutlass_57", shape, []) == 800 * 2 * 128 * 128 * 64
    assert printed_flop("cutlass_57", {"groups": 800}, []) is None
