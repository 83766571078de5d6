// Host code of the launchers: checks of arguments, what the device allows, tensor maps, clusters. No device code.

#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace launch {

// ---- arguments and limits ------------------------------------------------------------------------------

inline bool is_aligned_16(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

// Of the current device.
struct DeviceLimits {
  int sms = 0;
  int shared_bytes = 0;  // that one block may have
};

inline cudaError_t read_limits(DeviceLimits* limits) {
  int device = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) {
    error = cudaDeviceGetAttribute(&limits->sms, cudaDevAttrMultiProcessorCount, device);
  }
  if (error == cudaSuccess) {
    error = cudaDeviceGetAttribute(&limits->shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  }
  return error;
}

// Reads the limits and lets `kernel` have `shared_bytes` of dynamic shared memory; cudaErrorInvalidValue where the
// device has less.
template <typename... Parameters>
inline cudaError_t prepare(void (*kernel)(Parameters...), int shared_bytes, DeviceLimits* limits) {
  const cudaError_t error = read_limits(limits);
  if (error != cudaSuccess) {
    return error;
  }
  if (shared_bytes > limits->shared_bytes) {
    return cudaErrorInvalidValue;
  }
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
}

// ---- tensor maps ---------------------------------------------------------------------------------------

// The driver's encoder, found through the runtime: nothing links against libcuda. Null where there is none.
inline decltype(&cuTensorMapEncodeTiled) tensor_map_encoder() {
  static const auto encoder = [] {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult status;
    const cudaError_t error =
        cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &status);
    return error == cudaSuccess && status == cudaDriverEntryPointSuccess ? found : nullptr;
  }();
  return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(encoder);
}

// A tensor of kRank dimensions, contiguous one first; `strides` in bytes, from the second dimension on. Elements of 16
// bits or, with element_bytes 1, of 8. Boxes are swizzled over 128 bytes or lie as they are.
template <int kRank>
inline cudaError_t make_tensor_map(CUtensorMap* tensor_map, const void* pointer, const cuuint64_t (&sizes)[kRank],
                                   const cuuint64_t (&strides)[kRank - 1], const cuuint32_t (&box)[kRank],
                                   int element_bytes = 2, CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_128B) {
  const auto encode = tensor_map_encoder();
  if (encode == nullptr) {
    return cudaErrorNotSupported;
  }
  cuuint32_t steps[kRank];
  for (cuuint32_t& step : steps) {
    step = 1;
  }
  const CUresult result =
      encode(tensor_map, element_bytes == 1 ? CU_TENSOR_MAP_DATA_TYPE_UINT8 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16, kRank,
             const_cast<void*>(pointer), sizes, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return result == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
}

// A row-major matrix [rows, cols], copied in boxes of box_rows x box_cols; a box's row is the 128 bytes that the
// swizzle spans.
inline cudaError_t make_tensor_map_2d(CUtensorMap* tensor_map, const void* pointer, uint64_t rows, uint64_t cols,
                                      uint32_t box_rows, uint32_t box_cols, int element_bytes = 2) {
  return make_tensor_map<2>(tensor_map, pointer, {cols, rows}, {cols * element_bytes}, {box_cols, box_rows},
                            element_bytes);
}

// A row-major matrix [rows, cols] of 16-bit elements, cols a multiple of 64, as panels of 64 columns: a box is
// [box_panels][box_rows][64], its coordinates are {0, row, panel}.
inline cudaError_t make_tensor_map_panels(CUtensorMap* tensor_map, const void* pointer, uint64_t rows, uint64_t cols,
                                          uint32_t box_rows, uint32_t box_panels) {
  constexpr int kPanel = 64;
  return make_tensor_map<3>(tensor_map, pointer, {kPanel, rows, cols / kPanel}, {cols * 2, kPanel * 2},
                            {kPanel, box_rows, box_panels});
}

// ---- clusters ------------------------------------------------------------------------------------------

// Launches a persistent `kernel` with at most one CTA an SM, in clusters of kCluster that take `tiles` tiles in turn:
// as many rounds as all clusters need, but no more clusters than fill them. Rounds of equal tiles then stay in step
// and meet in L2.
template <int kCluster, typename... Parameters, typename... Arguments>
cudaError_t launch_clusters(void (*kernel)(Parameters...), int threads, int shared_bytes, int tiles, void* stream,
                            const Arguments&... arguments) {
  DeviceLimits limits;
  cudaError_t error = prepare(kernel, shared_bytes, &limits);
  if (error != cudaSuccess) {
    return error;
  }
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = kCluster;
  attribute.val.clusterDim.y = 1;
  attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config = {};
  config.blockDim = dim3(threads);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = static_cast<cudaStream_t>(stream);
  config.attrs = &attribute;
  config.numAttrs = 1;
  // Where clusters are large, some SMs may be left over; a cluster that had to wait would come too late.
  int clusters = limits.sms / kCluster;
  if (kCluster > 2) {
    config.gridDim = dim3(clusters * kCluster);
    error = cudaOccupancyMaxActiveClusters(&clusters, kernel, &config);
    if (error != cudaSuccess) {
      return error;
    }
  }
  if (clusters < 1) {
    return cudaErrorInvalidValue;
  }
  const int rounds = (tiles + clusters - 1) / clusters;
  config.gridDim = dim3((tiles + rounds - 1) / rounds * kCluster);
  error = cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...);
  return error != cudaSuccess ? error : cudaGetLastError();
}

}  // namespace launch
