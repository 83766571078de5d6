"""Every way to bend a report that was thought of, or to leave it sound, and what verify makes of it.

A line is a case: what it is, the code of its refusal (None where it verifies), and its change.
CONTRIBUTING.md, "Add an attack", says how to write one.
"""
# ruff: noqa: E501 - a case is a line

import lzma
from collections.abc import Iterator
from dataclasses import dataclass

from tests.cases.changes import (
    Change,
    as_bytes,
    bomb,
    both,
    entries,
    envelope,
    evidence_of_the_other_gpu,
    flip,
    folders,
    hungry,
    insert,
    kept_as,
    listed,
    many_files,
    no_report,
    noted,
    nothing,
    odd_name,
    pack,
    packed,
    packed_among_published,
    payload,
    provenance,
    put,
    read_nested_at,
    remove,
    rename_nested,
    replace_by,
    respell,
    respell_statement,
    signed_by,
    spaces_behind_samples,
    state,
    stolen_id,
    swap,
    touch,
    trusting_file,
    trusting_nobody,
    trusting_rsa,
    write,
    zeros,
)
from tests.cases.site import DROP, SIGNERS

COMPARISON = "demo_sweep"
BENCH = f"evidence/h100/benchmark/{COMPARISON}.json.gz"
GATE = f"evidence/h100/correctness/{COMPARISON}.json"
STOPWATCH = f"evidence/h100/stopwatch/{COMPARISON}.json"
PLATFORM = "evidence/h100/platform.json"
GPU = "device.gpu."
CLAIMS = "evidence/config/claims/demo.yaml"
JUDGING = "evidence/config/judging.yaml"
WORKLOADS = "evidence/config/workloads/demo.yaml"
PROTOCOLS = "evidence/config/protocols.yaml"
TARGET = "evidence/config/targets/h100.yaml"
KERNEL = "evidence/kernels/demo/kernel.yaml"
PLAN = "evidence/plan.json"
OWN = "evidence/h100/original/demo_own.json.gz"
NESTED = "evidence/earlier/first_run"
TIMES = "processes.*.blocks.*.turns.*.times_ms"
AB = "ab" * 32
ODD = "evidence/\x1b[2J\u202e"
SCRIPT = "<script src='https://example.org/a.js'></script></body>"
PREDICATE, SUBJECT = "predicate.", "subject.0."

Line = tuple[str | None, Change]


def _unsigned_bits(text: str) -> str:
    """The same bytes: the last character before the padding has bits that none of them uses."""
    bare = text.rstrip("=")
    return bare[:-1] + chr(ord(bare[-1]) + 1) + text[len(bare) :]


