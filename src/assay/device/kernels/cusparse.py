"""cuSPARSE's SpMM through ctypes: on BSR as it lies in memory, and on Blocked-ELL.

Blocked-ELL wants square blocks and one count of blocks for all rows. Blocks that aren't square are
cut into the largest squares that divide them; shorter rows are padded with column index -1. Both
store the same elements, so the FLOPs of a workload with equal rows stay the same.
"""

import ctypes
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from assay.device.kernels.inputs import Inputs, Tensor
from assay.device.kernels.prepared import Prepared, nothing
from assay.shared.errors import NoRoom, Unsupported
from assay.shared.stored_blocks import Blocks

# Values from cusparse.h and library_types.h; they are part of the library's ABI.
_INDEX_32I = 2
_INDEX_BASE_ZERO = 0
_ORDER_ROW = 2
_NON_TRANSPOSE = 0
_SPMM_BLOCKED_ELL_ALG1 = 13
_SPMM_BSR_ALG1 = 14
_R_32F = 0
_VALUE_TYPES = {"float16": 2, "bfloat16": 14}
_ALLOC_FAILED = 2
_NOT_SUPPORTED = (8, 10)
"""CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED and CUSPARSE_STATUS_NOT_SUPPORTED."""

_P, _I64, _INT = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int
_SIGNATURES: dict[str, list[Any]] = {
    "cusparseCreate": [_P],
    "cusparseSetStream": [_P, _P],
    "cusparseCreateBlockedEll": [_P, _I64, _I64, _I64, _I64, _P, _P, _INT, _INT, _INT],
    "cusparseCreateBsr": [
        *(_P, _I64, _I64, _I64, _I64, _I64, _P, _P, _P, _INT, _INT, _INT, _INT, _INT)
    ],
    "cusparseCreateDnMat": [_P, _I64, _I64, _I64, _P, _INT, _INT],
    "cusparseSpMM_bufferSize": [_P, _INT, _INT, _P, _P, _P, _P, _P, _INT, _INT, _P],
    "cusparseSpMM": [_P, _INT, _INT, _P, _P, _P, _P, _P, _INT, _INT, _P],
}


def find_library() -> str:
    """Return the libcusparse that PyTorch has loaded, else the one the loader finds."""
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        path = line.split(maxsplit=5)[-1]
        if "/libcusparse.so" in path:
            return path
    return "libcusparse.so.12"


class _Library:
    """cuSPARSE with typed functions and checked statuses."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(find_library())

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function. Raises Unsupported where this version cannot, else RuntimeError."""
        function = getattr(self._library, name, None)
        if function is None:
            raise Unsupported(f"this cuSPARSE has no {name}")
        function.argtypes, function.restype = _SIGNATURES[name], _INT
        status = function(*arguments)
        if status in _NOT_SUPPORTED:
            raise Unsupported(f"{name}: not supported (status {status})")
        if status != 0:
            failure = NoRoom if status == _ALLOC_FAILED else RuntimeError
            raise failure(f"{name} failed with cusparseStatus_t {status}")

    def new(self, name: str, *arguments: Any) -> ctypes.c_void_p:
        """Create a handle or descriptor; they live until the process ends."""
        handle = ctypes.c_void_p()
        self.call(name, ctypes.byref(handle), *arguments)
        return handle


def ell_columns(blocks: Blocks, square: int) -> Tensor:
    """Return each square block's column index, int32 [block rows, widest row]; -1 for no block."""
    tall, wide = blocks.block_rows // square, blocks.block_cols // square
    lengths = blocks.row_ptr[1:] - blocks.row_ptr[:-1]
    columns = torch.full((blocks.grid_rows, int(lengths.max()) * wide), -1, dtype=torch.int32)
    for row, begin, end in blocks.rows():
        first = torch.from_numpy(blocks.col_idx[begin:end])[:, None] * wide
        columns[row, : (end - begin) * wide] = (first + torch.arange(wide)).flatten()
    return columns.repeat_interleave(tall, dim=0)


