"""``config/kubernetes.yaml``: where a cluster of Kubernetes has its GPUs, and what pods run in."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from assay.records.base import Identifier, Record

KUBERNETES_FILE = "config/kubernetes.yaml"

PinnedImage = Annotated[
    str,
    StringConstraints(pattern=r"^[a-z0-9][A-Za-z0-9./:_-]*@sha256:[0-9a-f]{64}$", max_length=400),
]
"""An image by its digest; a tag may be moved."""
KubernetesName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")]
LabelKey = Annotated[
    str, StringConstraints(pattern=r"^([a-z0-9.-]+/)?[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=317)
]
LabelValue = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$")
]


class PodSite(Record):
    """The pods of one target."""

    image: PinnedImage
    """The target's runner image, as it was pushed to the cluster's registry."""
    node_selector: Annotated[dict[LabelKey, LabelValue], Field(min_length=1)]
    """Labels of the nodes that have the target's GPU."""
    cores: Annotated[int, Field(gt=0)] = 4
    memory_mb: Annotated[int, Field(gt=0)] = 16000


class KubernetesFile(Record):
    """The site's Kubernetes. The file is the site's: no report carries it along."""

    schema_: Literal["assay/kubernetes/1"] = Field(alias="schema")
    namespace: KubernetesName = "default"
    claim: KubernetesName | None = None
    """A claim of a volume, ReadWriteMany, in which this repository lies."""
    mount: Annotated[str, StringConstraints(pattern=r"^/[\w./-]+$")] | None = None
    """Where that volume is mounted: here and, by the claim, in every pod."""
    max_jobs: Annotated[int, Field(gt=0)] = 16
    """Pods at once."""
    attempts: Annotated[int, Field(gt=0, le=10)] = 3
    """How often a job is submitted whose pod ended without a word of ours."""
    targets: dict[Identifier, PodSite] = {}