UNSIGNED: dict[str, Line] = {
    "sound": (None, nothing),
    "other times and modes": (None, touch),
    "a flipped bit in the page": ("contents", flip("report.html")),
    "a flipped bit in the verdicts": ("contents", flip("verdicts.json", 0.9)),
    "a flipped bit in the manifest": ("statement-subject", flip("manifest.json")),
    "a flipped bit in the public key": ("signer-file", flip("signer.pub")),
    "a line more in the envelope": ("envelope-form", as_bytes("attestation.json", lambda d: d + b"\n")),
    "swapped pages": ("contents", swap("report.html", "report.md")),
    "no envelope": ("file-missing", remove("attestation.json")),
    "no page": ("shape-missing", remove("report.html")),
    "a record more": ("shape-unlisted", write("evidence/h100/operators.json", "{}")),
    "an empty folder": ("shape-kind", folders("empty")),
    "folders in folders": ("shape-files", folders(*["d"] * 500)),
    "thousands of files": ("shape-files", many_files),
    "a name that steers the terminal": ("shape-unlisted", odd_name(b"a\n\x1b[2Jok  signature")),
    "a page that is a pipe": ("shape-kind", replace_by("report.md", "pipe")),
    "a page of a terabyte": ("contents", replace_by("report.html", "terabyte")),
    "an envelope that is a pipe": ("file-kind", replace_by("attestation.json", "pipe")),
    "a manifest of a terabyte": ("file-size", replace_by("manifest.json", "terabyte")),
    "no report at all": ("bad-input", no_report),
    "another run's name among published ones": ("run-name", kept_as("other_run", "reports/published")),
    # Envelopes.
    "an envelope with no member": ("envelope", write("attestation.json", "{}")),
    "an envelope of brackets": ("json-depth", write("attestation.json", "[", 100_000)),
    "a further member": ("envelope-form", respell("attestation.json", "further member")),
    "base64 with other unused bits": ("envelope-form", envelope("signatures.0.sig", _unsigned_bits)),
    "a flipped bit in the payload": ("signature-invalid", payload(lambda d: d.replace(b"1", b"2", 1))),
    "another type of payload": ("payload-type", envelope("payloadType", "text/plain")),
    "no signature": ("envelope", envelope("signatures", [])),
    "a key id that steers the terminal": ("signature-untrusted", envelope("signatures.0.keyid", "\x1b[2Kkey")),
    "a stranger under the trusted id": ("signature-invalid", stolen_id),
    "a stranger beside the trusted key": ("envelope", envelope("signatures", lambda s: [*s, {**s[0], "keyid": AB}])),
    # Whom the verifier trusts.
    "nobody is trusted": ("bad-input", trusting_nobody),
    "a key as OpenSSH writes it": (None, trusting_file("<ssh key>")),
    "a key file of a private key": ("key-form", trusting_file("<private>")),
    "a key file of two keys": ("key-several", trusting_file("<key><enemy>")),
    "an RSA key": ("key-type", trusting_rsa),
    "a revoked key": ("key-revoked", noted('revoked: {day: "2027-02-03", reason: stolen}')),
    "a key that another file revokes": ("key-revoked", noted('revoked: {day: "2027-02-03", reason: stolen}', also_elsewhere=True)),
    "a key that expired": ("key-expired", noted('until: "2026-10-31"')),
    "a key that was not yet in use": ("key-not-yet", noted('from: "2026-11-02"')),
    "a note with a tag": ("yaml-tag", noted('from: !!python/object/apply:os.system ["id"]')),
    "notes by another name": ("trusted-keys", noted("", name="keys.yml")),
    # Archives.
    "a sound archive": (None, pack),
    "a sound archive among published ones": (None, packed_among_published),
    "an archive of another run's name": ("archive-name", packed(lambda d: d, "other_run")),
    "an archive of a changed report": ("contents", both(write("report.md", "!"), pack)),
    "an archive that is text": ("archive-xz", packed(lambda _: b"text, and no xz")),
    "a flipped bit in an archive": ("archive-xz", packed(lambda d: d[:40] + bytes([d[40] ^ 1]) + d[41:])),
    "half a gigabyte of zeros": ("archive-size", packed(zeros(512))),
    "a dictionary of a gigabyte": ("archive-xz", packed(hungry)),
    "an archive that is too long": ("file-size", packed(lambda d: d + bytes(33_000_000))),
    "an archive with a longer end": ("archive-form", packed(lambda d: lzma.compress(lzma.decompress(d) + bytes(512)))),
    "an entry that is a link": ("archive-form", entries("run/a", size=0, type=b"2", linkname="/etc/passwd")),
    "an entry that leads above": ("archive-form", entries("run/../a")),
    "an entry twice": ("archive-form", entries("run/a", "run/a")),
    "an entry of gigabytes": ("archive-form", entries("run/a", size=7 << 30)),
}  # fmt: skip
"""Nobody signs: what an enemy can do who has no key, and whom a verifier trusts."""

MANIFEST: dict[str, Line] = {
    "a listed path that leads above": ("manifest-path", listed(lambda f: f[0].update(path="../../judging.yaml"))),
    "a listed path that steers the terminal": ("manifest-path", listed(lambda f: f[0].update(path=ODD))),
    "a file that is there and not listed": ("shape-unlisted", listed(lambda f: f.pop())),
    "a file listed twice": ("manifest-order", listed(lambda f: f.append(f[-1]))),
    "another digest": ("contents", listed(lambda f: f[0].update(sha256=AB))),
    "a size below nothing": ("record", listed(lambda f: f[0].update(bytes=-1))),
    "a listed terabyte": ("shape-size", listed(lambda f: f[0].update(bytes=1 << 40))),
    "another run in the manifest": ("statement-run", put("manifest.json", "run", "other_run")),
    "verdicts of another run": ("declared", both(put("verdicts.json", "run", "other_run"), SIGNERS["listed"])),
    **{f"a manifest, {way}": (code, respell("manifest.json", way)) for way, code in (
        ("UTF-16", "encoding"), ("first member twice", "json-duplicate"), ("further member", "record"))},
}  # fmt: skip
"""A trusted key signs whatever list lies there."""

