// Measures the most that this GPU moves and computes: memory bandwidth by a triad, 32-bit
// arithmetic by multiply-adds.
#include <algorithm>
#include <limits>

#include <cuda_runtime.h>

#include "cuda/cuda_abi.h"
#include "cuda/event_timer.h"

namespace {

constexpr int kThreads = 256;
constexpr int kBlocksPerMultiprocessor =
    8;  // 2048 threads, the most that one multiprocessor runs at once
constexpr int kChains =
    8;  // independent sums per thread: enough to hide the latency of a multiply-add
constexpr int kSteps = 8192;

extern "C" __global__ void perfprobe_triad(float4* a, const float4* b, const float4* c, float scale,
                                           int64_t count) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    const float4 left = b[i];
    const float4 right = c[i];
    a[i] = make_float4(left.x + scale * right.x, left.y + scale * right.y, left.z + scale * right.z,
                       left.w + scale * right.w);
  }
}

extern "C" __global__ void perfprobe_multiply_add(float factor, float addend, float* out) {
  float sums[kChains];
  for (int chain = 0; chain < kChains; ++chain) {
    sums[chain] = static_cast<float>(threadIdx.x + static_cast<unsigned>(chain));
  }
#pragma unroll 16
  for (int step = 0; step < kSteps; ++step) {
#pragma unroll
    for (int chain = 0; chain < kChains; ++chain) {
      sums[chain] = fmaf(sums[chain], factor, addend);
    }
  }
  float total = 0;
  for (int chain = 0; chain < kChains; ++chain) {
    total += sums[chain];
  }
  // Never true for these inputs, but the compiler does not know: without a use of the sums it would
  // remove the computation.
  if (total == -1) {
    *out = total;
  }
}

int count_multiprocessors(int* count) {
  int device = 0;
  const cudaError_t found = cudaGetDevice(&device);
  return found == cudaSuccess
             ? cudaDeviceGetAttribute(count, cudaDevAttrMultiProcessorCount, device)
             : found;
}

// Returns the fastest of `repeats` runs, after one that is not counted.
template <typename Launch>
int fastest(cudaStream_t stream, int repeats, double* best_ns, Launch launch) {
  EventTimer timer(stream);
  double best = std::numeric_limits<double>::infinity();
  for (int repeat = 0; repeat <= repeats && timer.error() == cudaSuccess; ++repeat) {
    timer.start();
    launch();
    const double elapsed_ns = timer.stop_ns();
    if (repeat > 0) {
      best = std::min(best, elapsed_ns);
    }
  }
  *best_ns = best;
  return timer.error();
}

}  // namespace

int perfprobe_cuda_triad(void* stream, int64_t elements, int repeats, double* best_ns) {
  if (elements < 4 || elements % 4 != 0 || repeats < 1) {
    return cudaErrorInvalidValue;
  }
  int multiprocessors = 0;
  const int found = count_multiprocessors(&multiprocessors);
  if (found != cudaSuccess) {
    return found;
  }
  const int64_t count = elements / 4;
  const DeviceArray<float4> a(static_cast<size_t>(count));
  const DeviceArray<float4> b(static_cast<size_t>(count));
  const DeviceArray<float4> c(static_cast<size_t>(count));
  for (const cudaError_t error : {a.error(), b.error(), c.error()}) {
    if (error != cudaSuccess) {
      return error;
    }
  }
  const auto on_stream = static_cast<cudaStream_t>(stream);
  const size_t bytes = static_cast<size_t>(count) * sizeof(float4);
  cudaMemsetAsync(b.data(), 0, bytes, on_stream);
  cudaMemsetAsync(c.data(), 0, bytes, on_stream);
  const unsigned blocks = static_cast<unsigned>(multiprocessors * kBlocksPerMultiprocessor);
  return fastest(on_stream, repeats, best_ns, [&] {
    perfprobe_triad<<<blocks, kThreads, 0, on_stream>>>(a.data(), b.data(), c.data(), 3.0F, count);
  });
}

int perfprobe_cuda_multiply_add(void* stream, int repeats, double* operations, double* best_ns) {
  if (repeats < 1) {
    return cudaErrorInvalidValue;
  }
  int multiprocessors = 0;
  const int found = count_multiprocessors(&multiprocessors);
  if (found != cudaSuccess) {
    return found;
  }
  const DeviceArray<float> out(1);
  if (out.error() != cudaSuccess) {
    return out.error();
  }
  const auto on_stream = static_cast<cudaStream_t>(stream);
  const unsigned blocks = static_cast<unsigned>(multiprocessors * kBlocksPerMultiprocessor);
  *operations = 2.0 * kChains * kSteps * kThreads * blocks;
  return fastest(on_stream, repeats, best_ns, [&] {
    perfprobe_multiply_add<<<blocks, kThreads, 0, on_stream>>>(0.999F, 0.5F, out.data());
  });
}
