"""Nsight Compute's raw page: cut into arms, and the longest kernel of one."""

import pytest

from assay.evidence.nsight_csv import (
    DURATION,
    clock_hz,
    duration_ns,
    longest_kernel,
    split_raw_page,
)

PAGE = (
    f'"ID","Kernel Name","{DURATION}","sm__text"\n"","","ns",""\n'
    '"0","mark","1","a"\n"1","x, y","5","a"\n"2","z","1,009","a"\n'
    '"3","mark","1","a"\n"4","w","7","a"\n'
)


def test_parts_are_pages_again() -> None:
    first, second = split_raw_page("==PROF== x\n" + PAGE)
    kernel = longest_kernel(first)
    assert (kernel.name, kernel.values[DURATION], kernel.units[DURATION]) == ("z", 1009.0, "ns")
    assert "sm__text" not in kernel.values
    assert longest_kernel(second).name == "w"
    assert '"x, y"' in first


@pytest.mark.parametrize("page", ["", "==ERROR== nothing", '"ID","Kernel Name"\n"",""\n'])
def test_a_page_without_kernels_has_no_parts(page: str) -> None:
    assert split_raw_page(page) == []


CLOCK = "gpc__cycles_elapsed.avg.per_second"


def page(*kernels: tuple[str, str], time: str = "ns", clock: str = "hz") -> str:
    """A raw page of kernels, each with its duration and its clock."""
    lines = [f'"ID","Kernel Name","{DURATION}","{CLOCK}"', f'"","","{time}","{clock}"']
    lines += [f'"0","kernel","{lasted}","{cycles}"' for lasted, cycles in kernels]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("text", "took"),
    [
        (page(("172,736", "1"), ("187,840", "1"), ("83,520", "1")), 444096.0),
        (page(("1.5", "1"), time="us"), 1500.0),
        (page(("1", "1"), ("n/a", "1")), None),
        (page(("1", "1"), time="parsec"), None),
        (page(), None),
        ("no page", None),
    ],
)
def test_kernels_of_a_launch_add_up_in_nanoseconds(text: str, took: float | None) -> None:
    assert duration_ns(text) == took


@pytest.mark.parametrize(
    ("text", "clock"),
    [
        (page(("300", "1000"), ("100", "2000")), 1250.0),
        (page(("300", "n/a")), None),
        (page(("300", "1"), clock="Ghz"), None),
        (page(("0", "1")), None),
        ("no page", None),
    ],
)
def test_a_long_kernels_clock_counts_for_more(text: str, clock: float | None) -> None:
    assert clock_hz(text) == clock
