"""A project's assay.yaml: what it may leave out, and what is said of one that is wrong."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from assay.base.yaml_problems import YamlProblems
from assay.catalog.load import catalog_files, load_catalog
from assay.catalog.model import Catalog
from assay.catalog.project_folder import MOST_BYTES, MOST_FILES
from assay.records.units import Unit

ROOT = Path(__file__).resolve().parents[2]
CODE = "def case(rows, device):\n    return {'inputs': 1, 'oracle': 2, 'ours': 3, 'theirs': 4}\n"


def document() -> dict[str, Any]:
    return {
        "schema": "assay/project/1",
        "sources": [{"id": "post", "title": "A post"}],
        "measurements": [
            {
                "id": "rows",
                "title": "Rows",
                "callable": "rows.py:case",
                "parameters": {"rows": 64},
                "arms": {"ours": "our own", "theirs": "the other"},
                "dtype": "float16",
                "flops": "4 * rows",
                "bytes": "2 * rows",
                "relative_tolerance": 0.01,
            }
        ],
        "claims": [claim("fast", "1.5x")],
    }


def claim(name: str, value: Any, **more: Any) -> dict[str, Any]:
    return {
        "id": name,
        "statement": "It is fast",
        "place": {"section": "Results", "page": 3},
        "value": value,
        "target": "h100",
        "answer": {"measurement": "rows"},
        **more,
    }


def write(folder: Path, content: dict[str, Any], code: str = CODE) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "assay.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
    (folder / "rows.py").write_text(code)
    return folder


def load(folder: Path, content: dict[str, Any]) -> Catalog:
    return load_catalog(ROOT, write(folder, content))


def refused(folder: Path, content: dict[str, Any]) -> list[str]:
    with pytest.raises(YamlProblems) as raised:
        load(folder, content)
    assert raised.value.exit_code == 2
    return [f"line {each.line}: {each.says}" for each in raised.value.problems]


@pytest.mark.parametrize(
    ("value", "number", "unit", "resolution"),
    [
        ("1.50x", 1.5, Unit.RATIO, 0.01),
        ("610 TFLOP/s", 610, Unit.TFLOP_PER_S, 1),
        ("1.2 PFLOPs/s", 1.2, Unit.PFLOP_PER_S, 0.1),
        ("3,350 GB/s", 3350, Unit.GB_PER_S, 1),
        ("0.450 ms", 0.45, Unit.MS, 0.001),
        ("20 %", 20, Unit.PERCENT, 1),
    ],
)
def test_units_and_digits_are_those_that_are_written(
    tmp_path: Path, value: str, number: float, unit: Unit, resolution: float
) -> None:
    (found,) = load(
        tmp_path / "p", {**document(), "claims": [claim("fast", value)]}
    ).claims.values()
    assert (found.value, found.unit) == (number, unit)
    assert found.resolution == pytest.approx(resolution)


class TestProblems:
    """All that is wrong is said at once."""

    def test_names_are_looked_at_once_all_entries_are_sound(self, tmp_path: Path) -> None:
        content = document()
        content["claims"].append(claim("gone", "2x", answer={"measurement": "row"}))
        content["measurements"][0] |= {"callable": "row.py:case"}
        meant = [each.rpartition("did you mean ")[2] for each in refused(tmp_path / "p", content)]
        assert meant == ["'rows.py'?", "'rows'?"]
        content = document()
        content["measurements"][0] |= {"flops": "4 * row"}
        (told,) = refused(tmp_path / "p", content)
        assert told.endswith("flops names 'row', which is no parameter that is a number")
        content = document()
        content["claims"].append(claim("where", "2x", target="h10"))
        (told,) = refused(tmp_path / "p", content)
        assert told.endswith("claim 'where': there is no target 'h10': did you mean 'h100'?")

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            ({"sources": []}, "sources: is empty"),
            ({"claims": {}}, "claims: must be a list"),
            ({"claims": [claim("fast", "1.5x"), claim("fast", "1.5x")]}, "given twice"),
            ({"claims": [claim("fast", 3)]}, "what is measured has a value with its unit"),
            ({"claims": [claim("fast", "12 lines")]}, "is no rate, time or ratio"),
            ({"claims": [claim("fast", "fast")]}, "is no figure such as"),
            ({"claims": [claim("fast", "2x", source="past")]}, "there is no source 'past'"),
            ({"files": ["gone.bin"]}, "gone.bin: is no plain file of the project"),
            ({"claims": [claim("fast", "2x", target=["h100", "h100"])]}, "is named twice"),
            ({"claims": [claim("fast", "2x", target=[])]}, "target: is an empty list: leave it"),
            (
                {
                    "sources": [
                        {"id": "post", "title": "P", "file": "/etc/passwd", "sha256": "a" * 64}
                    ]
                },
                "file: names the document itself, or its place below",
            ),
            (
                {"sources": [{"id": "post", "title": "P", "file": "../../x", "sha256": "a" * 64}]},
                "file: names the document itself, or its place below",
            ),
        ],
    )
    def test_what_else_is_refused(self, tmp_path: Path, change: dict[str, Any], words: str) -> None:
        assert any(words in each for each in refused(tmp_path / "p", {**document(), **change}))

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            # The device would look for what the function returns besides, and not find it.
            *(
                ({"arms": {name: "ours", "theirs": "other"}}, f"arms: '{name}' is no arm in what")
                for name in ("inputs", "oracle", "output")
            ),
            ({"packages": {"our": "their-kernels"}}, "no arm 'our': did you mean 'ours'?"),
            ({"arms": dict.fromkeys("abc", "one")}, "say which it is held against (over)"),
            *(
                ({"id": name, "arms": {arm: "mine", "theirs": "other"}},
                 f"arm '{name}_{arm}': Assay has one of that id")
                for name, arm in (
                    ("sdpa", "flash"), ("cublas", "dense"), ("attention", "fused_d128"),
                )
            ),
        ],
    )  # fmt: skip
    def test_what_is_refused_of_a_measurement(self, tmp_path, change, words):
        content = document()
        content["measurements"][0] |= change
        name = content["measurements"][0]["id"]
        content["claims"] = [claim("fast", "1.5x", answer={"measurement": name})]
        assert any(words in each for each in refused(tmp_path / "p", content))

    @pytest.mark.parametrize(
        ("typed", "says"),
        [
            ("value: 0x280\n  unit: TFLOP/s", "'0x280' is no decimal number"),
            ("value: 1e3000000 TFLOP/s", "'1e3000000' is beyond the numbers"),
            ("value: 1e-3000000 TFLOP/s", "'1e-3000000' is beyond the numbers"),
            ("value: 1e400 TFLOP/s", "'1e400' is beyond the numbers"),
            ("value: '1e3000000'", "'1e3000000' is beyond the numbers"),
            (f"value: {'9' * 400} GB/s", "9' is beyond the numbers"),
            (f"value: 0.{'0' * 400}1 GB/s", "is beyond the numbers"),
        ],
    )
    def test_a_number_that_nobody_computes_with_is_refused_once(self, tmp_path, typed, says):
        folder = write(tmp_path / "p", document())
        text = (folder / "assay.yaml").read_text()
        (folder / "assay.yaml").write_text(text.replace("value: 1.5x", typed))
        with pytest.raises(YamlProblems) as raised:
            load_catalog(ROOT, folder)
        (problem,) = raised.value.problems
        assert says in problem.says
        assert problem.line == 1 + text.splitlines().index("  value: 1.5x")

    def test_two_arms_of_one_id_in_records_are_refused(self, tmp_path: Path) -> None:
        """Else a claim would be answered by the other measurement's arm."""
        content = document()
        (first,), (other,) = content["measurements"], document()["measurements"]
        other |= {"id": "rows_deep", "arms": {"ours": "deep", "theirs": "steps"}}
        first["arms"] = {"deep_ours": "slow", "theirs": "steps"}
        content["measurements"].append(other)
        content["claims"].append(claim("deep", "2x", answer={"measurement": "rows_deep"}))
        (told,) = refused(tmp_path / "p", content)
        assert "are both called rows_deep_ours in records" in told

    @pytest.mark.parametrize("small", ["a x", 2**31, True, 1.5])
    def test_a_size_of_the_small_problem_is_a_whole_number(self, tmp_path, small):
        content = document()
        (entry,) = content["measurements"]
        arm = {"title": "C", "source": "k.cu", "symbol": "run", "operands": ["a"],
               "sizes": ["rows"], "archs": ["sm_90a"]}  # fmt: skip
        entry |= {"arms": {**entry["arms"], "ours": arm}, "small": {"rows": 8}}
        folder = write(tmp_path / "p", content)
        (folder / "k.cu").touch()
        load(folder, content)
        entry["small"] = {"rows": small}
        (told,) = refused(folder, content)
        assert f"arm 'ours': small: 'rows' is {small}, and no whole number of 32 bits" in told
        lines = (folder / "assay.yaml").read_text().splitlines()
        assert told.startswith(f"line {lines.index('  small:') + 2}: ")

    def test_nothing_behind_a_link_is_the_projects(self, tmp_path: Path) -> None:
        """Somebody's private file would be signed and shown."""
        private = tmp_path / "private"
        private.mkdir()
        (private / "id_rsa").write_text("secret")
        (private / "deep.py").touch()
        folder = write(tmp_path / "p", document())
        (folder / "link").symlink_to("../private")
        found = load(folder, document()).project
        assert found.files == ("assay.yaml", "rows.py"), "no linked folder is walked"
        (told,) = refused(folder, {**document(), "files": ["link/id_rsa", "rows.py"]})
        assert "files: link/id_rsa: link is a link" in told
        (folder / "own").write_text("data")
        (folder / "alias").symlink_to("own")
        assert len(refused(folder, {**document(), "files": ["own", "alias"]})) == 1

    @pytest.mark.parametrize("name", ["my file.py", "dir with blank/x.py", "-x.py"])
    def test_code_of_an_odd_name_is_a_sentence(self, tmp_path: Path, name: str) -> None:
        folder = write(tmp_path / "p", document())
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).touch()
        (told,) = refused(folder, document())
        assert told.startswith(f"line 1: {name}: a report cannot carry this name")

    @pytest.mark.parametrize(("files", "size"), [(1000, 0), (2, 2_000_000)])
    def test_what_is_more_than_a_report_takes_is_all_that_is_said(self, tmp_path, files, size):
        folder = write(tmp_path / "p", document())
        for number in range(files):
            (folder / f"more{number}.py").write_text("#" * size)
        (told,) = refused(folder, document())
        assert "more than 1000: " in told or "more than 4,000,000: " in told
        page = (ROOT / "docs" / "assay-yaml.md").read_text()
        assert f"has {MOST_FILES} files and {MOST_BYTES:,} bytes at most" in page


