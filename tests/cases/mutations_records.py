"""Forged records beside the samples: gate, platform, builds, verdicts, origins, other GPUs."""

import gzip
import json
import shutil
from collections.abc import Callable, Iterator
from typing import Any

from assay.verification.attestation import load_signer
from assay.verification.envelope import dump_envelope, parse_envelope, signed_envelope
from tests.cases.attack import Argument
from tests.cases.signers import listed
from tests.cases.site import Site

PLATFORM = "evidence/h100/platform.json"
CORRECTNESS = "evidence/h100/correctness/demo_sweep.json"
BENCHMARK = "evidence/h100/benchmark/demo_sweep.json.gz"


def set_in(site: Site, path: str, member: str, value: Argument) -> None:
    """Give a member of a record another value: ``device.driver``, ``runs.0.stdout`` ..."""
    site.edit(path, lambda record: _set(record, member, value))


def _set(record: Any, member: str, value: Argument) -> None:
    *parts, last = (int(part) if part.isdecimal() else part for part in member.split("."))
    for part in parts:
        record = record[part]
    record[last] = value


def signer_named(site: Site, keyid: str, public: str, name: str = "Assay") -> None:
    """The evidence names a key as the one that signs."""
    site.edit(
        "evidence/pipeline.json",
        lambda record: _set(
            record, "signing_key", {"keyid": keyid, "public": public, "name": name}
        ),
    )


def gpu_of_platform(site: Site, name: str, value: Argument) -> None:
    """Have the platform record tell of another GPU."""
    site.edit(PLATFORM, lambda record: record["device"]["gpu"].update({name: value}))


def gate_checks(site: Site, how: str) -> None:
    """Forge what the gate checked of every arm."""

    def change(record: Any) -> None:
        for arm in record["arms"]:
            arm["checks"] = CHECKS[how](arm["checks"])

    site.edit(CORRECTNESS, change)


def gate_refused(site: Site, shapes: list[str] | None, without: str, detail: str = "") -> None:
    """Have the gate say which shapes a kernel refuses, and leave out the check at one."""

    def change(record: Any) -> None:
        for arm in record["arms"]:
            arm.update(refused=shapes, detail=detail)
            arm["checks"] = _without(arm["checks"], [without])

    site.edit(CORRECTNESS, change)
    _sanitized_without(site, [without])


def _sanitized_without(site: Site, shapes: list[str]) -> None:
    """Have compute-sanitizer tell of no launch at some shapes, either."""

    def change(record: Any) -> None:
        for run in record["runs"]:
            run["shapes"] = [name for name in run["shapes"] if name not in shapes]

    site.edit("evidence/h100/sanitizer.json", change)


def one_arm_tells_no_refusals(site: Site, arm: str) -> None:
    """Have one arm say nothing of shapes that its kernel refuses, which the others tell."""

    def change(record: Any) -> None:
        for each in record["arms"]:
            each["refused"] = None if each["arm"] == arm else []

    site.edit(CORRECTNESS, change)


def _without(checks: list[Any], shapes: list[str]) -> list[Any]:
    """Return checks without those of launches at these shapes, and those made beside them."""
    kept, left = [], False
    for check in checks:
        if check["name"] not in ("poisoned", "inputs_unchanged"):
            left = check["name"] in shapes
        if not left:
            kept.append(check)
    return kept


def gate_of_another_binary(site: Site) -> None:
    """Have the gate check other binaries than were built, and timed."""
    site.edit(CORRECTNESS, lambda r: [arm.update(binary_sha256="ab" * 32) for arm in r["arms"]])


CHECKS: dict[str, Callable[[list[Any]], list[Any]]] = {
    "one invented": lambda checks: [{**checks[0], "name": "fine"}],
    "one invented more": lambda checks: [*checks, {**checks[0], "name": "fine"}],
    "without ragged": lambda checks: [each for each in checks if each["name"] != "ragged"],
    "without seed 2": lambda checks: [each for each in checks if each["seed"] != 2],
    "another seed": lambda checks: [{**each, "seed": each["seed"] + 7} for each in checks],
    "not passed": lambda checks: [{**each, "passed": False} for each in checks],
    "one beside less": lambda checks: checks[:-1],
    "no error": lambda checks: [{**each, "relative_error": None} for each in checks],
    "error below nothing": lambda checks: [
        {**each, "relative_error": each["relative_error"] and -0.5} for each in checks
    ],
    "wrong output": lambda checks: [
        {**each, "relative_error": each["relative_error"] and 0.5} for each in checks
    ],
}


def drop_from_gate(site: Site) -> None:
    """Leave an arm out of the gate's record."""
    site.edit(CORRECTNESS, lambda record: record["arms"].pop(0))


def _launches_ms(process: Any, arm: str) -> Iterator[float]:
    """Yield what an arm's launches took, timed and warming up."""
    for block in process["blocks"]:
        for turn in block["turns"]:
            yield from turn["times_ms"] if turn["arm"] == arm else ()
    for each in process["arms"]:
        yield each["warmup_ms"] if each["arm"] == arm else 0.0


