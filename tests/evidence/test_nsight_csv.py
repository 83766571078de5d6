"""Nsight Compute's raw page: cut into arms, and the longest kernel of one."""

import pytest

from assay.evidence.nsight_csv import DURATION, longest_kernel, split_raw_page

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
