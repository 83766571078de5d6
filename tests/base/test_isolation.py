"""What programs are started with, and options that name directories of packages."""

import pytest

from assay.base.errors import BadInput
from assay.base.isolation import (
    HOST_PATH,
    isolated,
    package_directory,
    take_option,
)


class TestAnIsolatedEnvironment:
    """The caller's, without what would run code from elsewhere."""

    def test_no_variable_of_pythons_own_is_left(self) -> None:
        given = {"HOME": "/home/me", "PYTHONPATH": "/x", "PYTHONUSERBASE": "/x", "PYTHONHOME": "/x"}
        assert isolated(given) == {"HOME": "/home/me", "PYTHONSAFEPATH": "1"}

    @pytest.mark.parametrize("name", ["PATH", "LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH"])
    def test_search_paths_hold_absolute_directories_only(self, name: str) -> None:
        assert isolated({name: ":/usr/bin::.:bin:/bin:"})[name] == "/usr/bin:/bin"
        assert name not in isolated({name: ":."})


class TestADirectoryOfPackages:
    """Absolute, there, and no list: else one sentence and exit code 2."""

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


class TestAnOptionOfTheLauncher:
    """It may stand anywhere before ``--``, and is gone for whoever reads the rest."""

    def test_behind_two_dashes_it_is_somebody_elses(self) -> None:
        given = ["test", "--", "--host-path", "/a"]
        assert take_option(HOST_PATH, given) == ([], given)

    def test_without_its_value_it_is_bad_input(self) -> None:
        with pytest.raises(BadInput, match="requires an argument"):
            take_option(HOST_PATH, ["doctor", "--host-path"])
