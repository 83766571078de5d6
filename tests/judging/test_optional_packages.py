"""Verdicts on optional packages."""

from typing import Any

import pytest

from assay.judging.case import Case
from assay.judging.judge import judge
from assay.judging.what_ran import what_ran
from assay.judging.without_gpu import loads
from assay.records.builds import ArchCode, DeviceCodeResult, SharedObject
from assay.records.claims import Claim, ClaimKind
from assay.records.evaluations import DeviceCode, Execution, Term
from assay.records.verdicts import Status, Verdict, Why
from tests import builders as b
from tests.building.test_inspect_device_code import RIVAL

NO_FIGURE: dict[str, Any] = {
    "kind": ClaimKind.SUPPORT, "value": None, "unit": None, "resolution": None,
}  # fmt: skip
RUNS_THERE = Execution(kind="runs", terms=(Term(comparison="duel", arm="ours"),))


def verdict_on(claim: Claim, on: str | None = "h100", **evidence: Any) -> Verdict:
    catalog = b.catalog([claim], rivals={"made_up": RIVAL})
    ours = catalog.variants["our_kernel"].model_copy(update={"rival": "made_up"})
    catalog.variants["our_kernel"] = ours
    (verdict,) = judge(catalog, b.evidence([b.measure(claim.id, on)], **evidence)).verdicts
    return verdict


def test_a_library_that_is_a_rival_is_named_by_its_package() -> None:
    variants = b.variants()
    variants["cublas"] = variants["cublas"].model_copy(update={"rival": "made_up"})
    catalog = b.catalog([], variants=variants, rivals={"made_up": RIVAL})
    (package,) = what_ran(Case(catalog, b.evidence([])), "h100", ["cublas"]).packages
    assert package.startswith(RIVAL.main.name)


class TestExecution:
    """Whether it runs and is right: no time decides."""

    CLAIM = b.claim("runs", RUNS_THERE, **NO_FIGURE)

    def test_without_the_package_the_line_that_installs_it_is_said(self) -> None:
        checks = [b.correctness(statuses={"ours": "not_installed"})]
        verdict = verdict_on(self.CLAIM, checks=checks)
        assert (verdict.status, verdict.reason) == (Status.NOT_RUN, "not_installed")
        assert verdict.why is Why.NOT_BUILT
        assert RIVAL.install_line() in verdict.explanation

    @pytest.mark.parametrize(
        ("status", "expected", "why"),
        [
            ("unsupported", Status.NOT_REPRODUCED, Why.OTHER_OUTCOME),
            ("incorrect", Status.INCORRECT, Why.WRONG_OUTPUT),
            ("failed", Status.NOT_RUN, Why.NOT_MEASURED),
        ],
    )
    def test_a_refusal_contradicts_and_a_crash_does_not(self, status, expected, why):
        verdict = verdict_on(self.CLAIM, checks=[b.correctness(statuses={"ours": status})])
        assert (verdict.status, verdict.why) == (expected, why)

    def test_nothing_recorded_is_not_run(self) -> None:
        assert verdict_on(self.CLAIM).status is Status.NOT_RUN


def code(arch: str, kernels: int = 1, form: Any = "cubin") -> ArchCode:
    return ArchCode(arch=arch, form=form, files=1, kernels=kernels)


class TestDeviceCode:
    """Which architectures binaries hold the kernels for."""

    @staticmethod
    def claim(arch: str = "sm_89", expect: Any = "absent", note: str | None = None) -> Claim:
        evaluation = DeviceCode(
            kind="device_code", rival="made_up", arch=arch, kernels="Fwd", expect=expect
        )
        return b.claim("code", evaluation, note=note, **NO_FIGURE)

    @staticmethod
    def found(*held: ArchCode, **changes: Any) -> list[DeviceCodeResult]:
        values: dict[str, Any] = {
            "claim": "code", "rival": "made_up", "package": "assay-made-up", "kernels": "Fwd",
            "status": "inspected", "version": "1.2", "tool": "cuobjdump 13",
            "objects": (SharedObject(path="a.so", bytes=1, sha256="a" * 64),), "code": held,
        }  # fmt: skip
        return [DeviceCodeResult(**{**values, **changes})]

    @pytest.mark.parametrize(
        ("arch", "expect", "status"),
        [
            ("sm_89", "absent", Status.INCONCLUSIVE),
            ("sm_89", "present", Status.REPRODUCED),
            ("sm_100", "present", Status.INCONCLUSIVE),
            ("sm_100", "absent", Status.REPRODUCED),
        ],
    )
    def test_code_for_ampere_and_hopper(self, arch: str, expect: str, status: Status) -> None:
        verdict = verdict_on(
            self.claim(arch, expect), None, device_code=self.found(code("sm_80"), code("sm_90a"))
        )
        assert verdict.status is status
        assert verdict.measured == ("present" if arch == "sm_89" else "absent")
        assert (verdict.why is Why.ONE_BUILD) == (status is Status.INCONCLUSIVE)
        assert verdict.binary_sha256 == "a" * 64

    def test_without_the_package_the_line_that_installs_it_is_said(self) -> None:
        found = self.found(status="not_installed", objects=(), version=None)
        verdict = verdict_on(self.claim(), None, device_code=found)
        assert (verdict.status, verdict.reason) == (Status.NOT_RUN, "not_installed")
        assert RIVAL.install_line() in verdict.explanation

    def test_what_could_not_be_read_says_why(self) -> None:
        found = self.found(status="failed", detail="cuobjdump does not read a.so")
        verdict = verdict_on(self.claim(), None, device_code=found)
        assert (verdict.status, verdict.reason) == (Status.NOT_RUN, "run_failed")
        assert "does not read a.so" in verdict.explanation

    @pytest.mark.parametrize("changes", [{"kernels": "Bwd"}, {"claim": "other"}])
    def test_an_answer_to_another_question_is_none(self, changes: dict[str, str]) -> None:
        verdict = verdict_on(self.claim(), None, device_code=self.found(code("sm_80"), **changes))
        assert (verdict.status, verdict.reason) == (Status.NOT_RUN, "not_recorded")


@pytest.mark.parametrize(
    ("made", "form", "runs_on"),
    [
        ("sm_80", "cubin", {"sm_80", "sm_86", "sm_89"}),
        ("sm_89", "cubin", {"sm_89"}),
        ("sm_90", "cubin", {"sm_90"}),
        ("sm_90a", "cubin", {"sm_90"}),
        ("sm_100f", "cubin", {"sm_100", "sm_103"}),
        ("sm_100a", "cubin", {"sm_100"}),
        ("sm_80", "ptx", {"sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120"}),
        ("sm_90a", "ptx", {"sm_90"}),
    ],
)  # fmt: skip
def test_which_gpus_load_which_code(made: str, form: str, runs_on: set[str]) -> None:
    """NVIDIA's rules of binary and PTX compatibility."""
    gpus = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120")
    assert {gpu for gpu in gpus if loads(code(made, form=form), gpu)} == runs_on