def arm_of_the_gate(site: Site, name: str, value: Argument) -> None:
    """Have the gate's record tell something else of its first arm."""
    site.edit(CORRECTNESS, lambda record: record["arms"][0].update({name: value}))


def change_verdict(site: Site, claim: str, name: str, value: Argument) -> None:
    """Give one verdict another value."""

    def change(record: Any) -> None:
        for verdict in record["verdicts"]:
            if verdict["claim"] == claim:
                verdict[name] = value

    site.edit("verdicts.json", change)


def drop_verdict(site: Site, claim: str) -> None:
    """Leave out an unwelcome verdict."""

    def change(record: Any) -> None:
        record["verdicts"] = [each for each in record["verdicts"] if each["claim"] != claim]

    site.edit("verdicts.json", change)


def repeat_verdict(site: Site) -> None:
    """Give one verdict twice."""
    site.edit("verdicts.json", lambda record: record["verdicts"].append(record["verdicts"][0]))


def reorder_verdicts(site: Site) -> None:
    """Give the same verdicts in another order."""
    site.edit("verdicts.json", lambda record: record["verdicts"].reverse())


def compact_verdicts(site: Site) -> None:
    """Give the same verdicts in other bytes."""
    site.put("verdicts.json", json.dumps(site.read("verdicts.json")).encode())


def other_rules(site: Site, rules: int, schema: str, rests_on: str | None = None) -> None:
    """Say that other rules judged; ``rests_on``: by a record that is not there."""

    def change(record: Any) -> None:
        record.update(rules=rules, schema=schema)
        if rests_on is not None:
            record["verdicts"][0]["evidence"] = [rests_on]

    site.edit("verdicts.json", change)


def verdicts_of_another_run(site: Site) -> None:
    """Have the verdicts name another run, in a list of files that names this one."""
    site.edit("verdicts.json", lambda record: record.update(run="other_run"))
    listed(site)


def measured_by_another(site: Site, edits: bool) -> None:
    """Tell of another machine in figures that were taken over; ``edits``: in the verdicts, too."""
    site.edit(PLATFORM, lambda record: record["device"].update(driver="999.0"))
    if not edits:
        return

    def change(record: Any) -> None:
        for verdict in record["verdicts"]:
            if verdict["measured_on"]:
                verdict["measured_on"]["driver"] = "999.0"

    site.edit("verdicts.json", change)


def origin_of_another_run(site: Site) -> None:
    """Have the origin's list of files be another run's."""
    site.edit("evidence/h100/origin/manifest.json", lambda record: record.update(run="renamed"))


def origin_signed_by_enemy(site: Site) -> None:
    """Have a stranger sign the report that figures were taken from."""
    path = "evidence/h100/origin/attestation.json"
    payload = parse_envelope((site.report / path).read_bytes()).payload
    site.put(path, dump_envelope(signed_envelope(payload, [load_signer(site.base / "enemy")])))


def evidence_of_the_other_gpu(site: Site, relabelled: bool, uuid: bool = False) -> None:
    """File the H100's evidence as the H200's.

    ``relabelled``: with the other target's name in each record; ``uuid``: with its GPU's, too.
    """
    one, other = site.evidence / "h100", site.evidence / "h200"
    theirs = site.read("evidence/h200/platform.json")["device"]["gpu"]["uuid"]
    ours = site.read(PLATFORM)["device"]["gpu"]["uuid"]
    platform = (other / "platform.json").read_bytes()
    shutil.rmtree(other)
    shutil.copytree(one, other)
    if uuid:
        (other / "platform.json").write_bytes(platform)
    for path in other.rglob("*.json*") if relabelled else ():
        if path.name == "platform.json" and uuid:
            continue
        data = path.read_bytes()
        packed = path.suffix == ".gz"
        text = (gzip.decompress(data) if packed else data).decode()
        text = text.replace('"target": "h100"', '"target": "h200"')
        text = text.replace(ours, theirs) if uuid else text
        path.write_bytes(gzip.compress(text.encode(), mtime=0) if packed else text.encode())


def shapes_said_not_to_run(site: Site, sanitized: bool = False) -> None:
    """Have the gate say that kernels refuse every shape but the timed one; ``sanitized``: and
    compute-sanitizer, too.
    """
    left = set[str]()

    def change(record: Any) -> None:
        for arm in record["arms"]:
            kept = ("timed_shape", "repeat", "inputs_unchanged", "poisoned")
            names = sorted({check["name"] for check in arm["checks"]} - set(kept))
            arm["detail"] = "; ".join(f"{name} not run: refused" for name in names)
            arm["refused"] = names
            arm["checks"] = _without(arm["checks"], names)
            left.update(names)

    site.edit(CORRECTNESS, change)
    if sanitized:
        _sanitized_without(site, sorted(left))