def test_a_runs_folder_holds_the_project_and_no_claims_of_ours(tmp_path: Path) -> None:
    folder = write(tmp_path / "p", document())
    run = tmp_path / "held"
    (run / "project").mkdir(parents=True)
    for name in ("assay.yaml", "rows.py"):
        (run / "project" / name).write_bytes((folder / name).read_bytes())
    for name in catalog_files(ROOT):
        place = run / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes((ROOT / name).read_bytes())
    found = catalog_files(run)
    assert "project/assay.yaml" in found
    assert "project/rows.py" in found
    assert not any(name.startswith("config/claims/") for name in found)
    assert load_catalog(run) == load_catalog(ROOT, folder)


def commanded(**more: Any) -> dict[str, Any]:
    """A document whose claims a command answers."""
    command = {
        "id": "bench",
        "build": "nvcc bench.cu -o bench",
        "run": "./bench --m 64",
        "sizes": {"m": {"reads": "m={value} ", "equals": 64}},
        **more,
    }
    answer = {"command": "bench", "reads": "json: runs[0].tflops"}
    return {
        "schema": "assay/project/1",
        "sources": [{"id": "post", "title": "A post"}],
        "commands": [command],
        "claims": [claim("rate", "610 TFLOP/s", answer=answer)],
    }


