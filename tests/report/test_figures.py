"""The pictures: deterministic, self-contained SVG, and none at all without data."""

from html.parser import HTMLParser

import pytest

from assay.records.verdicts import Status
from assay.report import figures
from assay.report.figure_sweeps import Configuration, Panel, sweep_panels
from assay.report.figures import ClaimPoint, RooflinePoint, SweepPoint, Traces, TraceSeries

CLAIMS = (
    ClaimPoint("slow", 0.4, 0.39, 0.41, 0.926, 1.08, Status.NOT_REPRODUCED, "607 → 243 TFLOP/s"),
    ClaimPoint("at_least", 1.8, 1.79, 1.81, 1.0, None, Status.REPRODUCED, "≥ 1.5 → 1.799"),
    ClaimPoint("at_most", 0.5, 0.4, 0.6, None, 1.0, Status.REPRODUCED, "≤ 1 → 0.5"),
)
ARMS = (RooflinePoint("ours", 300.0, 610.0, True), RooflinePoint("theirs", 80.0, 150.0, False))
SWEEP = (SweepPoint(32, 200.0, 199.0, 201.0), SweepPoint(96, 360.0, 358.0, 361.0))
PANELS = (Panel("Wide", (Configuration("g32", 660.0, 655.0, 664.0, True, True, "660"),)),)
TRACES = Traces(
    segments=(((0.0, 0.1), (1755.0, 1740.0), (620.0, 625.0)),),
    void_spans=((0.0, 0.05),),
    series=(TraceSeries("arm_a", (0.02, 0.06), (1.0, 1.01)),),
    power_limit_w=700.0,
)
PICTURES = {
    "claims": lambda name: figures.claimed_against_measured(CLAIMS, name),
    "roofline": lambda name: figures.roofline(ARMS, 989.4, 3350.0, name),
    "sweep": lambda name: figures.bk_sweep(SWEEP, [(96, 588.0)], name),
    "traces": lambda name: figures.traces(TRACES, name),
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
    """What all pictures promise."""

    def test_equal_data_gives_equal_bytes(self, kind: str) -> None:
        assert PICTURES[kind]("a") == PICTURES[kind]("a")

    def test_ids_are_counted(self, kind: str) -> None:
        """A digest of coordinates would differ in the last digit's rounding between machines."""
        svg = PICTURES[kind]("mine")
        assert svg is not None
        ids = Svg(svg).ids
        assert ids == [f"mine-{number}" for number in range(len(ids))]

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
    """What each picture shows."""

    def test_text_keeps_its_digits(self) -> None:
        """Coordinates are shortened; numbers that are read are not."""
        svg = PICTURES["claims"]("a")
        assert svg is not None
        assert "≥ 1.5 → 1.799" in Svg(svg).text

    def test_labels_of_claims_and_arms_are_text(self) -> None:
        claims, arms = PICTURES["claims"]("a"), PICTURES["roofline"]("b")
        assert claims is not None
        assert arms is not None
        assert {"slow", "at_least", "at_most"} <= set(Svg(claims).text)
        assert {"ours", "theirs", "989.4 TFLOP/s tensor peak"} <= set(Svg(arms).text)

    def test_dollars_and_angle_brackets_are_plain_text(self) -> None:
        point = ClaimPoint("$a_b$ <x>", 1.0, 0.9, 1.1, 0.926, 1.08, Status.REPRODUCED, "&")
        svg = figures.claimed_against_measured([point], "a")
        assert svg is not None
        assert "$a_b$ <x>" in Svg(svg).text

    def test_without_data_there_is_no_picture(self) -> None:
        assert figures.claimed_against_measured([], "a") is None
        assert figures.roofline([], 1.0, 1.0, "a") is None
        assert figures.bk_sweep([], [(96, 588.0)], "a") is None
        assert figures.traces(Traces((), (), (), None), "a") is None
