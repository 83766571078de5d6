"""output_readers: figures in what a command prints, by words, paths and columns."""

import pytest

from assay.shared.output_readers import BadPattern, parse_reader

JSON = '{"runs": [{"tflops": 610.5, "name": "a"}, {"tflops": "612"}], "best": {"ms": 0.45}}'
CSV = "shape,ms,gbs\n64,0.5,100\n128,0.7,200\nnot, a row\n"


@pytest.mark.parametrize(
    ("reads", "output", "found"),
    [
        ("GFLOPs: {value}", "GFLOPs: 12\n", (12.0,)),
        ("json: best.ms", JSON, (0.45,)),
        ("json: runs[0].tflops", JSON, (610.5,)),
        ("json: runs[*].tflops", JSON, (610.5, 612.0)),
        ("json: best.ms", f"warming up\n{JSON}\n", (0.45,)),
        ("json: best.gone", JSON, ()),
        ("json: runs[9].tflops", JSON, ()),
        ("json: runs.tflops", JSON, ()),
        ("json: best.ms", "nothing of the kind", ()),
        ("csv: ms", CSV, (0.5, 0.7)),
        ("csv: gbs", f"some words\n{CSV}", (100.0, 200.0)),
        ("csv: gone", CSV, ()),
    ],
)
def test_what_is_found(reads: str, output: str, found: tuple[float, ...]) -> None:
    assert parse_reader(reads).values(output) == found
    assert parse_reader(reads).text == reads


@pytest.mark.parametrize("reads", ["rate={rate}", "json: a[", "json[x]: a", "csv[x]: a"])
def test_what_finds_nothing_is_refused(reads: str) -> None:
    with pytest.raises(BadPattern):
        parse_reader(reads)


@pytest.mark.parametrize("output", ["[" * 5000, '{"a": 1e999}', "{" + '"a":1,' * 3, "\x00"])
def test_an_enemys_output_is_no_figure_and_no_error(output: str) -> None:
    assert parse_reader("json: a").values(output) == ()