STATEMENT: dict[str, Line] = {
    "another type of statement": ("statement", state("_type", "https://in-toto.io/Statement/v0.1")),
    "no subject": ("statement", state("subject", [])),
    "another manifest": ("statement-subject", state(SUBJECT + "digest.sha256", AB)),
    "another run, stated": ("statement-run", state(PREDICATE + "run", "other_run")),
    "other verdicts, stated": ("declared", state(PREDICATE + "verdicts", {"reproduced": 99})),
    "no counts, as before": (None, state(PREDICATE + "counts", DROP)),
    "signed before the key expired, as a thief may say": (None, both(noted('until: "2026-10-31"'), state(PREDICATE + "created", "2026-10-01T00:00:00Z"))),
    "a provenance, as before": (None, provenance()),
    "a provenance of something else": ("provenance-statement", provenance(b"{}")),
    "a provenance that a stranger signed": ("signature-untrusted", provenance(who="enemy")),
    "a provenance that no statement names": ("shape-unlisted", write("provenance.json", "{}")),
    "a provenance that is not there": ("shape-missing", state(PREDICATE + "provenance", AB)),
    **{f"a statement, {way}": (code, respell_statement(way)) for way, code in (
        ("half a surrogate", "encoding"), ("wide", "file-size"), ("member twice, escaped", "json-duplicate"), ("cut", "json"))},
}  # fmt: skip
"""A trusted key signs whatever statement the change made."""

TRUSTED: dict[str, Line] = {
    "no plan": ("file-missing", remove(PLAN)),
    "no claims": ("evidence", remove(CLAIMS)),
    "a plan of nothing": ("record", write(PLAN, "{}")),
    "a plan of millions of values": ("json-nodes", write(PLAN, "[],", 5_000_000)),
    **{f"a record, {way}": (code, respell(PLATFORM, way)) for way, code in (
        ("trailing data", "json"), ("deep", "json-depth"), ("long key", "json-key"), ("long string", "json-string"),
        ("huge number", "json-number"), ("further member", "record"))},
    "samples that are a bomb": ("evidence-size", bomb(4000)),
    "samples that are a bomb and deny it": ("gzip-size", bomb(400, says=100)),
    "samples with too high a ratio": ("gzip-ratio", bomb(4, says=100)),
    "white space without end": ("gzip-ratio", spaces_behind_samples(20)),
    "cut samples": ("gzip", as_bytes(BENCH, lambda d: d[:-60] + d[-4:])),
    "something behind samples": ("gzip-trailing", as_bytes(BENCH, lambda d: d + b"more" + d[-4:])),
    "an anchor of YAML": ("yaml-anchor", write(JUDGING, "a: &a [x]\nb: [*a, *a]\n")),
    "a tag of YAML": ("yaml-tag", write(JUDGING, "a: !!python/object/apply:os.system ['id']\n")),
    "deep YAML": ("yaml-depth", write(JUDGING, "[", 100_000)),
    "wide YAML": ("yaml-nodes", write(JUDGING, "- 1\n", 200_000)),
    "a long text of YAML": ("yaml-text", write(JUDGING, "x", 30_000)),
    "an infinite margin": ("yaml-number", insert(JUDGING, "absolute_margin: 0.08", "absolute_margin: .inf")),
    "a claim in octal": ("yaml-ambiguous", insert(CLAIMS, "value: 200", "value: 0310")),
    "a partition with a command": ("record", insert(TARGET, "slurm_partition: gpu", "slurm_partition: gpu --wrap=id")),
    "a pattern that takes forever": ("record", insert(TARGET, "product_pattern: NVIDIA H100 80GB HBM3", "product_pattern: (N?){40}N{40}")),
    "a billion resamples": ("record", insert(JUDGING, "bootstrap_resamples: 200", "bootstrap_resamples: 1000000000")),
    "a workload of a terabyte": ("verdicts", insert(WORKLOADS, "k: 4096\n    pattern: {kind: random, block_rows: 128, block_cols: 128",
                                                  "k: 16777216\n    pattern: {kind: random, block_rows: 1, block_cols: 1")),
    "older rules, to evade newer ones": ("other-version", put("verdicts.json", "rules", 1)),
    "nudged samples": ("verdicts", put(BENCH, TIMES, lambda times: [round(ms * 0.97, 6) for ms in times])),
    "another figure": ("verdicts", put("verdicts.json", "verdicts.0.measured", 999.0)),
    "a verdict left out": ("verdicts-left-out", put("verdicts.json", "verdicts.0", DROP)),
    "a verdict twice": ("verdicts-left-out", put("verdicts.json", "verdicts", lambda v: [*v, v[0]])),
}  # fmt: skip
"""A trusted key signs what lies there: the signer is careless, or changed it after judging."""

