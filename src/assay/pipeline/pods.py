"""A run's jobs in pods: what Snakemake's executor is told of the site."""

from assay.records.kubernetes import KubernetesFile

PLUGIN_FOLDER = "workflow/kubernetes"
"""Where Snakemake finds the executor; only runs that ask for it look there."""


def pod_options(site: KubernetesFile) -> list[str]:
    """Return the options of the executor; images and nodes are each job's own."""
    return [
        "--jobs", str(site.max_jobs),
        "--retries", str(site.attempts - 1),
        "--assay-kubernetes-namespace", site.namespace,
        "--assay-kubernetes-persistent-volumes", f"{site.claim}:{site.mount}",
        "--assay-kubernetes-cpu-scalar", "1",
    ]  # fmt: skip