PROGRAM = {"kind": "program", "program": "cutlass_example_57", "figure": "pingpong_ms",
           "typed": None, "stated": {"arguments": ["--m=1"], "shape": {"m": 1}}}  # fmt: skip
UNANSWERABLE = {"kind": "unanswerable", "reason": "original_unavailable", "detail": "elsewhere"}


def published(**more: Any) -> dict[str, Any]:
    """A document with a program that its source publishes elsewhere."""
    content = document()
    content["sources"][0]["original"] = original("bench")
    content["sources"][0] |= more
    rate = claim("rate", "610 TFLOP/s", evaluation=UNANSWERABLE)
    del rate["answer"]
    content["claims"].append(rate)
    found: dict[str, Any] = json.loads(json.dumps(content))  # nothing of it twice: no anchors
    return found


def original(name: str) -> dict[str, Any]:
    place = {"section": "Code", "line": 1}
    figures = [{"claim": "rate", "pattern": "rate: {value}", "unit": "tflop_per_s"}]
    return {"id": name, "file": "a.cu", "place": place, "build": None,
            "run": {"line": "./a", "place": place}, "figures": figures}  # fmt: skip


class TestWhatARunWouldRefuse:
    """It is refused before: ``check`` passed such projects."""

    @pytest.mark.parametrize(
        ("value", "changed", "says"),
        [
            ("3 ms", {}, None),
            ("3 ms", {"figure": "cooperative*_ms"}, None),
            ("3 ms", {"figure": "ms"}, "prints no 'ms'"),
            ("3 TFLOP/s", {}, "is in TFLOP/s, and 'pingpong_ms' of cutlass_example_57 is in ms"),
            ("3x", {}, "is in x, and"),
            ("3 ms", {"stated": {"arguments": [], "shape": {"mm": 1}}}, "did you mean 'm'?"),
        ],
    )
    def test_what_a_program_does_not_print(self, tmp_path, value, changed, says):
        content = document()
        asked = claim("slow", value, evaluation={**PROGRAM, **changed})
        del asked["answer"]
        content["claims"].append(asked)
        if says is None:
            load(tmp_path / "p", content)
        else:
            (told,) = refused(tmp_path / "p", content)
            assert says in told

    def test_an_id_that_two_of_one_source_have(self, tmp_path: Path) -> None:
        file = {"id": "f", "file": "a.cu", "public": "elsewhere", "archs": ["sm_90a"],
                "place": {"section": "Code", "line": 1}}  # fmt: skip
        load(tmp_path / "p", published(other_builds=[original("o")], compilations=[file]))
        for more in (
            {"other_builds": [original("bench")]},
            {"other_builds": [original("o"), original("o")]},
            {"compilations": [file, {**file, "file": "b.cu"}]},
        ):
            (told,) = refused(tmp_path / "p", published(**more))
            assert told.startswith("line 3: source 'post': ")
            assert told.endswith(": it has two of that id")


