"""Output of the CUTLASS examples, as their sources print it."""

import pytest

from assay.catalog.formula_names import OUTPUTS
from assay.judging.cutlass_output import MalformedOutput, parse, printed_flop
from tests import builders as b

FMHA = {"tma ws cooperative 128x64x64": 401.5, "tma ws ping-pong 128x64x64": 433.25}


class TestExample88:
    def test_reads_shape_and_figures(self) -> None:
        parsed = parse("cutlass_88", b.output_88(FMHA))
        assert parsed.shape == {"b": 1, "h": 8, "q": 1024, "k": 1024, "d": 64, "causal": False}
        assert parsed.figures == {
            "tma_ws_cooperative_128x64x64": 401.5,
            "tma_ws_ping_pong_128x64x64": 433.25,
        }
        assert parsed.passed is True

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("", "its problem 0 times"),
            (b.output_88(FMHA) * 2, "its problem 2 times"),
            (b.output_88({}), "states no rate"),
            (b.output_88({"tma": float("nan")}), "nan"),
            (b.output_88(FMHA).replace("Forward", "Backward"), "backward"),
        ],
    )
    def test_malformed_output_says_why(self, text: str, reason: str) -> None:
        with pytest.raises(MalformedOutput, match=reason):
            parse("cutlass_88", text)


SCHEDULES = {
    "Cooperative schedule": (0.12, 14.0),
    "Cooperative schedule (host problem shapes unavailable)": (0.13, 13.0),
    "Pingpong schedule": (0.11, 15.25),
    "Pingpong schedule (host problem shapes unavailable)": (0.115, 14.6),
}


class TestExample57:
    def test_reads_four_schedules(self) -> None:
        parsed = parse("cutlass_57", b.output_57(SCHEDULES))
        assert parsed.shape == {"groups": 3, "m": 128, "n": 128, "k": 64}
        assert parsed.figures["pingpong_tflop_per_s"] == 15.25
        assert parsed.figures["pingpong_ms"] == 0.11
        assert parsed.figures["cooperative_device_shapes_ms"] == 0.13
        assert parsed.figures.keys() == set(OUTPUTS["cutlass_57"].figures)
        assert parsed.passed is True

    def test_unequal_groups_have_no_common_shape(self) -> None:
        text = b.output_57(SCHEDULES, problems=[(128, 128, 64), (256, 128, 64)])
        assert parse("cutlass_57", text).shape == {"groups": 2}

    def test_a_failed_disposition_has_no_figure(self) -> None:
        parsed = parse("cutlass_57", b.output_57(SCHEDULES, disposition="Failed"))
        assert parsed.passed is False
        assert parsed.figures == {}
        assert "cooperative_ms" in parsed.failed

    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            (("  Groups      : 3", "  Groups      : 4"), "3 problems for 4 groups"),
            (("Pingpong schedule ***", "Other schedule ***"), "unknown schedule"),
            (("  Avg runtime : 0.12 ms\n", ""), "run time 0 times"),
            (("*** ", "--- "), "names no schedule"),
        ],
    )
    def test_malformed_output_says_why(self, change: tuple[str, str], reason: str) -> None:
        with pytest.raises(MalformedOutput, match=reason):
            parse("cutlass_57", b.output_57(SCHEDULES).replace(*change))

    def test_schedules_must_run_one_problem(self) -> None:
        one = b.output_57({"Cooperative schedule": (0.1, 1.0)})
        two = b.output_57({"Pingpong schedule": (0.1, 1.0)}, problems=[(64, 64, 64)])
        with pytest.raises(MalformedOutput, match="different problems"):
            parse("cutlass_57", one + two)


class TestExample41:
    def test_reads_shape_time_and_rate(self) -> None:
        parsed = parse("cutlass_41", b.output_41(27631.6, 0.0245))
        assert parsed.shape == {
            "seq_length": 512,
            "seq_length_kv": 512,
            "head_size": 64,
            "head_size_v": 64,
            "head_number": 8,
            "batch_size": 1,
        }
        assert parsed.figures == {"gflop_per_s": 27631.6, "ms": 0.0245}
        assert parsed.figures.keys() == set(OUTPUTS["cutlass_41"].figures)
        assert parsed.passed is True

    def test_failed_has_no_figure(self) -> None:
        parsed = parse("cutlass_41", b.output_41(1.0, 1.0, end="Failed"))
        assert parsed.passed is False
        assert parsed.figures == {}

    def test_a_crash_is_malformed(self) -> None:
        with pytest.raises(MalformedOutput, match="neither"):
            parse("cutlass_41", "Kernel execution error")


class TestExample43:
    """It prints no problem."""

    TEXT = "ELL Block Sparse GEMM (CUTLASS):\n\n    Runtime: 0.0312 ms\n     GFLOPs: 68719\n\n{}\n"

    def test_time_and_rate_of_a_product_that_was_checked(self) -> None:
        parsed = parse("cutlass_43", self.TEXT.format("Passed"))
        assert parsed.figures == {"gflop_per_s": 68719.0, "ms": 0.0312}
        assert parsed.figures.keys() == set(OUTPUTS["cutlass_43"].figures)
        assert (parsed.shape, parsed.passed) == ({}, True)

    def test_failed_has_no_figure(self) -> None:
        parsed = parse("cutlass_43", self.TEXT.format("Failed"))
        assert (parsed.figures, parsed.passed) == ({}, False)


class TestCounts:
    def test_example_57_counts_every_group(self) -> None:
        shape = {"groups": 800, "m": 128, "n": 128, "k": 64}
        assert printed_flop("cutlass_57", shape, []) == 800 * 2 * 128 * 128 * 64
        assert printed_flop("cutlass_57", {"groups": 800}, []) is None
