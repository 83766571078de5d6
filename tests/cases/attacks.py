"""Every way to bend a report that was thought of, or to leave it sound, and what verify makes of it.

A line is a case: what it is, the code of its refusal (None where it verifies), and its change.
CONTRIBUTING.md, "Add an attack", says how to write one.
"""
# ruff: noqa: E501 - a case is a line

import json
import lzma
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.cases.changes import (
    Change,
    append,
    as_bytes,
    behind_a_linked_folder,
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
    link_to_equal,
    listed,
    many_files,
    no_report,
    noted,
    nothing,
    odd_name,
    of_other_run,
    pack,
    packed,
    packed_among_published,
    payload,
    plan_answers,
    plan_target,
    provenance,
    put,
    read_nested_at,
    remove,
    rename_nested,
    replace_by,
    respell,
    respell_envelope,
    respell_statement,
    signature,
    signed_by,
    signer_file,
    spaces_behind_samples,
    state,
    stolen_id,
    swap,
    touch,
    trusting,
    trusting_file,
    trusting_kind,
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
BUILD = "evidence/builds/sm_90a/demo_bk32.json"
OTHER_BUILD = "evidence/builds/sm_90a/demo_bk96.json"
PROFILE = f"evidence/h100/profile/{COMPARISON}.bk32.json.gz"
OTHER_PROFILE = f"evidence/h100/profile/{COMPARISON}.bk96.json.gz"
CLAIMS = "evidence/config/claims/demo.yaml"
JUDGING = "evidence/config/judging.yaml"
WORKLOADS = "evidence/config/workloads/demo.yaml"
PROTOCOLS = "evidence/config/protocols.yaml"
TARGET = "evidence/config/targets/h100.yaml"
KERNEL = "evidence/kernels/demo/kernel.yaml"
PLAN = "evidence/plan.json"
OWN = "evidence/h100/original/demo_own.json.gz"
COMPILED = "evidence/compiled_files/sm_89/demo_file.json"
NESTED = "evidence/earlier/first_run"
TIMES = "processes.*.blocks.*.turns.*.times_ms"
ERRORS = "processes.*.blocks.*.turns.*.relative_error"
AB = "ab" * 32
NO_KEY = "0" * 64
ODD = "evidence/\x1b[2J\u202e"
SCRIPT = "<script src='https://example.org/a.js'></script></body>"
PREDICATE, SUBJECT = "predicate.", "subject.0."

Line = tuple[str | None, Change]


def _canonical(document: Any) -> str:
    return json.dumps(document, indent=2, sort_keys=True) + "\n"


def _member_first(member: str) -> Change:
    return respell_envelope(lambda text, _: text.replace("{", "{" + member + ",", 1))


def _without(*names: str) -> Any:
    return lambda checks: [each for each in checks if each["name"] not in names]


def _each(**values: Any) -> Any:
    return lambda entries: [{**each, **values} for each in entries]


def _unsigned_bits(text: str) -> str:
    """The same bytes: the last character before the padding has bits that none of them uses."""
    bare = text.rstrip("=")
    return bare[:-1] + chr(ord(bare[-1]) + 1) + text[len(bare) :]


UNSIGNED: dict[str, Line] = {
    "sound": (None, nothing),
    "other times and modes": (None, touch),
    "a hard link to equal content": (None, link_to_equal("report.md", hard=True)),
    "a flipped bit in the page": ("contents", flip("report.html")),
    "a flipped bit in the samples": ("contents", flip(BENCH)),
    "a flipped bit in the verdicts": ("contents", flip("verdicts.json", 0.9)),
    "a flipped bit in the manifest": ("statement-subject", flip("manifest.json")),
    "a flipped bit in the public key": ("signer-file", flip("signer.pub")),
    "a flipped bit in the envelope": ("json", flip("attestation.json", 1.0)),
    "a line more in the public key": ("signer-file", append("signer.pub")),
    "a line more in the envelope": ("envelope-form", append("attestation.json")),
    "swapped pages": ("contents", swap("report.html", "report.md")),
    "another verdict": ("contents", put("verdicts.json", "verdicts.0.status", "exceeded")),
    "no envelope": ("file-missing", remove("attestation.json")),
    "no public key": ("file-missing", remove("signer.pub")),
    "no page": ("shape-missing", remove("report.html")),
    "no samples": ("shape-missing", remove(BENCH)),
    "no evidence": ("shape-missing", remove("evidence")),
    "no provenance": ("shape-missing", remove("provenance.json")),
    "a record more": ("shape-unlisted", write("evidence/h100/operators.json", "{}")),
    "a time stamp": ("shape-unlisted", write("timestamp.tsr", "none")),
    "an empty folder": ("shape-kind", folders("empty")),
    "folders in folders": ("shape-files", folders(*["d"] * 500)),
    "thousands of files": ("shape-files", many_files),
    "a name that steers the terminal": ("shape-unlisted", odd_name(b"a\n\x1b[2Jok  signature")),
    "a name that is no text": ("shape-unlisted", odd_name(b"\xff\xfe")),
    "a dangling link": ("shape-kind", replace_by(PLATFORM, "loop")),
    "a link to equal content": ("shape-kind", link_to_equal("report.md")),
    "a linked folder": ("shape-kind", link_to_equal("evidence")),
    "a page that is a pipe": ("shape-kind", replace_by("report.md", "pipe")),
    "a page of a terabyte": ("contents", replace_by("report.html", "terabyte")),
    "an envelope that is a pipe": ("file-kind", replace_by("attestation.json", "pipe")),
    "an envelope that is a device": ("file-kind", replace_by("attestation.json", "device")),
    "a manifest of a terabyte": ("file-size", replace_by("manifest.json", "terabyte")),
    "another run's envelope": ("statement-subject", of_other_run("attestation.json")),
    "another run's envelope and list": ("contents", of_other_run("attestation.json", "manifest.json")),
    "no report at all": ("bad-input", no_report("none")),
    "a file": ("bad-input", no_report("file")),
    "a folder with nothing in it": ("file-missing", no_report("folder")),
    "another run's name among published ones": ("run-name", kept_as("other_run", "reports/published")),
    "another run's name behind a link": ("run-name", behind_a_linked_folder),
    "a link of another run's name": ("run-name", kept_as("other_run", "reports/published", linked=True)),
    # Envelopes.
    "an envelope of nothing": ("json", write("attestation.json", "")),
    "an envelope with no member": ("envelope", write("attestation.json", "{}")),
    "an envelope with a number as its payload": ("envelope", write("attestation.json", '{"payload": 3}')),
    "an envelope of brackets": ("json-depth", write("attestation.json", "[", 100_000)),
    "a compact envelope": ("envelope-form", respell_envelope(lambda _, d: json.dumps(d))),
    "an envelope in UTF-16": ("encoding", respell_envelope(lambda t, _: t.encode("utf-16"))),
    "an envelope behind a byte order mark": ("json", respell_envelope(lambda t, _: "\ufeff" + t)),
    "an envelope and more": ("json", append("attestation.json", "{}")),
    "a further member": ("envelope-form", _member_first('"x": 1')),
    "a member twice": ("json-duplicate", _member_first('"payload": ""')),
    "a huge number": ("json-number", _member_first(f'"x": {"9" * 5000}')),
    "a further member of a signature": ("envelope-form", envelope("signatures.0.cert", "")),
    "base64 without its padding": ("envelope", envelope("signatures.0.sig", lambda t: t.rstrip("="))),
    "base64 with other unused bits": ("envelope-form", envelope("signatures.0.sig", _unsigned_bits)),
    "base64 with white space": ("envelope", envelope("payload", lambda t: t[:8] + "\n" + t[8:])),
    "the payload as an object": ("envelope", envelope("payload", {"_type": "x"})),
    "one signature in place of a list": ("envelope-form", envelope("signatures", {})),
    "a flipped bit in the payload": ("signature-invalid", payload(lambda d: d.replace(b"1", b"2", 1))),
    "another type of payload": ("payload-type", envelope("payloadType", "text/plain")),
    "a type of payload that is none": ("payload-type", envelope("payloadType", ["x"])),
    "no signature": ("signature-untrusted", envelope("signatures", [])),
    "a signature of nobody": ("signature-untrusted", envelope("signatures.0.keyid", NO_KEY)),
    "a key id that steers the terminal": ("signature-untrusted", envelope("signatures.0.keyid", "\x1b[2Kkey")),
    "a signature without a key id": ("envelope", envelope("signatures.0.keyid", DROP)),
    "a stranger under the trusted id": ("signature-invalid", stolen_id),
    "a stranger beside the trusted key": (None, signed_by("key", "enemy")),
    "one signature twice": ("envelope-form", envelope("signatures", lambda s: s * 2)),
    "more signatures than anybody tries": ("envelope-form", envelope(
        "signatures", lambda s: sorted([*s, *({**s[0], "keyid": str(n)} for n in range(16))], key=lambda e: e["keyid"]))),
    "a signature whose S is not reduced": ("signature-invalid", signature(
        lambda v: v[:32] + (int.from_bytes(v[32:], "little") + 2**252 + 27742317777372353535851937790883648493).to_bytes(32, "little"))),
    "a signature of zeros": ("signature-invalid", signature(lambda _: bytes(64))),
    "a signature of 63 bytes": ("signature-invalid", signature(lambda v: v[:63])),
    "a stranger's public key beside it": ("signer-file", signer_file("enemy")),
    "the public key twice": ("signer-file", signer_file("key", 2)),
    # Whom the verifier trusts.
    "two trusted keys that signed": (None, both(signed_by("key", "enemy"), signed_by("key", "enemy", path="provenance.json"), trusting("key", "enemy"))),
    "a trusted key that did not sign": (None, trusting("key", "enemy")),
    "only a stranger is trusted": ("signature-untrusted", trusting("enemy")),
    "nobody is trusted": ("bad-input", trusting()),
    "a key as OpenSSH writes it": (None, trusting_file("<ssh key>")),
    "a key file of nothing": ("key-form", trusting_file("")),
    "a key file of a private key": ("key-form", trusting_file("<private>")),
    "a key file of two keys": ("key-several", trusting_file("<key><enemy>")),
    "a key file of two lines": ("key-several", trusting_file("<ssh key><ssh enemy>")),
    "an RSA key": ("key-type", trusting_kind("RSA")),
    "a revoked key": ("key-revoked", noted('revoked: {day: "2027-02-03", reason: stolen}')),
    "a key that another file revokes": ("key-revoked", noted('revoked: {day: "2027-02-03", reason: stolen}', also_elsewhere=True)),
    "a key in its days": (None, noted('from: "2026-11-01", until: "2026-11-01"')),
    "a key that expired": ("key-expired", noted('until: "2026-10-31"')),
    "a key that was not yet in use": ("key-not-yet", noted('from: "2026-11-02"')),
    "days turned round": ("record", noted('from: "2026-11-02", until: "2026-11-01"')),
    "a note with a tag": ("yaml-tag", noted('from: !!python/object/apply:os.system ["id"]')),
    "notes by another name": ("trusted-keys", noted("", name="keys.yml")),
    # Provenance.
    "a provenance of something else": ("provenance-statement", lambda s: s.put("provenance.json", s.seal(b"{}"))),
    "a provenance that a stranger signed": ("signature-untrusted", signed_by("enemy", path="provenance.json")),
    "a provenance that is none": ("json-depth", write("provenance.json", "[", 100_000)),
    # Archives.
    "a sound archive": (None, pack),
    "a sound archive among published ones": (None, packed_among_published("demo_run")),
    "an archive of another run's name": ("archive-name", packed(lambda d: d, "other_run")),
    "an archive renamed among published ones": ("run-name", packed_among_published("other_run")),
    "a link of another name among published ones": ("run-name", packed_among_published("demo_run", linked=True)),
    "an archive of a changed report": ("contents", both(write("report.md", "!"), pack)),
    "an archive that is text": ("archive-xz", packed(lambda _: b"text, and no xz")),
    "an archive of nothing": ("archive-xz", packed(lambda _: b"")),
    "a cut archive": ("archive-xz", packed(lambda d: d[:-20])),
    "a flipped bit in an archive": ("archive-xz", packed(lambda d: d[:40] + bytes([d[40] ^ 1]) + d[41:])),
    "an archive in xz's old format": ("archive-xz", packed(lambda d: lzma.compress(lzma.decompress(d), lzma.FORMAT_ALONE))),
    "half a gigabyte of zeros": ("archive-size", packed(zeros(512))),
    "a dictionary of a gigabyte": ("archive-xz", packed(hungry)),
    "an archive that is too long": ("file-size", packed(lambda d: d + bytes(33_000_000))),
    "an archive with a longer end": ("archive-form", packed(lambda d: lzma.compress(lzma.decompress(d) + bytes(512)))),
    "an archive without an end": ("archive-form", packed(lambda d: lzma.compress(lzma.decompress(d)[:-1024]))),
    "an archive with bytes in its padding": ("archive-form", packed(lambda d: lzma.compress(lzma.decompress(d)[:-1025] + b"x" + bytes(1024)))),
    "an entry that is a link": ("archive-form", entries("run/a", size=0, type=b"2", linkname="/etc/passwd")),
    "an entry that is a hard link": ("archive-form", entries("run/a", "run/b", type=b"1", linkname="run/a")),
    "an entry that is a device": ("archive-form", entries("run/a", type=b"3")),
    "an entry that is sparse": ("archive-form", entries("run/a", type=b"S")),
    "an absolute entry": ("archive-name", entries("/run/a")),
    "an entry that leads above": ("archive-form", entries("run/../a")),
    "an entry with a control character": ("archive-form", entries("run/a\nb")),
    "two folders": ("archive-form", entries("run/a", "sun/a")),
    "an entry twice": ("archive-form", entries("run/a", "run/a")),
    "entries out of order": ("archive-form", entries("run/b", "run/a")),
    "an entry below a file": ("archive-form", entries("run/a", "run/a/b")),
    "an entry with a mode": ("archive-form", entries("run/a", mode=0o4755)),
    "an entry of gigabytes": ("archive-form", entries("run/a", size=7 << 30)),
    "an entry below nothing": ("archive-form", entries("run/a", size=-512)),
    "no entry": ("archive-form", entries()),
}  # fmt: skip
"""Nobody signs: what an enemy can do who has no key, and whom a verifier trusts."""

MANIFEST: dict[str, Line] = {
    "a list that is spelled as it was": (None, nothing),
    "a listed path that is absolute": ("manifest-path", listed(lambda f: f[0].update(path="/etc/hostname"))),
    "a listed path that leads above": ("manifest-path", listed(lambda f: f[0].update(path="../../judging.yaml"))),
    "a listed path through above": ("manifest-path", listed(lambda f: f[0].update(path="evidence/../report.md"))),
    "a listed path with a double slash": ("manifest-path", listed(lambda f: f[0].update(path="evidence//plan.json"))),
    "a listed path that steers the terminal": ("manifest-path", listed(lambda f: f[0].update(path=ODD))),
    "the list in itself": ("manifest-path", listed(lambda f: f[0].update(path="manifest.json"))),
    "a document that is no part of a report": ("manifest-path", both(write("paper/a.pdf", "x"), listed(lambda f: f.append({"path": "paper/a.pdf", "sha256": AB, "bytes": 1})))),
    "a file that is there and not listed": ("shape-unlisted", listed(lambda f: f.pop())),
    "a file that is listed and not there": ("shape-missing", listed(lambda f: f[1].update(path=f[1]["path"] + "0"))),
    "a file listed twice": ("manifest-order", listed(lambda f: f.append(f[-1]))),
    "files listed backwards": ("manifest-order", listed(lambda f: f.reverse())),
    "no file listed": ("record", listed(lambda f: f.clear())),
    "another digest": ("contents", listed(lambda f: f[0].update(sha256=AB))),
    "a digest in capitals": ("record", listed(lambda f: f[0].update(sha256="AB" * 32))),
    "a larger size": ("contents", listed(lambda f: f[0].update(bytes=9_999_999))),
    "a size below nothing": ("record", listed(lambda f: f[0].update(bytes=-1))),
    "a listed terabyte": ("shape-size", listed(lambda f: f[0].update(bytes=1 << 40))),
    "too many bytes together": ("shape-size", listed(lambda f: [each.update(bytes=30_000_000) for each in f[:3]])),
    "another run in the manifest": ("statement-run", put("manifest.json", "run", "other_run")),
    "verdicts of another run": ("declared", both(put("verdicts.json", "run", "other_run"), SIGNERS["listed"])),
    **{f"a manifest, {way}": (code, respell("manifest.json", way)) for way, code in (
        ("UTF-16", "encoding"), ("deep", "json-depth"), ("NaN", "json-number"), ("first member twice", "json-duplicate"),
        ("trailing data", "json"), ("null", "record"), ("further member", "record"))},
}  # fmt: skip
"""A trusted key signs whatever list lies there."""

STATEMENT: dict[str, Line] = {
    "the same stated": (None, nothing),
    "another type of statement": ("statement", state("_type", "https://in-toto.io/Statement/v0.1")),
    "another predicate": ("statement", state("predicateType", "https://slsa.dev/provenance/v1")),
    "no predicate": ("statement", state("predicate", DROP)),
    "no subject": ("statement", state("subject", [])),
    "two subjects": ("statement", state("subject", lambda each: each * 2)),
    "another subject": ("statement", state(SUBJECT + "name", "verdicts.json")),
    "a digest in capitals, stated": ("statement", state(SUBJECT + "digest.sha256", str.upper)),
    "another manifest": ("statement-subject", state(SUBJECT + "digest.sha256", AB)),
    "another run, stated": ("statement-run", state(PREDICATE + "run", "other_run")),
    "other verdicts, stated": ("declared", state(PREDICATE + "verdicts", {"reproduced": 99})),
    "other counts, stated": ("declared", state(PREDICATE + "counts", {"published": {"reproduced": 99}})),
    "no counts, as before": (None, state(PREDICATE + "counts", DROP)),
    "another commit, stated": ("declared", state(PREDICATE + "commit", "f" * 40)),
    "another margin, stated": ("declared", state(PREDICATE + "judging.absolute_margin", 0.5)),
    "an unknown status": ("statement", state(PREDICATE + "verdicts", {"perfect": 9})),
    "signed on no day": ("statement", state(PREDICATE + "created", "2026-13-45T00:00:00Z")),
    "signed before the key expired, as a thief may say": (None, both(noted('until: "2026-10-31"'), state(PREDICATE + "created", "2026-10-01T00:00:00Z"))),
    "another binary in the provenance": ("provenance-records", provenance("subject.0.digest.sha256", AB)),
    "another builder in the provenance": ("provenance-records", provenance("predicate.runDetails.builder.id", "https://example.org/x")),
    "a provenance that no statement names": ("shape-unlisted", state(PREDICATE + "provenance", None)),
    **{f"a statement, {way}": (code, respell_statement(way)) for way, code in (
        ("Latin-1", "encoding"), ("half a surrogate", "encoding"), ("deep", "json-depth"), ("wide", "file-size"),
        ("huge number", "json-number"), ("infinity", "json-number"), ("long key", "json-key"), ("single quotes", "json"),
        ("member twice, escaped", "json-duplicate"), ("list", "statement"), ("cut", "json"))},
}  # fmt: skip
"""A trusted key signs whatever statement the change made."""

TRUSTED: dict[str, Line] = {
    "signed again": (None, nothing),
    "no plan": ("file-missing", remove(PLAN)),
    "no verdicts": ("file-missing", remove("verdicts.json")),
    "no claims": ("evidence", remove(CLAIMS)),
    "a plan of nothing": ("record", write(PLAN, "{}")),
    "a plan of millions of values": ("json-nodes", write(PLAN, "[],", 5_000_000)),
    "a record on no time zone": ("record", put(BENCH, "recorded_at", "2026-01-02T03:04:05")),
    **{f"a record, {way}": (code, respell(PLATFORM, way)) for way, code in (
        ("byte order mark", "json"), ("Latin-1", "encoding"), ("zero byte", "json"), ("trailing data", "json"),
        ("deep", "json-depth"), ("wide", "json-nodes"), ("long key", "json-key"), ("long string", "json-string"),
        ("huge number", "json-number"), ("first member twice", "json-duplicate"), ("list", "record"), ("further member", "record"))},
    "samples that are a bomb": ("evidence-size", bomb(4000)),
    "samples that are a bomb and deny it": ("gzip-size", bomb(400, says=100)),
    "samples with too high a ratio": ("gzip-ratio", bomb(4, says=100)),
    "white space behind samples": (None, spaces_behind_samples(2)),
    "white space without end": ("gzip-ratio", spaces_behind_samples(20)),
    "cut samples": ("gzip", as_bytes(BENCH, lambda d: d[:-60] + d[-4:])),
    "samples that are not compressed": ("gzip", write(BENCH, "{}")),
    "something behind samples": ("gzip-trailing", as_bytes(BENCH, lambda d: d + b"more" + d[-4:])),
    "an alias of YAML": ("yaml-alias", write(JUDGING, "a: *b\n")),
    "an anchor of YAML": ("yaml-anchor", write(JUDGING, "a: &a [x]\nb: [*a, *a]\n")),
    "a tag of YAML": ("yaml-tag", write(JUDGING, "a: !!python/object/apply:os.system ['id']\n")),
    "a directive of YAML": ("yaml-directive", write(JUDGING, "%YAML 1.1\n---\na: 1\n")),
    "two documents of YAML": ("yaml-documents", write(JUDGING, "a: 1\n---\nb: 1\n")),
    "a key of YAML twice": ("yaml-duplicate", write(JUDGING, "a: 1\na: 2\n")),
    "broken YAML": ("yaml-syntax", write(JUDGING, "a: [1\nb: 2\n")),
    "empty YAML": ("yaml-empty", write(JUDGING, "")),
    "deep YAML": ("yaml-depth", write(JUDGING, "[", 100_000)),
    "wide YAML": ("yaml-nodes", write(JUDGING, "- 1\n", 200_000)),
    "a long text of YAML": ("yaml-text", write(JUDGING, "x", 30_000)),
    "long YAML": ("file-size", write(CLAIMS, "a: ", 700_000)),
    "an infinite margin": ("yaml-number", insert(JUDGING, "absolute_margin: 0.08", "absolute_margin: .inf")),
    "a claim in octal": ("yaml-ambiguous", insert(CLAIMS, "value: 200", "value: 0310")),
    "a source of the system": ("record", insert(KERNEL, "source: demo.cu", "source: /etc/passwd")),
    "a partition with a command": ("record", insert(TARGET, "slurm_partition: gpu", "slurm_partition: gpu --wrap=id")),
    "a pattern that takes forever": ("record", insert(TARGET, "product_pattern: NVIDIA H100 80GB HBM3", "product_pattern: (N?){40}N{40}")),
    "a billion resamples": ("record", insert(JUDGING, "bootstrap_resamples: 200", "bootstrap_resamples: 1000000000")),
    "a workload of a terabyte": ("record", insert(WORKLOADS, "k: 4096\n    pattern: {kind: random, block_rows: 128, block_cols: 128",
                                                  "k: 16777216\n    pattern: {kind: random, block_rows: 1, block_cols: 1")),
    "older rules, to evade newer ones": ("other-version", put("verdicts.json", "rules", 1)),
    "rules to come": ("other-version", put("verdicts.json", "rules", 99)),
    "nudged samples": ("verdicts", put(BENCH, TIMES, lambda times: [round(ms * 0.97, 6) for ms in times])),
    "another figure": ("verdicts", put("verdicts.json", "verdicts.0.measured", 999.0)),
    "another explanation": ("verdicts", put("verdicts.json", "verdicts.*.explanation", "All is well.")),
    "an explanation that steers the terminal": ("verdicts", put("verdicts.json", "verdicts.0.explanation", "\x1b[2J\u202eok")),
    "verdicts in other bytes": ("verdicts", append("verdicts.json", " ")),
    "a verdict left out": ("verdicts-left-out", put("verdicts.json", "verdicts.0", DROP)),
    "a verdict twice": ("verdicts-left-out", put("verdicts.json", "verdicts", lambda v: [*v, v[0]])),
    "another run's verdicts": ("verdicts", of_other_run("verdicts.json")),
}  # fmt: skip
"""A trusted key signs what lies there: the signer is careless, or changed it after judging."""

JUDGED: dict[str, Line] = {
    "judged and signed again": (None, nothing),
    "a MIG slice": ("gpu-product", put(PLATFORM, GPU + "mig", True)),
    "another product": ("gpu-product", put(PLATFORM, GPU + "product", "NVIDIA H200")),
    "another card": ("gpu-uuid", put(PLATFORM, GPU + "uuid", "GPU-11111111-1111-2222-3333-444444444444")),
    "another target's platform": ("platform", put(PLATFORM, "target", "h200")),
    "another card in a record": ("gpu-uuid", put(BENCH, "gpu_uuid", "GPU-99999999-1111-2222-3333-444444444444")),
    "another target in a record": ("misfiled", put(BENCH, "target", "h200")),
    "swapped builds": ("misfiled", swap(BUILD, OTHER_BUILD)),
    "a program that is another": ("misfiled", put(PLAN, "targets.0.programs.0.program", "demo_99")),
    "no gate": ("record-missing", remove(GATE)),
    "no build": ("record-missing", remove(BUILD)),
    "no platform": ("platform-missing", remove(PLATFORM)),
    "no profile": ("guard-missing", remove(PROFILE)),
    "no stopwatch": ("guard-missing", remove(STOPWATCH)),
    "no cheats": ("guard-missing", remove("evidence/h100/cheats.json")),
    "claims left out": ("claims-left-out", plan_answers(lambda a: [each for each in a if each["claim"] != "demo_rate"])),
    "a claim answered twice": ("answers", plan_answers(lambda a: [*a, a[0]])),
    "a claim answered otherwise": ("answers", plan_answers(lambda a: [{**each, "way": "not_run"} for each in a])),
    "a source unheard of": ("claims-left-out", put(PLAN, "sources", lambda s: [*s, "unheard_of"])),
    "no comparison planned": ("figures-not-planned", plan_target("comparisons", [])),
    "no cheats planned": ("guard-not-planned", plan_target("cheats", False)),
    "no stopwatch planned": ("guard-not-planned", plan_target("stopwatches", [])),
    "a gate without an arm": ("gate-arms", both(put(GATE, "arms.2", DROP), put(BENCH, "processes.*.arms.2", DROP))),
    "an arm timed that is incorrect": ("gate-checks", put(GATE, "arms.0.status", "incorrect")),
    "a gate without a shape": ("gate-checks", put(GATE, "arms.*.checks", _without("ragged"))),
    "a gate of one seed": ("gate-checks", put(GATE, "arms.*.checks", lambda c: [each for each in c if each["seed"] != 2])),
    "a gate without errors": ("gate-checks", put(GATE, "arms.*.checks", _each(relative_error=None))),
    "a gate with errors below nothing": ("gate-checks", put(GATE, "arms.*.checks", _each(relative_error=-0.5, max_abs_error=0.0))),
    "a gate beyond the tolerance": ("gate-checks", put(GATE, "arms.*.checks", _each(relative_error=0.5, max_abs_error=0.0))),
    "a shape refused in words, as before": (None, put(GATE, "arms", lambda arms: [{**a, "refused": None, "checks": _without("unaligned")(a["checks"])} for a in arms])),
    "a gate of another binary": ("binary", put(GATE, "arms.*.binary_sha256", AB)),
    "a gate of another workload": ("arm-problem", put(GATE, "arms.0.workload", "demo_other")),
    "a binary that nothing built": ("binary", both(put(GATE, "arms.*.binary_sha256", AB), put(BENCH, "processes.*.arms.*.binary_sha256", AB))),
    "a stopwatch of another binary": ("binary", put(STOPWATCH, "arms.*.binary_sha256", AB)),
    "another variant": ("arm-problem", put(BENCH, "processes.*.arms.*.variant", "demo_bk32")),
    "other FLOPs": ("arm-facts", put(BENCH, "processes.*.arms.*.flop", 68719476736)),
    "another pattern": ("arm-facts", put(BENCH, "processes.*.arms.*.pattern_sha256", AB)),
    "samples below the floor": ("below-floor", put(BENCH, TIMES, lambda times: [ms * 0.1 for ms in times])),
    "samples of no time": ("below-floor", put(BENCH, TIMES, lambda times: [0.0 for _ in times])),
    "no error of a timed output": ("turn-errors", put(BENCH, ERRORS, None)),
    "an unwelcome process left out": ("processes", put(BENCH, "processes.0", DROP)),
    "no process": ("processes", put(BENCH, "processes", [])),
    "an unwelcome block left out": ("blocks", put(BENCH, "processes.*.blocks.0", DROP)),
    "an unwelcome arm left out": ("arms", both(put(BENCH, "processes.*.arms.1", DROP), put(
        BENCH, "processes.*.blocks.*.turns", lambda turns: [each for each in turns if each["arm"] != "bk64"]))),
    "another timer": ("protocol", put(BENCH, "processes.*.timer", "graph")),
    "another protocol": ("protocol", both(put(BENCH, "protocol", "quick"), as_bytes(
        PROTOCOLS, lambda d: d + d.split(b"protocols:\n")[1].replace(b"standard", b"quick")))),
    "other wheels": ("toolchain-lock", append("evidence/requirements/toolchain.txt", "# others\n")),
}  # fmt: skip
"""Verdicts are judged anew; then a trusted key signs: the evidence itself is other."""

CHECKOUT: dict[str, Line] = {
    "sound, of a checkout": (None, nothing),
    "the best run of an own program": ("program-runs", put(OWN, "runs", lambda runs: runs[:1])),
    "another own program": ("misfiled", put(OWN, "original", "demo_other")),
    "a compiled file of another checkout": ("misfiled", put(COMPILED, "checkout.sha256", "ee" * 32)),
    "no compiled file": ("record-missing", remove(COMPILED)),
    "an inspection of another file": ("misfiled", put("evidence/inspections.json", "inspections.*.path", "include/other.h")),
}  # fmt: skip

PAIR: dict[str, Line] = {
    "sound, of two GPUs": (None, nothing),
    "another GPU's evidence": ("gpu-product", evidence_of_the_other_gpu),
}  # fmt: skip

TAKEN_OVER: dict[str, Line] = {
    "sound, taken over": (None, nothing),
    "nested from a stranger": ("origin-signature-untrusted", signed_by("enemy", path=f"{NESTED}/attestation.json")),
    "nested by another list": ("origin-statement-subject", put(f"{NESTED}/manifest.json", "run", "renamed")),
    "nested by another spelling": ("origin-envelope-form", append(f"{NESTED}/attestation.json")),
    "nested, and gone": ("origin-missing", remove("evidence/earlier")),
    "nested without its samples": ("origin-file", remove(f"{NESTED}/{BENCH}")),
    "nested and scaled": ("origin-file", put(f"{NESTED}/{BENCH}", TIMES, lambda times: [ms * 0.8 for ms in times])),
    "nested with a record more": ("origin-file", write(f"{NESTED}/evidence/h100/operators.json", "{}")),
    "nested under another name": ("origin-run", rename_nested("official")),
    "figures read outside the nested report": ("record", read_nested_at("earlier/../../../evidence")),
}  # fmt: skip

TEXTS: dict[str, Line] = {
    "sound pages": (None, nothing),
    "pages that say reproduced": ("texts", insert("report.html", "inconclusive", "reproduced")),
    "a text that says more": ("texts", insert("report.md", "Findings", "Wonderful")),
    "a script from outside": ("texts", insert("report.html", "</body>", SCRIPT)),
    "a page without its policy": ("texts", insert("report.html", 'http-equiv="Content-Security-Policy"', 'name="x"')),
}  # fmt: skip

OTHER_TEXTS: dict[str, Line] = {
    "pages of another version": (None, nothing),
    "other pages of another version": ("other-version", insert("report.html", "inconclusive", "reproduced")),
}  # fmt: skip

POLICY: dict[str, Line] = {
    "the rules of the checkout": (None, nothing),
    "another margin": ("policy", insert(JUDGING, "absolute_margin: 0.08", "absolute_margin: 0.5")),
    "another claim": ("policy", insert(CLAIMS, "value: 200", "value: 190")),
    "a claim that steers the terminal": ("policy", insert(CLAIMS, "statement: The original program", 'statement: "\\e[2J\\u202eok"')),
    "another peak": ("policy", insert(TARGET, "fp16_tensor_tflop_per_s: 989.4", "fp16_tensor_tflop_per_s: 1989.4")),
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
    yield "a list made again", Case(nothing, None, "listed")
    yield "a list of one file more", Case(write("evidence/x", "{}"), "statement-subject", "listed")
    yield "a copy of another name", Case(kept_as("a copy"), None, "none", leaves="the name: ")
    margin = insert(JUDGING, "absolute_margin: 0.08", "absolute_margin: 0.5")
    yield "another margin, accepted", Case(margin, None, "judged", "report", "accepted", "margins")
    option = put("evidence/pipeline.json", "commit", "--upload-pack=id")
    yield "a commit that is an option", Case(option, "commit", "trusted")
    unnamed = both(remove("provenance.json"), state("predicate.provenance", None))
    yield "no provenance, as before", Case(unnamed, None, "payload", leaves="no provenance")


CASES = dict(_cases())
