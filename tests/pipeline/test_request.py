"""The origin of a request's figures, by what this machine has."""

import shutil
from pathlib import Path

import pytest

from assay.base.commits import git_state
from assay.base.errors import BadInput
from assay.catalog.load import load_catalog
from assay.measuring.host_machine import HostDriver, HostGpu
from assay.measuring.local_gpu import Absence
from assay.pipeline import request as requests
from assay.pipeline.plan import make_plan
from assay.pipeline.request import Options, make_request
from assay.records.evaluations import NotRun
from tests import builders as b
from tests.git_history import git
from tests.report_fixtures import UUID, provision, signed_report, write_repository, write_run

NO_DRIVER = Absence(NotRun.NO_DEVICE, "no NVIDIA driver here")
OLD = Absence(NotRun.DRIVER_TOO_OLD, "its driver 535.104.05 is too old", "install 580.65.06")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with a published report of the H100, signed by a key that it trusts."""
    root = write_repository(tmp_path / "repo")
    report = signed_report(root)
    keys = root / "config" / "trusted_keys"
    keys.mkdir()
    shutil.copy(report / "signer.pub", keys / "demo.pub")
    (root / "requirements").mkdir()
    (root / "requirements" / "toolchain.txt").write_text("# pins nothing\n")
    (root / "reports" / "published").mkdir()
    shutil.move(report, root / "reports" / "published" / "demo_run")
    return root


class TestTheCommitOfATree:
    """git tells it; who brings a tree without git, or with the git of an older one, names it."""

    @pytest.fixture
    def tree(self, tmp_path: Path) -> Path:
        git(tmp_path, "init", "-q")
        (tmp_path / "file").write_text("one\n")
        git(tmp_path, "add", "file")
        git(tmp_path, "commit", "-q", "-m", "one")
        return tmp_path

    def test_a_clean_tree_is_of_no_other_commit(self, tree, monkeypatch):
        monkeypatch.setenv("ASSAY_COMMIT", "b" * 40)
        with pytest.raises(BadInput, match="but this tree is that of commit"):
            git_state(tree)

    def test_what_is_no_commit_is_refused(self, tmp_path, monkeypatch):
        monkeypatch.setenv("ASSAY_COMMIT", "main")
        with pytest.raises(BadInput, match="'main', which is no commit"):
            git_state(tmp_path)


def ask(root, monkeypatch, found, target="h100", driver=None, *, takes=False):
    """The request of a machine on which ``found`` keeps every target from being measured."""
    monkeypatch.setattr(requests, "find_host_driver", lambda: driver)
    monkeypatch.setattr(requests, "find_gpu", lambda *_: found)
    catalog = load_catalog(root)
    options = Options(
        run="new", sources=tuple(catalog.sources), targets=(target,), runtime="host",
        executor="local", signing_key=root.parent / "key", takes_gpu_here=takes,
    )  # fmt: skip
    return make_request(root, catalog, options)


class TestATargetThatIsNotHere:
    """Published figures stand in; what keeps the target from being measured is kept beside them."""

    def test_is_taken_from_the_published_report(self, root, monkeypatch):
        (given,) = ask(root, monkeypatch, NO_DRIVER).targets
        assert given.kind == "recorded"
        assert given.detail.startswith("figures come from reports/published/demo_run")
        assert given.absence == "no NVIDIA driver here"

    def test_stays_measured_where_an_earlier_start_of_the_run_has_all_its_figures(
        self, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A lease ended, or results were carried home: the run is judged where it goes on."""
        write_run(root, "new")
        request = ask(root, monkeypatch, NO_DRIVER)
        (given,) = request.targets
        assert (given.kind, given.absence) == ("device", "no NVIDIA driver here")
        assert given.detail.startswith("measured by an earlier start of this run on NVIDIA H100")
        assert make_plan(load_catalog(root), request).targets[0].comparisons

    @pytest.mark.parametrize(("uuid", "asked"), [(UUID, False), (b.OTHER_GPU, True)])
    def test_its_python_is_not_asked_again_where_the_driver_lists_the_same_gpu(
        self, root: Path, monkeypatch: pytest.MonkeyPatch, uuid: str, asked: bool
    ) -> None:
        write_run(root, "new", [provision(gpus=(UUID,))])
        driver = HostDriver("580.65.06", 13000, (HostGpu("NVIDIA H100 80GB HBM3", uuid),))
        (given,) = ask(root, monkeypatch, NO_DRIVER, driver=driver).targets
        assert given.kind == "device"
        assert (given.absence == str(NO_DRIVER)) is asked


def test_makes_the_claims_not_run(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The GPU is here: its claims are not run, with the remedy, whatever was measured elsewhere."""
    request = ask(root, monkeypatch, OLD)
    (given,) = request.targets
    assert (given.kind, given.reason) == ("none", NotRun.DRIVER_TOO_OLD)
    plan = make_plan(load_catalog(root), request)
    refused = [answer for answer in plan.answers if answer.reason is NotRun.DRIVER_TOO_OLD]
    assert refused
    assert {answer.way for answer in refused} == {"not_run"}
    assert {answer.detail for answer in refused} == {f"{OLD.detail}: {OLD.remedy}."}


class TestTheGpuThatIsHere:
    """Without --target its target joins those of config/config.yaml, by the product's name."""

    @staticmethod
    def asked(root, monkeypatch, product, *, takes=True):
        """Targets of a run that was asked for l4, on a machine with ``product``."""
        driver = HostDriver("580.65.06", 13000, (HostGpu(product, "GPU-1"),))
        described = b.target("l4").model_dump_json(by_alias=True)
        (root / "config" / "targets" / "l4.yaml").write_text(described)
        request = ask(root, monkeypatch, NO_DRIVER, "l4", driver, takes=takes)
        return tuple(given.target for given in request.targets)

    def test_it_is_measured_too_and_named_in_a_line(self, root, monkeypatch, capsys):
        product = "NVIDIA H100 80GB HBM3"
        assert self.asked(root, monkeypatch, product) == ("l4", "h100")
        assert f"this machine has {product}: target h100 is measured too" in capsys.readouterr().err

    @pytest.mark.parametrize(("product", "takes"), [("Some GPU", True), ("NVIDIA H100", False)])
    def test_no_product_that_is_unknown_and_none_where_targets_were_named(
        self, root: Path, monkeypatch: pytest.MonkeyPatch, product: str, takes: bool
    ) -> None:
        assert self.asked(root, monkeypatch, product, takes=takes) == ("l4",)
