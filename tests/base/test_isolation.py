"""What programs are started with, and options that name directories of packages."""

import os
from pathlib import Path

import pytest

from assay.base.errors import BadInput
from assay.base.isolation import (
    HOST_PATH,
    HOST_PATHS,
    host_packages,
    isolated,
    package_directory,
    take_option,
)


class TestAnIsolatedEnvironment:
    """The caller's, without what would run code from elsewhere."""

    def test_no_variable_of_pythons_own_is_left(self) -> None:
        given = {"HOME": "/home/me", "PYTHONPATH": "/x", "PYTHONUSERBASE": "/x", "PYTHONHOME": "/x"}
        assert isolated(given) == {"HOME": "/home/me", "PYTHONSAFEPATH": "1"}

    def test_packages_stand_where_pythonpath_did(self) -> None:
        found = isolated({"PYTHONPATH": "/x"}, [Path("/ours/src"), Path("/theirs")])
        assert found == {"PYTHONSAFEPATH": "1", "PYTHONPATH": "/ours/src:/theirs"}

    @pytest.mark.parametrize("name", ["PATH", "LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH"])
    def test_search_paths_hold_absolute_directories_only(self, name: str) -> None:
        assert isolated({name: ":/usr/bin::.:bin:/bin:"})[name] == "/usr/bin:/bin"
        assert name not in isolated({name: ":."})


class TestADirectoryOfPackages:
    """Absolute, there, and no list: else one sentence and exit code 2."""

    def test_is_taken_as_it_is_named(self, tmp_path: Path) -> None:
        assert package_directory("--device-path", str(tmp_path)) == tmp_path

    @pytest.mark.parametrize(
        ("name", "sentence"),
        [
            ("packages", "--device-path packages: name an absolute directory"),
            ("", "--device-path : name an absolute directory"),
            ("/no/where", "--device-path /no/where: no such directory"),
            ("/usr:/etc", "no colon, comma or newline"),
            ("/usr,ro", "no colon, comma or newline"),
            ("/etc/passwd", "no such directory"),
        ],
    )
    def test_anything_else_is_refused(self, name: str, sentence: str) -> None:
        with pytest.raises(BadInput, match=sentence):
            package_directory("--device-path", name)

    def test_of_a_clusters_node_it_is_looked_for_there(self) -> None:
        assert package_directory("--device-path", "/no/where", present=False) == Path("/no/where")


class TestAnOptionOfTheLauncher:
    """It may stand anywhere before ``--``, and is gone for whoever reads the rest."""

    def test_is_taken_out_of_the_arguments(self) -> None:
        given = ["--host-path", "/a", "reproduce", "--host-path=/b", "--run", "x"]
        assert take_option(HOST_PATH, given) == (["/a", "/b"], ["reproduce", "--run", "x"])

    def test_behind_two_dashes_it_is_somebody_elses(self) -> None:
        given = ["test", "--", "--host-path", "/a"]
        assert take_option(HOST_PATH, given) == ([], given)

    def test_without_its_value_it_is_bad_input(self) -> None:
        with pytest.raises(BadInput, match="requires an argument"):
            take_option(HOST_PATH, ["doctor", "--host-path"])

    def test_the_command_line_is_told_by_a_variable(self) -> None:
        assert host_packages({HOST_PATHS: os.pathsep.join(["/a", "/b"])}) == (
            Path("/a"),
            Path("/b"),
        )
        assert host_packages({}) == ()