JUDGED: dict[str, Line] = {
    "a MIG slice": ("gpu-product", put(PLATFORM, GPU + "mig", True)),
    "another card in a record": ("gpu-uuid", put(BENCH, "gpu_uuid", "GPU-99999999-1111-2222-3333-444444444444")),
    "no gate": ("record-missing", remove(GATE)),
    "no platform": ("platform-missing", remove(PLATFORM)),
    "no stopwatch": ("guard-missing", remove(STOPWATCH)),
    "claims left out": ("claims-left-out", put(PLAN, "answers", lambda a: [each for each in a if each["claim"] != "demo_rate"])),
    "an arm timed that is incorrect": ("gate-checks", put(GATE, "arms.0.status", "incorrect")),
    "a binary that nothing built": ("binary", both(put(GATE, "arms.*.binary_sha256", AB), put(BENCH, "processes.*.arms.*.binary_sha256", AB))),
    "an unwelcome process left out": ("processes", put(BENCH, "processes.0", DROP)),
    "another protocol": ("protocol", both(put(BENCH, "protocol", "quick"), as_bytes(
        PROTOCOLS, lambda d: d + d.split(b"protocols:\n")[1].replace(b"standard", b"quick")))),
}  # fmt: skip
"""Verdicts are judged anew; then a trusted key signs: the evidence itself is other."""

CHECKOUT: dict[str, Line] = {
    "the best run of an own program": ("program-runs", put(OWN, "runs", lambda runs: runs[:1])),
}  # fmt: skip

PAIR: dict[str, Line] = {
    "another GPU's evidence": ("gpu-product", evidence_of_the_other_gpu),
}  # fmt: skip

TAKEN_OVER: dict[str, Line] = {
    "sound, taken over": (None, nothing),
    "nested from a stranger": ("origin-signature-untrusted", signed_by("enemy", path=f"{NESTED}/attestation.json")),
    "nested by another list": ("origin-statement-subject", put(f"{NESTED}/manifest.json", "run", "renamed")),
    "nested, and gone": ("origin-missing", remove("evidence/earlier")),
    "nested without its samples": ("origin-file", remove(f"{NESTED}/{BENCH}")),
    "nested with a record more": ("origin-file", write(f"{NESTED}/evidence/h100/operators.json", "{}")),
    "nested under another name": ("origin-run", rename_nested("official")),
    "figures read outside the nested report": ("record", read_nested_at("earlier/../../../evidence")),
}  # fmt: skip

TEXTS: dict[str, Line] = {
    "pages that say reproduced": ("texts", insert("report.html", "inconclusive", "reproduced")),
    "a script from outside": ("texts", insert("report.html", "</body>", SCRIPT)),
}  # fmt: skip

OTHER_TEXTS: dict[str, Line] = {
    "pages of another version": (None, nothing),
    "other pages of another version": ("other-version", insert("report.html", "inconclusive", "reproduced")),
}  # fmt: skip

POLICY: dict[str, Line] = {
    "the rules of the checkout": (None, nothing),
    "another margin": ("policy", insert(JUDGING, "absolute_margin: 0.08", "absolute_margin: 0.5")),
    "another kernel": ("policy", insert(KERNEL, "built_from: the demo", "built_from: the author's own")),
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One way to bend a report, or to leave it sound."""

    change: Change
    code: str | None
    """Of the refusal; None where it verifies."""
    resign: str
    """Who signs afterwards."""
    base: str = "report"
    """What it starts from."""
    asked: str = ""
    """How it is verified, beside what ``./assay verify --key`` does."""
    leaves: str = ""
    """Words of what then is not proven."""


def _cases() -> Iterator[tuple[str, Case]]:
    for resign, table in (
        ("none", UNSIGNED), ("manifest", MANIFEST), ("payload", STATEMENT), ("trusted", TRUSTED),
        ("judged", JUDGED),
    ):  # fmt: skip
        yield from ((name, Case(change, code, resign)) for name, (code, change) in table.items())
    for resign, base, asked, table in (
        ("judged", "checkout", "", CHECKOUT), ("judged", "pair", "", PAIR),
        ("trusted", "taken_over", "", TAKEN_OVER),
        ("trusted", "report", "texts", TEXTS), ("trusted", "report", "other texts", OTHER_TEXTS),
        ("judged", "report", "policy", POLICY),
    ):  # fmt: skip
        for name, (code, change) in table.items():
            yield name, Case(change, code, resign, base, asked)
    yield "a stranger signs", Case(nothing, "signature-untrusted", "enemy")
    revoked = noted('revoked: {day: "2027-02-03", reason: stolen}')
    yield "another key signs in place of a revoked one", Case(revoked, None, "enemy")
    yield "a list made again", Case(nothing, None, "listed")
    yield "a list of one file more", Case(write("evidence/x", "{}"), "statement-subject", "listed")
    yield "a copy of another name", Case(kept_as("a copy"), None, "none", leaves="the name: ")
    margin = insert(JUDGING, "absolute_margin: 0.08", "absolute_margin: 0.5")
    yield "another margin, accepted", Case(margin, None, "judged", "report", "accepted", "margins")
    option = put("evidence/pipeline.json", "commit", "--upload-pack=id")
    yield "a commit that is an option", Case(option, "commit", "trusted")


CASES = dict(_cases())
