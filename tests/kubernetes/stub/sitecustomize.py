"""Stands for a cluster: jobs that are created are written down, then run on this machine.

Python imports this first where its folder is on PYTHONPATH. ``POD_BODIES`` names the folder.
"""

import json
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

import kubernetes.client as kube
import kubernetes.config

if "POD_BODIES" in os.environ:
    kubernetes.config.load_kube_config = lambda: None
    bodies = Path(os.environ["POD_BODIES"])
    serialize = kube.ApiClient().sanitize_for_serialization
    codes: dict[str, int] = {}

    def create_job(self, namespace, body):
        told = serialize(body)
        name = told["metadata"]["name"]
        (bodies / f"{name}.json").write_text(json.dumps({"namespace": namespace, "body": told}))
        (container,) = told["spec"]["template"]["spec"]["containers"]
        given = {each["name"]: each["value"] for each in container["env"]}
        kept = {key: os.environ[key] for key in ("PATH",)}
        codes[name] = subprocess.call(
            [*container["command"], *container["args"]],
            cwd=container["workingDir"], env={**kept, **given},
        )  # fmt: skip
        return body

    def status_of(self, name, namespace):
        ended = codes[name]
        return SimpleNamespace(
            status=SimpleNamespace(failed=int(ended != 0), succeeded=int(not ended))
        )

    def note(kind):
        def call(self, *arguments, **options):
            found = serialize([each for each in arguments if not isinstance(each, str)])
            with (bodies / "calls").open("a") as log:
                log.write(json.dumps([kind, found]) + "\n")
            return SimpleNamespace(items=[])

        return call

    kube.BatchV1Api.create_namespaced_job = create_job
    kube.BatchV1Api.read_namespaced_job_status = status_of
    kube.BatchV1Api.delete_namespaced_job = note("delete job")
    kube.CoreV1Api.create_namespaced_secret = note("secret")
    kube.CoreV1Api.delete_namespaced_secret = note("delete secret")
    kube.CoreV1Api.list_namespaced_pod = note("pods")
