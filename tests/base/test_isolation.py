"""What programs are started with, and the option that names directories of packages."""

import pytest

from assay.base.errors import BadInput
from assay.base.isolation import isolated, package_directory


class TestAnIsolatedEnvironment:
    """The caller's, without what would run code from elsewhere."""

    def test_no_variable_of_pythons_own_is_left(self) -> None:
        given = {"HOME": "/home/me", "PYTHONPATH": "/x", "PYTHONUSERBASE": "/x", "PYTHONHOME": "/x"}
        assert isolated(given) == {"HOME": "/home/me", "PYTHONSAFEPATH": "1"}

    @pytest.mark.parametrize("name", ["PATH", "LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH"])
    def test_search_paths_hold_absolute_directories_only(self, name: str) -> None:
        assert isolated({name: ":/usr/bin::.:bin:/bin:"})[name] == "/usr/bin:/bin"
        assert name not in isolated({name: ":."})


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
def test_what_is_no_directory_of_packages_is_refused(name: str, sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        package_directory("--device-path", name)
