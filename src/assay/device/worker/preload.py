"""Slow imports, made once in the parent, so that fresh processes start with them.

Nothing here may initialise CUDA: a child forked afterwards could not use it. Should an import do so
all the same, the job starts again without that one, and each child makes it by itself.
"""

import contextlib
import hashlib
import importlib
import importlib.metadata
import importlib.util
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from assay.shared.project_calls import project_place
from assay.shared.specs import CodeSpec, ComparisonSpec

SKIP_VARIABLE = "ASSAY_PRELOAD_SKIP"
"""Modules that are left to the children, for they touch CUDA; commas between them."""
CACHE_VARIABLE = "ASSAY_DEVICE_CACHE"
"""A folder for what libraries compile that outlives the job."""
PROJECT_FOLDER = "project"
"""In it, that of jobs which run a project's code."""
CACHES = {
    "TORCHINDUCTOR_CACHE_DIR": "inductor",
    "TRITON_CACHE_DIR": "triton",
    "FLASH_ATTENTION_CUTE_DSL_CACHE_DIR": "flash_attention",
    "FLASHINFER_WORKSPACE_BASE": "flashinfer",
    "TORCH_EXTENSIONS_DIR": "extensions",
    "CUDA_CACHE_PATH": "cuda",
    "DG_JIT_CACHE_DIR": "deep_gemm",
    "TILELANG_CACHE_DIR": "tilelang",
    "CUPY_CACHE_DIR": "cupy",
}
"""Variables by which libraries are told where to keep what they compile, and its folder there."""
SWEEPS_VARIABLE = "ASSAY_SWEEPS"
"""A folder for what sweeps of a run came to (``device.kernels.sweep``)."""
CUTE_CACHE = "FLASH_ATTENTION_CUTE_DSL_CACHE_ENABLED"
"""FlashAttention's CuTe kernels are kept on disk only where this says so. It changes no kernel."""

_TRITON = ("triton", "triton.language", "triton.runtime.cache")
_COMPILER = (
    *_TRITON,
    "torch._dynamo",
    "torch._inductor.compile_fx",
    "torch._inductor.lowering",
    "torch.nn.attention.flex_attention",
    "torch._inductor.codecache",
)
DIGESTS = {"torch._inductor.codecache": "torch_key", "triton.runtime.cache": "triton_key"}
"""Modules to their function that hashes the compiler's own files, once a process: half a second,
which children are spared once their parent has called it."""
_CUTE = (*_COMPILER, "cutlass.cute")
"""What FlashAttention's CuTe kernels are made of."""
_CUDNN = ("cudnn.block_sparse_attention.api",)
_TRITON_OPS = (*_TRITON, "torch._dynamo", "torch._inductor.config")
"""torch.sparse._triton_ops itself asks for the device as it is imported, so it stays out."""
MODULES: dict[str, tuple[str, ...]] = {
    "torch_bsr": _TRITON_OPS,
    "torch_bsr_tuned": _TRITON_OPS,
    "torchao_bsr": ("torchao.kernel.bsr_triton_ops",),
    # It changes a setting of torch.compile as it is imported, which is for its own child alone.
    "blksprs": _TRITON_OPS,
    "flex_attention": _COMPILER,
    "flex_attention_tuned": _COMPILER,
    "fa4": _CUTE,
    "fa4_sparse": _CUTE,
    "cudnn_sparse": _CUDNN,
    "flex_gradients": _COMPILER,
    "flex_gradients_tuned": _COMPILER,
    "fa4_gradients": _CUTE,
    "cudnn_gradients": _CUDNN,
}
"""Variant.entry to what it imports when it is prepared and first launched. FlashInfer and
FlashAttention's own modules ask for the device as they are imported, so they stay out: each would
have the job start again, which takes 10 to 15 s."""


WORDS: dict[str, tuple[str, ...]] = {"torch.compile": _COMPILER, "triton": _TRITON}
"""What a project's code holds to what its arms will then import, when they are first launched."""


def compiled_folder(output: Path) -> Path:
    """Return where a job that writes ``output`` keeps what is compiled: a folder of its own unless
    the caller names one, for a stale cache of another run must not decide what is measured.
    """
    named = os.environ.get(CACHE_VARIABLE)
    return Path(named) if named else output.resolve().parent / "compiled"


