"""The pictures: deterministic, self-contained SVG, and none at all without data."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from assay.report import figures
from assay.report.figure_sweeps import Configuration, Panel, sweep_panels
from assay.report.figure_traces import Traces, TraceSeries, traces
from assay.report.figures import RooflinePoint, SweepPoint

ARMS = (
    RooflinePoint("ours", 300.0, 610.0, ours=True, named=True),
    RooflinePoint("theirs", 80.0, 150.0, ours=False, named=True),
    RooflinePoint("untold", 90.0, 140.0, ours=True, named=False),
)
SWEEP = (SweepPoint(32, 200.0, 199.0, 201.0), SweepPoint(96, 360.0, 358.0, 361.0))
PANELS = (Panel("Wide", (Configuration("g32", 660.0, 655.0, 664.0, True, True, "660"),)),)
TRACES = Traces(
    segments=(((0.0, 0.1), (1755.0, 1740.0), (620.0, 625.0)),),
    void_spans=((0.0, 0.05),),
    series=(TraceSeries("arm_a", (0.02, 0.06), (1.0, 1.01)),),
    power_limit_w=700.0,
)


def roofline_svg(name: str) -> str:
    """The wide drawing and the narrow one."""
    drawn = figures.roofline(ARMS, 989.4, 3350.0, name)
    assert drawn is not None
    return drawn.svg


PICTURES = {
    "roofline": roofline_svg,
    "sweep": lambda name: figures.bk_sweep(SWEEP, [(96, 588.0)], name),
    "traces": lambda name: traces(TRACES, name),
    "tuning": lambda name: sweep_panels(PANELS, name),
}


class Svg(HTMLParser):
    """Collects ids and what refers to them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids += [value for name, value in attrs if name == "id" and value]

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.mark.parametrize("kind", PICTURES)
class TestEveryPicture:
    """The promises of all pictures."""

    def test_equal_data_gives_equal_bytes(self, kind: str) -> None:
        assert PICTURES[kind]("a") == PICTURES[kind]("a")

    def test_ids_are_counted(self, kind: str) -> None:
        """A digest of coordinates would differ in the last digit's rounding between machines."""
        svg = PICTURES[kind]("mine")
        assert svg is not None
        for name in ("mine", "mine-wide", "mine-narrow"):
            ids = [i for i in Svg(svg).ids if i.rpartition("-")[0] == name]
            assert ids == [f"{name}-{number}" for number in range(len(ids))]

    def test_ids_are_the_pictures_own(self, kind: str) -> None:
        svg = PICTURES[kind]("mine")
        assert svg is not None
        ids = Svg(svg).ids
        assert ids
        assert all(name.startswith("mine-") for name in ids)

    def test_no_metadata_no_style_sheet_no_address(self, kind: str) -> None:
        svg = PICTURES[kind]("a")
        assert svg is not None
        assert svg.startswith("<svg role=")
        for part in ("<metadata", "<style", "http", "<script", "<?xml", "<!DOCTYPE"):
            assert part not in svg

    def test_colours_follow_the_page(self, kind: str) -> None:
        svg = PICTURES[kind]("a")
        assert svg is not None
        assert "var(--fig-ink, #1c2128)" in svg
        assert ": #1c2128" not in svg


class TestContent:
    """The content of each picture."""

    def test_a_roofline_numbers_what_claims_speak_of(self) -> None:
        drawn = figures.roofline(ARMS, 989.4, 3350.0, "b")
        assert drawn is not None
        assert drawn.legend == (("ours", True), ("theirs", False))
        texts = Svg(drawn.svg).text
        assert {"1", "2", "989.4 TFLOP/s tensor peak"} <= set(texts)
        assert "3" not in texts

    def test_dollars_and_angle_brackets_are_plain_text(self) -> None:
        panel = Panel("$a_b$ <x>", PANELS[0].rows)
        svg = sweep_panels([panel], "a")
        assert svg is not None
        assert "$a_b$ <x>" in Svg(svg).text

    def test_without_data_there_is_no_picture(self) -> None:
        assert figures.roofline([], 1.0, 1.0, "a") is None
        assert figures.bk_sweep([], [(96, 588.0)], "a") is None
        assert traces(Traces((), (), (), None), "a") is None


class TestTraces:
    """Clock, power and turn times, one below the other."""

    LONG = "a_name_that_leaves_no_room_for_others_beside_it_in_a_row_of_the_legend"

    @staticmethod
    def drawn(data: Traces) -> str:
        svg = traces(data, "a")
        assert svg is not None
        return svg

    def test_every_turn_is_a_dot_and_every_arm_is_named(self) -> None:
        series = (TraceSeries("one", (0.1, 0.2), (1.0, 1.1)), TraceSeries("<b>", (0.3,), (0.9,)))
        svg = self.drawn(replace(TRACES, series=series))
        assert svg.count("<use ") == 3
        assert {"one", "<b>"} <= set(Svg(svg).text)

    def test_places_follow_the_values(self) -> None:
        series = (TraceSeries("arm", (0.0, 1.0, 2.0), (1.0, 1.5, 2.0)),)
        svg = self.drawn(Traces((), (), series, None))
        places = re.findall(r'<use href="#a-0" x="([\d.]+)" y="([\d.]+)"', svg)
        (left, low), (middle, half), (right, high) = ((float(x), float(y)) for x, y in places)
        assert left < middle < right
        assert middle - left == pytest.approx(right - middle, abs=0.02)
        assert low > half > high, "y grows downwards"

    def test_a_steady_clock_is_a_line_of_two_points(self) -> None:
        at = tuple(0.1 * number for number in range(9))
        steady = Traces(((at, (1980.0,) * 9, (500.0, *(600.0,) * 8)),), (), (), None)
        lines = re.findall(r'<path d="M([\d. ]+)" style="[^"]*--series-\d', self.drawn(steady))
        assert [len(line.split()) // 2 for line in lines] == [2, 3]

    def test_discarded_blocks_are_shaded_in_every_panel(self) -> None:
        assert self.drawn(TRACES).count("<rect ") == 3
        assert "<rect " not in self.drawn(replace(TRACES, void_spans=()))

    def test_the_power_limit_is_dashed_where_it_is_known(self) -> None:
        assert self.drawn(TRACES).count("stroke-dasharray") == 1
        assert "stroke-dasharray" not in self.drawn(replace(TRACES, power_limit_w=None))

    def test_ticks_have_as_many_decimals_as_tell_them_apart(self) -> None:
        series = (TraceSeries("arm", (0.0, 1.0), (0.995, 1.005)),)
        texts = Svg(self.drawn(Traces((), (), series, None))).text
        assert {"0.995", "1.000", "1.005"} <= set(texts)

    def test_long_names_stand_below_each_other(self) -> None:
        names = [self.LONG, self.LONG + "_2"]
        series = tuple(TraceSeries(name, (0.0,), (1.0,)) for name in names)
        svg = self.drawn(Traces((), (), series, None))
        xs = re.findall(r'x="([\d.]+)" y="[\d.]+" style="text-anchor: start', svg)
        assert len(xs) == 2
        assert len(set(xs)) == 1
