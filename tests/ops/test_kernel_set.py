"""kernel_set: what a folder offers, and which kernel of it answers a call."""

import json

import pytest

from assay.ops import kernel_set
from assay.ops.kernel_set import INDEX, Call, find, load
from tests.ops.helpers import write_set

HOPPER, ADA = (9, 0), (8, 9)


@pytest.fixture(autouse=True)
def nothing_loaded(monkeypatch):
    monkeypatch.setattr(kernel_set, "_loaded", [])


def call(**changes):
    values = {
        "operation": "bsr_gemm", "dtype": "float16", "block": (128, 128), "block_b": None,
        "n": 8192, "blocks_per_row": 16.0, "capability": HOPPER,
    }  # fmt: skip
    return Call(**{**values, **changes})


def choice(variant, n_least, n_most):
    return {
        "target": "h100", "operation": "bsr_gemm", "dtype": "float16",
        "block_rows": 128, "block_cols": 128, "variant": variant,
        "shapes": {
            "n_least": n_least, "n_most": n_most, "ragged": False,
            "blocks_least": 0.0, "blocks_most": None,
        },
    }  # fmt: skip


class TestLoading:
    """A folder with an index."""

    def test_a_folder_without_one_names_the_command(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            load(tmp_path)

    @pytest.mark.parametrize(
        "spoil",
        [
            lambda index: index.pop("target"),
            lambda index: index.pop("choices"),
            lambda index: index.update(kernels=None),
        ],
    )
    def test_an_index_that_lacks_something(self, tmp_path, spoil):
        """Said by load, not by the first call on a GPU."""
        path = write_set(tmp_path, {"variant": "one"}, choices=[choice("one", 1, 9)]) / INDEX
        index = json.loads(path.read_text())
        spoil(index)
        path.write_text(json.dumps(index))
        with pytest.raises(ValueError):
            load(tmp_path)

    def test_the_last_folder_comes_first_and_none_twice(self, tmp_path):
        for name in ("a", "b", "a"):
            (tmp_path / name).mkdir(exist_ok=True)
            load(write_set(tmp_path / name, {"variant": name}))
            found = find(call())
            assert found is not None and found.id == name
        assert len(kernel_set._loaded) == 2


class TestChoice:
    """By operation, type, blocks and GPU; by config/tuning.yaml's choices where there are some."""

    def test_each_part_of_a_case_counts(self, tmp_path):
        load(write_set(tmp_path, {"variant": "one"}))
        assert find(call()) is not None
        for changes in (
            {"operation": "bsr_bsr_gemm"},
            {"dtype": "bfloat16"},
            {"block": (64, 64)},
            {"block_b": (128, 128)},
            {"capability": ADA},
        ):
            assert find(call(**changes)) is None

    @pytest.mark.parametrize(
        ("arch", "capability", "runs"),
        [
            ("compute_89", HOPPER, True),
            ("compute_89", (8, 0), False),
            ("compute_90a", HOPPER, True),
            ("compute_90a", (10, 0), False),
            ("sm_90a", HOPPER, True),
        ],
    )
    def test_ptx_runs_on_later_gpus_unless_it_is_of_one_alone(self, arch, capability, runs):
        assert kernel_set._runs(arch, capability) is runs

    def test_the_first_unless_one_was_chosen(self, tmp_path):
        load(
            write_set(
                tmp_path,
                {"variant": "first"},
                {"variant": "narrow"},
                choices=[choice("narrow", 1, 2048), choice("not_compiled", 2049, 4096)],
            )
        )
        assert [find(call(n=n)).id for n in (1024, 4096, 8192)] == ["narrow", "first", "first"]
