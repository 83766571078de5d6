"""Pods that measure: those of snakemake-executor-plugin-kubernetes, on a volume that all share.

That plugin takes its pods for machines without a shared file system: it sends them an archive of
the workflow, and has them install packages that nothing pins. Here a persistent volume has the
repository, its packages and the results at one path everywhere, so neither is sent. It also has one
image for all jobs, and selects nodes by a machine type's name; here a target has its own image and
its own labels. The rest of a job is the plugin's.

Snakemake finds this by its name on PYTHONPATH, which ./assay sets where it is asked for.
"""

import json
import os
from dataclasses import replace
from pathlib import Path

import kubernetes.client as kube
import snakemake_executor_plugin_kubernetes as theirs
from snakemake_executor_plugin_kubernetes import ExecutorSettings

__all__ = ["Executor", "ExecutorSettings", "common_settings"]

GPU = "nvidia.com/gpu"
HOME = "/workdir"
"""An empty folder of the pod, which the plugin makes."""
TOLD = ("ASSAY_CACHE", "ASSAY_RUN_OWNER", "PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "PYTHONSAFEPATH")
"""Variables of this process that a pod gets too; none of them is a secret."""

common_settings = replace(
    theirs.common_settings,
    implies_no_shared_fs=False,
    job_deploy_sources=False,
    auto_deploy_default_storage_provider=False,
    spawned_jobs_assume_shared_fs=True,
)


class ShapedJobs:
    """The client's jobs, each shaped before it is created."""

    def __init__(self, api, shape):
        self._api, self._shape = api, shape

    def create_namespaced_job(self, namespace, body):
        """Create a job as the plugin wants it, with what a measurement needs."""
        self._shape(body)
        return self._api.create_namespaced_job(namespace, body)

    def __getattr__(self, name):
        return getattr(self._api, name)


class Executor(theirs.Executor):
    """Places a rule's job in a pod of its target's image, on a node of its target's labels."""

    @property
    def batchapi(self):
        """Return the client's jobs; the plugin makes a new client when its login has expired."""
        return self._jobs

    @batchapi.setter
    def batchapi(self, api):
        self._jobs = ShapedJobs(api, self._shape)

    def run_job(self, job):
        """Submit a job; its resources say what its target's pods are."""
        resources = dict(job.resources)
        self.container_image = resources["pod_image"]
        self._selector = json.loads(resources["pod_selector"])
        super().run_job(job)

    def _shape(self, body):
        pod = body.spec.template.spec
        (container,) = pod.containers
        pod.node_selector = self._selector
        pod.automount_service_account_token = False
        pod.security_context = kube.V1PodSecurityContext(
            run_as_user=os.getuid(), run_as_group=os.getgid()
        )
        container.security_context = kube.V1SecurityContext(
            privileged=False,
            allow_privilege_escalation=False,
            capabilities=kube.V1Capabilities(drop=["ALL"]),
        )
        container.working_dir = str(Path.cwd())
        told = {name: os.environ[name] for name in TOLD if name in os.environ}
        container.env += [
            kube.V1EnvVar(name=name, value=value) for name, value in ({"HOME": HOME} | told).items()
        ]
        asked = container.resources.requests
        if GPU in asked:
            # Whatever a cluster's taint says of its GPU nodes, these pods are for them.
            pod.tolerations = [kube.V1Toleration(key=GPU, operator="Exists", effect="NoSchedule")]
        # A GPU is only ever granted as a limit; memory is one, so that no neighbour suffers.
        container.resources.limits = {
            name: asked[name] for name in (GPU, "memory") if name in asked
        }