def keep_project_apart(output: Path) -> None:
    """Have jobs that run a project's code keep what is compiled where no other job looks: that code
    could put a library there, which a process that is not confined would load.
    """
    folder = compiled_folder(output)
    if folder.name != PROJECT_FOLDER:  # as it is after start_again_without
        os.environ[CACHE_VARIABLE] = str(folder / PROJECT_FOLDER)


def share_compiled_kernels(root: Path) -> None:
    """Have all processes of a job share what is compiled. Call it before PyTorch's import."""
    for variable, name in CACHES.items():
        os.environ.setdefault(variable, str(root / name))
    os.environ.setdefault(SWEEPS_VARIABLE, str(root / "sweeps"))
    os.environ.setdefault(CUTE_CACHE, "1")


def keep_bytecode(root: Path) -> None:
    """Have Python keep what it compiles of modules in a folder, where PyTorch came without that, as
    in our images: else every start would compile thousands of modules anew, which takes 10 s.

    Call it before PyTorch is imported. A project's code, which is confined, cannot write there.
    """
    found = importlib.util.find_spec("torch")
    if found is None or found.cached is None or Path(found.cached).exists():
        return
    # Files of images have one date: Python could take an older package's for those of a newer one.
    packages = sorted(f"{each.name} {each.version}" for each in importlib.metadata.distributions())
    key = hashlib.sha256("\n".join((sys.version, *packages)).encode()).hexdigest()[:16]
    above = root.parent if root.name == PROJECT_FOLDER else root
    # In the environment, too: the sanitizer's tools start a Python of their own.
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix = str(above / "bytecode" / key)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False


def modules_for(comparison: ComparisonSpec) -> list[str]:
    """Return what the arms of a comparison will import, in order, each once."""
    names: list[str] = []
    for arm in comparison.arms:
        if arm.variant.kind == "library":
            names += MODULES.get(arm.variant.entry or "", ())
        if arm.workload.code is not None:
            names += _of_code(arm.workload.code)
    return list(dict.fromkeys(names))


def _of_code(code: CodeSpec) -> Iterator[str]:
    """Yield what a project's code will import of the slow modules, by the words in its files."""
    folder = project_place()
    texts = []
    for name in code.files:
        with contextlib.suppress(OSError):  # the child says it of a file that is not there
            texts.append((folder / name).read_text(encoding="utf-8", errors="replace"))
    for word, modules in WORDS.items():
        if any(word in text for text in texts):
            yield from modules


def left_out() -> list[str]:
    """Return the modules that earlier starts of this job found to touch CUDA."""
    return [name for name in os.environ.get(SKIP_VARIABLE, "").split(",") if name]


def preload(modules: Iterable[str]) -> str | None:
    """Import modules; returns the one after which children of this process can't use CUDA, if any.

    A failed import is no matter here: the arm that needs it will say so. A module that is not there
    belongs to a rival that is not installed.
    """
    held = _holds_uvm()  # some drivers' NVML opens it, too
    for name in modules:
        try:
            module = importlib.import_module(name)
            if name in DIGESTS:
                getattr(module, DIGESTS[name])()
        except ModuleNotFoundError:
            pass
        except Exception as error:
            sys.stderr.write(f"{name} is not preloaded: {type(error).__name__}: {error}\n")
        if (_holds_uvm() and not held) or _child_is_in_bad_fork():
            return name
    return None


def _holds_uvm() -> bool:
    """Return whether this process has the device open that the CUDA driver opens."""
    links = []
    for entry in os.listdir("/proc/self/fd"):  # noqa: PTH208 - names, and one of them is gone
        with contextlib.suppress(OSError):
            links.append(os.readlink(f"/proc/self/fd/{entry}"))  # noqa: PTH115
    return "/dev/nvidia-uvm" in links


def _child_is_in_bad_fork() -> bool:
    """Return what PyTorch tells a forked child about its parent."""
    check = importlib.import_module("torch").cuda._is_in_bad_fork
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = 1 if check() else 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0


def start_again_without(name: str, arguments: list[str]) -> None:
    """Replace this process by one that leaves a module to its children; does not return."""
    os.environ[SKIP_VARIABLE] = ",".join([*left_out(), name])
    sys.stderr.write(f"importing {name} touches CUDA: each process imports it by itself\n")
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, "-m", "assay.device", *arguments])  # noqa: S606