def ell_values(blocks: Blocks, values: Tensor) -> Tensor:
    """Return stored elements by row, [rows of the matrix, widest row]; zeros where none are."""
    bm, bk = blocks.block_rows, blocks.block_cols
    lengths = blocks.row_ptr[1:] - blocks.row_ptr[:-1]
    packed = values.new_zeros(blocks.grid_rows, bm, int(lengths.max()) * bk)
    for row, begin, end in blocks.rows():
        strip = values[begin:end].transpose(0, 1).reshape(bm, (end - begin) * bk)
        packed[row, :, : (end - begin) * bk] = strip
    return packed.reshape(blocks.grid_rows * bm, -1)


def _as_tiles(rows: Tensor, square: int) -> Tensor:
    """[height, width] as [block rows, block columns, square, square]."""
    height, width = rows.shape
    return rows.reshape(height // square, square, width // square, square).transpose(1, 2)


ORDERS: dict[str, Callable[[Tensor, int], Tensor]] = {
    "rows": lambda rows, square: rows,
    "blocks": lambda rows, square: _as_tiles(rows, square).reshape(rows.shape),
    "transposed_blocks": lambda rows, square: (
        _as_tiles(rows, square).transpose(2, 3).reshape(rows.shape)
    ),
}
"""Ways to lay the stored elements out: matrix rows, square blocks by rows, or by columns."""


@dataclass(frozen=True)
class _Sparse:
    """A sparse A as cuSPARSE knows it, the algorithm for its format, and the memory behind it."""

    handle: ctypes.c_void_p
    algorithm: int
    keeps: tuple[Tensor, ...]


def _value_type(values: Tensor) -> int:
    """Return cuSPARSE's number of an element type. Raises Unsupported for one without."""
    name = str(values.dtype).removeprefix("torch.")
    if name not in _VALUE_TYPES:
        raise Unsupported(f"cuSPARSE multiplies no blocks of {name}")
    return _VALUE_TYPES[name]


def _blocked_ell(
    library: _Library, columns: Tensor, values: Tensor, square: int, k: int
) -> _Sparse:
    """A of ``k`` columns in Blocked-ELL."""
    handle = library.new(
        "cusparseCreateBlockedEll",
        values.shape[0], k, square, values.shape[1], columns.data_ptr(), values.data_ptr(),
        _INDEX_32I, _INDEX_BASE_ZERO, _value_type(values),
    )  # fmt: skip
    return _Sparse(handle, _SPMM_BLOCKED_ELL_ALG1, (columns, values))


def _bsr(library: _Library, blocks: Blocks, t: dict[str, Tensor]) -> _Sparse:
    """A in BSR, as it lies in memory: rows of each block one after the other."""
    parts = t["a_row_ptr"], t["a_col_idx"], t["a_values"]
    handle = library.new(
        "cusparseCreateBsr",
        *(blocks.grid_rows, blocks.grid_cols, blocks.stored, blocks.block_rows, blocks.block_cols),
        *(part.data_ptr() for part in parts),
        *(_INDEX_32I, _INDEX_32I, _INDEX_BASE_ZERO, _value_type(t["a_values"]), _ORDER_ROW),
    )
    return _Sparse(handle, _SPMM_BSR_ALG1, parts)


class _Spmm:
    """One bound product C = A B, row-major B and C, fp32 sums."""

    def __init__(self, library: _Library, a: _Sparse, b: Tensor, out: Tensor) -> None:
        kind = _value_type(b)
        (m, n), k = out.shape, b.shape[0]
        self._keep = (a, b, out)
        self._library = library
        self._handle = library.new("cusparseCreate")
        dense = [
            library.new("cusparseCreateDnMat", rows, n, n, tensor.data_ptr(), kind, _ORDER_ROW)
            for rows, tensor in ((k, b), (m, out))
        ]
        self._alpha, self._beta = ctypes.c_float(1.0), ctypes.c_float(0.0)
        self._arguments = (
            *(self._handle, _NON_TRANSPOSE, _NON_TRANSPOSE, ctypes.addressof(self._alpha)),
            *(a.handle, dense[0], ctypes.addressof(self._beta), dense[1]),
            *(_R_32F, a.algorithm),
        )
        size = ctypes.c_size_t()
        library.call("cusparseSpMM_bufferSize", *self._arguments, ctypes.byref(size))
        self._workspace = torch.empty(max(1, size.value), dtype=torch.uint8, device=b.device)

    def launch(self) -> None:
        """Enqueue the product on PyTorch's current stream."""
        stream = torch.cuda.current_stream().cuda_stream
        self._library.call("cusparseSetStream", self._handle, stream)
        self._library.call("cusparseSpMM", *self._arguments, self._workspace.data_ptr())


def _value_order(library: _Library, dtype: Any, device: str) -> str:
    """The entry of ORDERS in which this cuSPARSE reads Blocked-ELL values.

    Its manual leaves the order to a picture, so a product too small to matter is asked: one row of
    two 32 x 32 blocks, zeros but for the second row of the left one. Read in a wrong order, those
    ones land in other rows. Raises RuntimeError when no order gives the right sums.
    """
    square = 32
    rows = torch.zeros(square, 2 * square, dtype=dtype, device=device)
    rows[1, :square] = 1.0
    columns = torch.tensor([[0, 1]], dtype=torch.int32, device=device)
    b = torch.ones(2 * square, square, dtype=dtype, device=device)
    out = torch.empty(square, square, dtype=dtype, device=device)
    expected = rows.float() @ b.float()
    for name, arrange in ORDERS.items():
        values = arrange(rows, square).contiguous()
        out.fill_(float("nan"))
        ell = _blocked_ell(library, columns, values, square, b.shape[0])
        _Spmm(library, ell, b, out).launch()
        if torch.equal(out.float(), expected):
            return name
    raise RuntimeError("cuSPARSE reads Blocked-ELL values in an order that is not known here")


def _whole_blocks(inputs: Inputs, who: str) -> Blocks:
    blocks, w = inputs.blocks, inputs.workload
    if blocks is None or w.m % blocks.block_rows or w.k % blocks.block_cols:
        raise Unsupported(f"{who} needs a matrix of whole blocks")
    return blocks


def prepare_blocked_ell(inputs: Inputs) -> Prepared:
    """Prepare Blocked-ELL SpMM into a fixed buffer, its workspace allocated once."""
    blocks = _whole_blocks(inputs, "Blocked-ELL")
    square = math.gcd(blocks.block_rows, blocks.block_cols)
    library = _Library()
    arrange = ORDERS[_value_order(library, inputs.dtype, inputs.device)]
    columns = ell_columns(blocks, square).to(inputs.device)
    out = inputs.new_output()

    def packed() -> Tensor:
        return arrange(ell_values(blocks, inputs.tensors["a_values"]), square).contiguous()

    values = packed()
    ell = _blocked_ell(library, columns, values, square, inputs.workload.k)
    return _prepared(
        _Spmm(library, ell, inputs.tensors["b"], out), out, lambda: values.copy_(packed())
    )


def prepare_bsr(inputs: Inputs) -> Prepared:
    """Prepare BSR SpMM on the inputs as they lie, into a fixed buffer."""
    blocks = _whole_blocks(inputs, "BSR")
    library, out = _Library(), inputs.new_output()
    a = _bsr(library, blocks, inputs.tensors)
    return _prepared(_Spmm(library, a, inputs.tensors["b"], out), out, nothing)


def _prepared(product: _Spmm, out: Tensor, refresh: Callable[[], None]) -> Prepared:
    def launch() -> Tensor:
        product.launch()
        return out

    return Prepared(launch, out, refresh)