@pytest.mark.parametrize(
    ("value", "formula", "numerator", "denominator", "says"),
    [
        ("1.3x", "quotient", "slow", "fast", None),
        ("25 %", "percent_gain", "slow", "fast", None),
        ("85 %", "quotient", "slow", "fast", "is in %: quotient gives x, percent_gain gives %"),
        ("1.3x", "percent_gain", "slow", "fast", "is in x: quotient gives x, "),
        ("3 ms", "quotient", "slow", "fast", "is in ms: quotient gives x, "),
        ("3x", "quotient", "slow", "rate", "'slow' is in ms and 'rate' in TFLOP/s: no figure"),
        ("3x", "quotient", "count", "fast", "'count' has no rate, time or ratio to form a"),
    ],
)
def test_units_of_what_is_formed_of_two_fit(tmp_path, value, formula, numerator, denominator, says):
    def of(command: str) -> dict[str, str]:
        return {"command": "bench", "reads": f"{command}={{value}}"}

    formed = {
        "kind": "derived",
        "formula": formula,
        "numerator": numerator,
        "denominator": denominator,
    }
    counted = {"kind": "unanswerable", "reason": "not_implemented", "detail": "nobody counts"}
    content = commanded()
    content["claims"] = [
        claim("rate", "610 TFLOP/s", answer=of("rate")),
        claim("slow", "4 ms", answer=of("slow")),
        claim("fast", "3,000 us", answer=of("fast")),
        claim("count", "4 lines", answer=None, evaluation=counted),
        claim("formed", value, answer=None, evaluation=formed),
    ]
    if says is None:
        assert load(tmp_path / "p", content).claims["formed"].value is not None
        return
    (told,) = refused(tmp_path / "p", content)
    assert f"claim 'formed': {says}" in told


def test_an_image_has_a_digest(tmp_path: Path) -> None:
    content = commanded()
    content["commands"][0]["image"] = "cuda:13.0"
    told = refused(tmp_path / "p", content)
    assert any("names no image by its digest: NAME@sha256" in each for each in told), told


@pytest.mark.parametrize(
    ("value", "unit", "printed", "says"),
    [
        (3201, "count", None, "rates, times and ratios, and its unit is count"),
        ("5 ms", None, "GB/s", "is in ms, and its program prints GB/s"),
    ],
)
def test_a_figure_that_no_command_prints_stands_with_its_line(tmp_path, value, unit, printed, says):
    content = document()
    content["commands"] = [{"id": "bench", "run": "./bench"}]
    answer = {"command": "bench", "reads": "rate={value}", **({"unit": printed} if printed else {})}
    more = {"unit": unit} if unit else {}
    content["claims"].append(claim("printed", value, **{**more, "answer": answer}))
    folder = write(tmp_path / "mine", content)
    with pytest.raises(YamlProblems) as caught:
        load_catalog(ROOT, folder)
    assert f"claim 'printed': {'its program prints ' if unit else ''}{says}" in str(caught.value)
    assert "line 1:" not in str(caught.value)
