"""A stranger's file, compiled as published: which of the compiler's words are kept."""

from pathlib import Path

import pytest

from assay.base.errors import CheckFailed, MissingEnvironment
from assay.building.checkout_copy import describe_checkout
from assay.building.file_compile import compile_file, first_errors
from assay.building.toolchain import Toolchain
from assay.records.originals import LONGEST_LINE, MOST_LINES, FileCompileJob
from assay.runtimes.base import Place
from assay.runtimes.host import HostRuntime
from tests.pipeline.stand_in import write_program
from tests.report_fixtures import TOOLCHAIN

FILE = "csrc/theirs.cu"
EMPTY = """\
template <int ROWS> __global__ void theirs(float* out) {
    float rows[ROWS / 64];
    out[0] = rows[0];
}
template __global__ void theirs<32>(float*);
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A made-up checkout whose file has an array of size zero."""
    folder = tmp_path / "theirs"
    (folder / "csrc").mkdir(parents=True)
    (folder / FILE).write_text(EMPTY)
    return folder


def job(checkout: Path, arch: str = "sm_89") -> FileCompileJob:
    return FileCompileJob(
        source="004", compilation="theirs", arch=arch, checkout=describe_checkout(checkout)
    )


def fake(tmp_path: Path, script: str) -> Toolchain:
    """A toolchain whose nvcc is a shell script."""
    nvcc = tmp_path / "site" / "nvidia" / "cu13" / "bin" / "nvcc"
    write_program(nvcc, f"#!/bin/sh\n{script}\n")
    return Toolchain(Place(HostRuntime()), tmp_path / "site", TOOLCHAIN)


class TestWords:
    """Errors alone, so many and so long, in letters that steer nothing."""

    def test_neither_warnings_nor_the_lines_that_are_quoted(self) -> None:
        text = (
            "a.cu(3): warning #2809-D: ignoring\n      x.arrive();  // error: secret\n"
            'a.cu(26): error: zero-sized variable "acc" is not allowed in device code\n'
            "      float acc[ROWS];\n            ^\n          detected during: error\n"
            "a.h:5:10: fatal error: none.h: No such file or directory\n"
            "ptxas fatal   : Unresolved extern function 'f'\n"
            '2 errors detected in the compilation of "a.cu".\n'
        )
        assert first_errors(text) == (
            (
                'a.cu(26): error: zero-sized variable "acc" is not allowed in device code',
                "a.h:5:10: fatal error: none.h: No such file or directory",
                "ptxas fatal   : Unresolved extern function 'f'",
            ),
            False,
        )

    def test_no_more_than_is_kept_and_it_says_so(self) -> None:
        words, cut = first_errors("\n".join(f"a.cu({n}): error: no" for n in range(99)))
        assert (len(words), words[0], cut) == (MOST_LINES, "a.cu(0): error: no", True)
        (word,), cut = first_errors(f"a.cu(1): error: {'x' * 5000}")
        assert (len(word), cut) == (LONGEST_LINE, True)


class TestRecord:
    """What one call of the compiler leaves."""

    def test_a_refusal_without_this_machines_paths(self, tmp_path: Path, checkout: Path) -> None:
        toolchain = fake(
            tmp_path,
            'for last; do :; done\nhead -1 "$last" >&2\n'
            'echo "$PWD/$last(2): error: see $(cd tool/nvidia/.. && pwd -P)/x.h and $HOME/y.h"\n'
            f'echo "{tmp_path}/site/z.h(1): error: $*"; exit 2',
        )
        folder = tmp_path / "run" / "work"
        folder.parent.mkdir()
        found = compile_file(checkout, job(checkout), FILE, folder, toolchain)
        assert (found.exit_code, found.outcome, found.cut) == (2, "fails", False)
        assert found.words[0].startswith("checkout/csrc/theirs.cu(2): error: see ")
        assert found.words[1].startswith("tool/z.h(1): error: -ccbin g++ ")
        assert "-gencode=arch=compute_89,code=sm_89" in found.words[1]
        assert str(tmp_path) not in " ".join(found.words)
        assert "template" not in found.model_dump_json()
        assert found.command[-1] == "checkout/csrc/theirs.cu"
        assert (checkout / FILE).read_text() == EMPTY

    def test_another_checkout_than_was_asked_for(self, tmp_path: Path, checkout: Path) -> None:
        asked = job(checkout)
        (checkout / "more").write_text("new\n")
        with pytest.raises(CheckFailed, match="was changed since this run was asked for"):
            compile_file(checkout, asked, FILE, tmp_path / "work", fake(tmp_path, "exit 0"))

    @pytest.mark.parametrize(
        "log",
        [
            "nvcc error   : 'cicc' died due to signal 9 (Kill signal)\nKilled",
            "/tmp/x.cubin: No space left on device",
            "cc1plus: out of memory allocating 9 bytes",
        ],
    )
    def test_a_machine_that_was_too_small_is_no_outcome(self, tmp_path, checkout, log):
        toolchain = fake(tmp_path, f'echo "{log}"; exit 1')
        with pytest.raises(MissingEnvironment, match="was cut short"):
            compile_file(checkout, job(checkout), FILE, tmp_path / "work", toolchain)


@pytest.mark.compiler
def test_nvcc_names_an_array_of_size_zero(toolchain, tmp_path, checkout):
    """The words that the claim on arrays of size zero is answered by."""
    found = compile_file(checkout, job(checkout), FILE, tmp_path / "work", toolchain)
    assert found.outcome == "fails"
    assert found.words == (
        'checkout/csrc/theirs.cu(2): error: zero-sized variable "rows" is not allowed in device '
        "code",
    )
    (checkout / FILE).write_text(EMPTY.replace("<32>", "<64>"))
    found = compile_file(checkout, job(checkout), FILE, tmp_path / "again", toolchain)
    assert (found.outcome, found.words) == ("builds", ())
