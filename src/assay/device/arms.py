"""From the arm of a comparison to something that can be launched."""

from assay.device.baselines import prepare_library
from assay.device.bindings import prepare_kernel
from assay.device.inputs import Inputs
from assay.device.jobs import ArmSpec
from assay.device.prepared import Prepared


def prepare_arm(arm: ArmSpec, inputs: Inputs) -> Prepared:
    """Bind an arm's variant to inputs. Raises Unsupported, or RuntimeError when it can't run."""
    if arm.variant.kind == "kernel":
        return prepare_kernel(arm.variant, arm.artifact, inputs)
    return prepare_library(arm.variant.entry, inputs)
