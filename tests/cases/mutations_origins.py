"""Figures that were taken over: what the signer of both reports made up, or left out."""

from typing import Any

from assay.base.io import write_record
from assay.catalog.load import load_catalog
from assay.evidence.stages import target_paths
from assay.pipeline.plan import make_plan
from assay.records.plan import Provision
from assay.shared.files import sha256_bytes
from assay.verification.attestation import load_signer
from assay.verification.envelope import dump_envelope, signed_envelope
from assay.verification.manifest import digest_of
from tests.cases.signers import spelled
from tests.cases.site import Site
from tests.report_fixtures import make_request, provision

ORIGIN = "evidence/h100/origin"
PLAN = "evidence/plan.json"
TIMINGS = f"{ORIGIN}/timings.json"


def _make_origin_again(site: Site) -> None:
    """Sign a list of files by which the origin held what the report now says that it did."""

    def change(manifest: Any) -> None:
        for entry in manifest["files"]:
            path = entry["path"]
            here = TIMINGS if path == "evidence/timings.json" else path
            if here.startswith("evidence/h100/") and (site.report / here).is_file():
                entry.update(digest_of(site.report, here).model_dump(), path=path)

    site.edit(f"{ORIGIN}/manifest.json", change)
    envelope = f"{ORIGIN}/attestation.json"
    statement = site.statement_of(envelope)
    digest = sha256_bytes((site.report / ORIGIN / "manifest.json").read_bytes())
    statement["subject"][0]["digest"]["sha256"] = digest
    made = signed_envelope(spelled(statement), [load_signer(site.base / "key")])
    site.put(envelope, dump_envelope(made))


def origin_with_fewer_cheats(site: Site) -> None:
    """Have the origin try fewer kernels that cheat."""
    path = "evidence/h100/cheats.json"
    site.edit(path, lambda record: record.update(cheats=record["cheats"][:3]))
    _make_origin_again(site)


def recorded_in(site: Site, name: str, told: bool = True) -> None:
    """Name another report than the one that figures were taken over from; ``told``: in words."""

    def change(plan: Any) -> None:
        given = plan["targets"][0]["provision"]
        words = given["detail"].replace(given["recorded_in"], name) if told else given["detail"]
        for answer in plan["answers"]:
            answer["detail"] = answer["detail"].replace(given["detail"], words)
        given.update(recorded_in=name, detail=words)

    site.edit(PLAN, change)


def take_over_less(site: Site, without: str, otherwise: bool = False) -> None:
    """Plan again, as if the origin held no paths with that in them, or held them ``otherwise``."""
    catalog = load_catalog(site.evidence)
    before = Provision.model_validate_json(spelled(site.read(PLAN)["targets"][0]["provision"]))
    held = before.recorded_paths
    kept = tuple(path for path in held if without not in path)
    given = provision(
        kind="recorded", recorded_in="reports/first_run", recorded_paths=kept, detail=before.detail
    )
    plan = make_plan(catalog, make_request("demo_run", [given], tuple(catalog.sources)))
    write_record(plan, site.report / PLAN)
    for path in set(held) - set(target_paths(plan.targets[0])) - {"timings.json"}:
        (site.evidence / path).unlink()
    for folder in sorted(site.evidence.rglob("*"), reverse=True):
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
    if otherwise:
        _define_otherwise(site)


def _define_otherwise(site: Site) -> None:
    """Have the origin's list name another file of comparisons: its runs measured other things."""

    def change(manifest: Any) -> None:
        for entry in manifest["files"]:
            if entry["path"] == "evidence/config/comparisons/demo.yaml":
                entry["sha256"] = "ab" * 32

    site.edit(f"{ORIGIN}/manifest.json", change)
    _make_origin_again(site)
