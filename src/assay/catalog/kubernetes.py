"""The site file of a Kubernetes, read whole."""

from collections.abc import Iterable
from pathlib import Path

from assay.base.errors import BadInput, MissingEnvironment
from assay.base.io import load_yaml
from assay.base.yaml_problems import suggest
from assay.records.kubernetes import KUBERNETES_FILE, KubernetesFile


def load_kubernetes(root: Path, home: Path, targets: Iterable[str]) -> KubernetesFile:
    """Read what the site says; ``targets``: the names that may stand there.

    ``home``: where the run lies, which pods must see, as the repository at ``root``. Raises
    BadInput for a wrong file, MissingEnvironment where it names no target, or no volume that holds
    both.
    """
    path, known = root / KUBERNETES_FILE, list(targets)
    if not path.is_file():
        raise MissingEnvironment(f"--executor kubernetes needs {path}: see docs/kubernetes.md")
    site = load_yaml(KubernetesFile, path)
    for name in site.targets:
        if name not in known:
            raise BadInput(f"{path}: there is no target '{name}'{suggest(name, known)}")
    if not site.targets or site.claim is None or site.mount is None:
        raise MissingEnvironment(
            f"{path} names no claim, mount or targets yet, and --executor kubernetes needs them: "
            "its comments say what they are"
        )
    for place in (root, home):
        if not place.resolve().is_relative_to(Path(site.mount)):
            raise MissingEnvironment(
                f"{place} is not below {site.mount}, the volume that pods mount ({path}): clone "
                "the repository there and start from it"
            )
    return site
