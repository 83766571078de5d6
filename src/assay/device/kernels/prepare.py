"""From the arm of a comparison to something that can be launched."""

from assay.device.kernels.baselines import prepare_library
from assay.device.kernels.bindings import prepare_kernel
from assay.device.kernels.inputs import Inputs
from assay.device.kernels.prepared import Prepared
from assay.shared.specs import ArmSpec


def prepare_arm(arm: ArmSpec, inputs: Inputs) -> Prepared:
    """Bind an arm's variant to inputs. Raises Unsupported, or RuntimeError when it can't run."""
    if arm.variant.kind == "kernel":
        return prepare_kernel(arm.variant, arm.artifact, inputs)
    if arm.variant.kind == "callable":
        case = inputs.project_case
        launch, out = case.launcher(arm.variant.entry or "", inputs.tensors)
        return Prepared(launch, out, arranged=case.joined)
    return prepare_library(arm.variant.entry, inputs)
