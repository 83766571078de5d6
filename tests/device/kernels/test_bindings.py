"""bindings: argument order, digests, refusals. The launchers are C, compiled here."""

import ctypes
import gc
import shutil
import subprocess
import weakref

import pytest

from assay.device.kernels.bindings import bind
from assay.device.kernels.drawn_inputs import make_inputs
from assay.shared.errors import Unsupported
from assay.shared.files import sha256_file
from assay.shared.launch_abi import WORKSPACE_BYTES, load_launcher
from assay.shared.specs import ArtifactSpec
from tests.device.helpers import bsr_workload, make_arm

SOURCE = """
#include <stddef.h>
static long long seen[11];
int launch(const void *values, const int *row_ptr, const int *col_idx, const void *b, void *c,
           int m, int n, int k, void *workspace, size_t workspace_bytes, void *stream) {
  if (n % 32) return 1;
  seen[0] = (long long)values; seen[1] = row_ptr[1]; seen[2] = col_idx[0];
  seen[3] = (long long)b; seen[4] = (long long)c; seen[5] = m; seen[6] = n; seen[7] = k;
  seen[8] = (long long)workspace; seen[9] = workspace_bytes; seen[10] = (long long)stream;
  return 0;
}
int load(const void *a, void *sums, int m, int n, int k, void *workspace, size_t workspace_bytes,
         void *stream) {
  seen[0] = (long long)a; seen[1] = (long long)sums; seen[2] = m; seen[3] = n; seen[4] = k;
  seen[5] = workspace_bytes; seen[6] = (long long)stream;
  return 0;
}
long long look(int i) { return seen[i]; }
"""


@pytest.fixture(scope="module")
def artifact(tmp_path_factory):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("needs a C compiler")
    folder = tmp_path_factory.mktemp("launcher")
    source, library = folder / "launch.c", folder / "launch.so"
    source.write_text(SOURCE)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
    return ArtifactSpec(str(library), sha256_file(library))


class TestBind:
    def test_what_the_launcher_reads_lives_as_long_as_the_launch(self, artifact):
        inputs = make_inputs(bsr_workload(), "cpu", 1)
        values = weakref.ref(inputs.tensors["b"])
        variant = make_arm("k", inputs.workload, "kernel").variant
        prepared = bind(load_launcher(artifact, "launch", 4), variant, inputs, lambda: 77)
        del inputs
        gc.collect()
        assert values() is not None
        del prepared
        gc.collect()
        assert values() is None

    def test_arguments_arrive_in_the_order_of_the_abi(self, artifact):
        inputs = make_inputs(bsr_workload(), "cpu", 1)
        variant = make_arm("k", inputs.workload, "kernel").variant
        prepared = bind(load_launcher(artifact, "launch", 4), variant, inputs, lambda: 77)
        assert prepared.launch() is prepared.buffer
        look = ctypes.CDLL(str(artifact.path)).look
        look.restype = ctypes.c_longlong
        seen = [look(i) for i in range(11)]
        t = inputs.tensors
        assert seen[0] == t["a_values"].data_ptr()
        assert seen[1:3] == [int(t["a_row_ptr"][1]), int(t["a_col_idx"][0])]
        assert seen[3:5] == [t["b"].data_ptr(), prepared.buffer.data_ptr()]
        assert seen[5:8] == [64, 32, 96]
        assert seen[8] != 0
        assert seen[9:] == [WORKSPACE_BYTES, 77]

    def test_a_refused_shape_is_unsupported(self, artifact):
        inputs = make_inputs(bsr_workload(n=40), "cpu", 1)
        variant = make_arm("k", inputs.workload, "kernel").variant
        prepared = bind(load_launcher(artifact, "launch", 4), variant, inputs, lambda: 0)
        with pytest.raises(Unsupported, match="k refused: cudaErrorInvalidValue"):
            prepared.launch()


def test_a_kernel_is_not_bound_to_an_output_of_another_type():
    arm = make_arm("narrow", bsr_workload(output_dtype="float32"), kind="kernel")
    inputs = make_inputs(arm.workload, "cpu", 1)
    with pytest.raises(RuntimeError, match="writes float16, and workload 'tiny_bsr' wants float32"):
        bind(lambda *arguments: 0, arm.variant, inputs, lambda: 0)
