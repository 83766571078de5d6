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


def test_a_mark_alone_is_an_arm_without_kernels() -> None:
    parts = split_raw_page(PAGE + '"5","mark","1","a"\n')
    assert len(parts) == 3
    with pytest.raises(ValueError, match="no profiled kernel"):
        longest_kernel(parts[2])


@pytest.mark.parametrize("page", ["", "==ERROR== nothing", '"ID","Kernel Name"\n"",""\n'])
def test_a_page_without_kernels_has_no_parts(page: str) -> None:
    assert split_raw_page(page) == []


class TestDuration:
    """A launch may be several kernels: together they took what a stopwatch sees."""

    @staticmethod
    def page(unit: str, *times: str) -> str:
        rows = [f'"{number}","kernel","{time}"' for number, time in enumerate(times)]
        header = ['"ID","Kernel Name","gpu__time_duration.sum"', f'"","","{unit}"']
        return "\n".join([*header, *rows]) + "\n"

    def test_kernels_add_up_in_nanoseconds(self) -> None:
        assert duration_ns(self.page("ns", "172,736", "187,840", "83,520")) == 444096.0
        assert duration_ns(self.page("us", "1.5")) == 1500.0

    def test_a_page_that_lacks_a_time_tells_nothing(self) -> None:
        assert duration_ns(self.page("ns", "1", "n/a")) is None
        assert duration_ns(self.page("parsec", "1")) is None
        assert duration_ns(self.page("ns")) is None
        assert duration_ns("no page") is None


class TestClock:
    """A long kernel's clock counts for more than a short one's."""

    @staticmethod
    def page(unit: str, *kernels: tuple[str, str]) -> str:
        rows = [f'"0","kernel","{time}","{clock}"' for time, clock in kernels]
        names = '"ID","Kernel Name","gpu__time_duration.sum","gpc__cycles_elapsed.avg.per_second"'
        return "\n".join([names, f'"","","ns","{unit}"', *rows]) + "\n"

    def test_cycles_add_up(self) -> None:
        assert clock_hz(self.page("hz", ("300", "1000"), ("100", "2000"))) == 1250.0

    def test_a_page_that_lacks_a_clock_tells_nothing(self) -> None:
        assert clock_hz(self.page("hz", ("300", "n/a"))) is None
        assert clock_hz(self.page("Ghz", ("300", "1"))) is None
        assert clock_hz(self.page("hz", ("0", "1"))) is None
        assert clock_hz("no page") is None
