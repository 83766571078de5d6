"""What a signer leaves out: claims, answers, targets, sources, guards."""

from typing import Any

import yaml

from assay.base.io import write_record
from assay.catalog.load import load_catalog
from assay.pipeline.plan import make_plan
from assay.shared.files import sha256_bytes
from tests.cases.attack import Argument
from tests.cases.site import Site
from tests.report_fixtures import make_request, provision

PLAN = "evidence/plan.json"
CLAIMS = "config/claims/demo.yaml"


def builds_of_other_wheels(site: Site) -> None:
    """The compilers' lock pins other wheels, and every build record names it."""
    lock = b"nvidia-cuda-nvcc==13.0.88 --hash=sha256:" + b"ab" * 32 + b"\n"
    site.put("evidence/requirements/toolchain.txt", lock)
    for path in (site.evidence / "builds").rglob("*.json"):
        site.edit(
            path.relative_to(site.report).as_posix(),
            lambda record: record["toolchain"].update(lock_sha256=sha256_bytes(lock)),
        )


def drop_answers(site: Site, claims: list[str]) -> None:
    """Leave unwelcome claims out of the plan."""

    def change(plan: Any) -> None:
        plan["answers"] = [each for each in plan["answers"] if each["claim"] not in claims]

    site.edit(PLAN, change)


def answer_otherwise(site: Site, claim: str, name: str, value: Argument) -> None:
    """Have the plan answer a claim in another way."""

    def change(plan: Any) -> None:
        for answer in plan["answers"]:
            if answer["claim"] == claim:
                answer[name] = value

    site.edit(PLAN, change)


def answer_twice(site: Site, claim: str) -> None:
    """Have the plan answer a claim twice."""

    def change(plan: Any) -> None:
        plan["answers"] += [each for each in plan["answers"] if each["claim"] == claim]

    site.edit(PLAN, change)


def plan_without(site: Site, name: str) -> None:
    """Have the plan not call for a guard."""

    def change(plan: Any) -> None:
        for target in plan["targets"]:
            target[name] = type(target[name])()

    site.edit(PLAN, change)


def target_twice(site: Site) -> None:
    """Have the plan name a target again, with nothing that is called for."""

    def change(plan: Any) -> None:
        again = {**plan["targets"][0], "provision": {**plan["targets"][0]["provision"]}}
        again |= {"comparisons": [], "programs": [], "profiles": [], "stopwatches": []}
        plan["targets"].append({**again, "cheats": False, "sanitized": []})

    site.edit(PLAN, change)


def probe_not_built(site: Site) -> None:
    """Leave out a build that says whether something compiles, and its record."""

    def change(plan: Any) -> None:
        plan["builds"] = [job for job in plan["builds"] if job["kind"] != "probe"]

    site.edit(PLAN, change)
    for path in (site.evidence / "builds").rglob("demo_probe.json"):
        path.unlink()


def earlier_source_of_today(site: Site, variant: str) -> None:
    """Say that a binary was compiled from earlier sources, and have no record of its build."""

    def change(plan: Any) -> None:
        plan["targets"][0]["provision"]["earlier_sources"] = {variant: "0" * 40}
        plan["builds"] = [job for job in plan["builds"] if job["id"] != variant]

    site.edit(PLAN, change)
    (site.evidence / "builds" / "sm_90a" / f"{variant}.json").unlink()


def ask_for_one_target(site: Site, target: str) -> None:
    """Plan again, as if the run had been asked for one of its targets only."""
    catalog = load_catalog(site.evidence)
    request = make_request("demo_run", [provision(target)], tuple(catalog.sources))
    write_record(make_plan(catalog, request), site.report / PLAN)


def ask_for_fewer_sources(site: Site, source: str) -> None:
    """Have the run be asked for one source only."""
    ids = _ids(site, source)

    def change(plan: Any) -> None:
        plan["sources"] = [source]
        plan["answers"] = [each for each in plan["answers"] if each["claim"] in ids]

    site.edit(PLAN, change)


def ask_for_unknown_source(site: Site) -> None:
    """Have the run be asked for a source that the evidence does not hold."""
    site.edit(PLAN, lambda plan: plan["sources"].append("unheard_of"))


def drop_claims(site: Site, claims: list[str]) -> None:
    """Delete claims from their source's file, and from the plan."""
    path = site.evidence / CLAIMS
    document = yaml.safe_load(path.read_text())
    for name in ("claims", "audits"):
        document[name] = [each for each in document[name] if each["id"] not in claims]
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    drop_answers(site, claims)


def _ids(site: Site, source: str) -> set[str]:
    path = site.evidence / "config" / "claims" / f"{source}.yaml"
    document = yaml.safe_load(path.read_text())
    entries = [*document.get("claims", ()), *document.get("audits", ())]
    return {each["id"] for each in entries}
