"""Original programs are built as their authors build them, and every flag says where it is from."""

import re
from pathlib import Path

import pytest

from assay.base.io import load_yaml
from assay.building.recipe import command_of
from assay.catalog.load import load_catalog
from assay.records.kernels import UNSAID, KernelManifest, OriginalProgram

ROOT = Path(__file__).parents[2]
PROGRAMS = {
    program.id: program
    for path in sorted((ROOT / "kernels").glob("*/kernel.yaml"))
    for program in load_yaml(KernelManifest, path).programs
}
CATALOG = load_catalog(ROOT)
RELEASE = [program for program in PROGRAMS.values() if program.build == "release"]
TYPED = [program for program in PROGRAMS.values() if program.build == "typed"]


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=lambda program: program.id)
class TestEveryOriginal:
    """What kernels/*/kernel.yaml says of an author's program."""

    def test_every_flag_says_where_it_is_from(self, program: OriginalProgram) -> None:
        assert program.build is not None
        assert all(flag.why for flag in program.left_out)
        assert UNSAID not in {flag.from_ for flag in (*program.flags, *program.left_out)}

    def test_no_assert_is_compiled_in_unless_the_source_types_it_so(self, program):
        """Asserts left in cost example 88 a fifth of its rate."""
        for arch in program.archs:
            given = "-DNDEBUG" in command_of(CATALOG, "program", program.id, arch)[0]
            assert given is (program.build == "release")


class TestReleaseBuilds:
    """As CUTLASS's own CMake files make the program."""

    @pytest.mark.parametrize("program", RELEASE, ids=lambda program: program.id)
    def test_the_examples_cmake_file_adds_what_is_cited_and_no_more(self, program, toolchain):
        file = (toolchain.site / program.source).parent / "CMakeLists.txt"
        name = re.escape(Path(program.source).name)
        pattern = rf'SOURCE\s+{name}\s+PROPERTY\s+COMPILE_FLAGS\s+"([^"]*)"'
        added = " ".join(re.findall(pattern, file.read_text(encoding="utf-8"))).split()
        assert added == [flag.flag for flag in program.flags if flag.file is not None]

    @pytest.mark.parametrize("program", RELEASE, ids=lambda program: program.id)
    def test_a_cited_line_of_the_package_holds_the_flag(self, program, toolchain):
        for flag in program.flags:
            if flag.file is not None and flag.line is not None:
                lines = (toolchain.site / flag.file).read_text(encoding="utf-8").splitlines()
                assert flag.flag in lines[flag.line - 1]


@pytest.mark.parametrize("program", TYPED, ids=lambda program: program.id)
def test_the_release_build_of_the_same_file_is_there(program: OriginalProgram) -> None:
    twin = PROGRAMS[f"{program.id}_release"]
    assert (twin.build, twin.source, twin.archs) == ("release", program.source, program.archs)
    assert (twin.parser, twin.verify) == (program.parser, program.verify)
