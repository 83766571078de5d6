"""Names of machines and folders, as people type them."""

import pytest

from assay.base.errors import BadInput
from assay.remote.host import remote_place
from assay.remote.payload import Copied, There, run_script
from assay.remote.ssh import receive_command, ssh_command


@pytest.mark.parametrize(
    "host", ["gpu", "me@gpu-1.example.org", "me@[2001:db8::1]", "10.0.0.7", "ssh://me@gpu:2222"]
)
def test_what_ssh_takes_is_taken(host: str) -> None:
    place = remote_place(host, None, ("Port=22",), "demo")
    command = ssh_command(place, "true")
    assert command[-3:] == ["--", host, "true"]
    assert command[1:3] == ["-o", "Port=22"], "the caller's options come first, and so hold"


@pytest.mark.parametrize(
    "host",
    ["-oProxyCommand=touch x", "", "a b", "gpu;id", "me@-oX=y", "ssh://-oX", "gpu\n", "$(id)"],
)
def test_what_would_be_an_option_or_a_command_is_refused(host: str) -> None:
    with pytest.raises(BadInput, match="names no machine"):
        remote_place(host, None, (), "demo")


@pytest.mark.parametrize(
    ("folder", "there"),
    [(None, "assay-remote/demo"), ("~/runs/a", "runs/a"), ("/data/a", "/data/a"), ("a/", "a")],
)
def test_a_folder_is_absolute_or_below_the_home(folder: str | None, there: str) -> None:
    assert remote_place("gpu", folder, (), "demo").folder == there


@pytest.mark.parametrize("folder", ["", "/", "~", ".", "..", "a/../b", "a b", "-x", "$HOME", "a'b"])
def test_a_folder_that_is_none_of_its_own_is_refused(folder: str) -> None:
    with pytest.raises(BadInput, match="name a folder of its own"):
        remote_place("gpu", folder, (), "demo")


def test_the_line_with_a_payload_is_one_line() -> None:
    assert "\n" not in receive_command("assay-remote/demo")


def test_arguments_arrive_as_they_were_typed() -> None:
    script = run_script(["--original-run=003=./x 'y' $(id)", There("given/1/a", "--key=")],
                        "0" * 40, "/usr/bin/python3.12").source  # fmt: skip
    assert isinstance(script, bytes)
    lines = script.decode().splitlines()
    assert (
        '/usr/bin/python3.12 -I "$here/source/assay" reproduce '
        "'--original-run=003=./x '\"'\"'y'\"'\"' $(id)' --key=\"$here\"/given/1/a"
    ) in lines
    assert f"export ASSAY_COMMIT={'0' * 40}" in lines


def test_a_bundle_brings_its_own_commit_and_python() -> None:
    script = run_script(["--run=a"], "0" * 40, None).source
    assert isinstance(script, bytes)
    assert 'sh "$here/run.sh" --run=a' in script.decode().splitlines()
    assert b"ASSAY_COMMIT" not in script


def test_sizes_are_those_of_files() -> None:
    assert Copied("a", b"four").size == 4
