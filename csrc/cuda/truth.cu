// Kernels with a known number and duration, to test recordings of GPUs against.
#include <cuda_runtime.h>

#include "cuda/cuda_abi.h"
#include "cuda/event_timer.h"

namespace {

// No GPU has a faster clock. If the nanosecond timer stands still, a spin ends after these cycles.
constexpr int64_t kMostTicksPerNs = 4;

__device__ uint64_t global_timer_ns() {
  uint64_t now_ns = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now_ns));
  return now_ns;
}

// extern "C", so that the recorded names are exactly these.
extern "C" __global__ void perfprobe_empty() {}

extern "C" __global__ void perfprobe_spin(uint64_t duration_ns, int64_t most_ticks,
                                          SpinStamp* stamp) {
  const uint64_t start_ns = global_timer_ns();
  const int64_t first_tick = clock64();
  uint64_t end_ns = start_ns;
  int64_t ticks = 0;
  do {
    end_ns = global_timer_ns();
    ticks = clock64() - first_tick;
  } while (end_ns - start_ns < duration_ns && ticks < most_ticks);
  if (stamp != nullptr) {
    *stamp = {start_ns, end_ns, ticks};
  }
}

int finish(EventTimer& timer, double* elapsed_ns) {
  const double elapsed = timer.stop_ns();
  if (elapsed_ns != nullptr) {
    *elapsed_ns = elapsed;
  }
  return timer.error();
}

int spin(cudaStream_t stream, int64_t duration_ns, int launches, SpinStamp* on_device,
         double* elapsed_ns) {
  EventTimer timer(stream);
  timer.start();
  for (int launch = 0; launch < launches && timer.error() == cudaSuccess; ++launch) {
    SpinStamp* stamp = on_device == nullptr ? nullptr : on_device + launch;
    perfprobe_spin<<<1, 1, 0, stream>>>(static_cast<uint64_t>(duration_ns),
                                        duration_ns * kMostTicksPerNs, stamp);
  }
  return finish(timer, elapsed_ns);
}

}  // namespace

const char* perfprobe_cuda_error_name(int code) {
  return cudaGetErrorName(static_cast<cudaError_t>(code));
}

const char* perfprobe_cuda_error_text(int code) {
  return cudaGetErrorString(static_cast<cudaError_t>(code));
}

int perfprobe_cuda_device_count(int* count) {
  return cudaGetDeviceCount(count);
}

int perfprobe_cuda_empty(void* stream, int launches, double* elapsed_ns) {
  const auto on_stream = static_cast<cudaStream_t>(stream);
  if (elapsed_ns == nullptr) {
    for (int launch = 0; launch < launches; ++launch) {
      perfprobe_empty<<<1, 1, 0, on_stream>>>();
    }
    return cudaGetLastError();
  }
  EventTimer timer(on_stream);
  timer.start();
  for (int launch = 0; launch < launches && timer.error() == cudaSuccess; ++launch) {
    perfprobe_empty<<<1, 1, 0, on_stream>>>();
  }
  return finish(timer, elapsed_ns);
}

int perfprobe_cuda_spin(void* stream, int64_t duration_ns, int launches, SpinStamp* stamps,
                        double* elapsed_ns) {
  const auto on_stream = static_cast<cudaStream_t>(stream);
  if (duration_ns < 0 || launches < 1) {
    return cudaErrorInvalidValue;
  }
  if (stamps == nullptr) {
    return spin(on_stream, duration_ns, launches, nullptr, elapsed_ns);
  }
  const size_t count = static_cast<size_t>(launches);
  const DeviceArray<SpinStamp> on_device(count);
  if (on_device.error() != cudaSuccess) {
    return on_device.error();
  }
  const int result = spin(on_stream, duration_ns, launches, on_device.data(), elapsed_ns);
  if (result != cudaSuccess) {
    return result;
  }
  const cudaError_t copied = cudaMemcpyAsync(stamps, on_device.data(), count * sizeof(SpinStamp),
                                             cudaMemcpyDeviceToHost, on_stream);
  return copied == cudaSuccess ? cudaStreamSynchronize(on_stream) : copied;
}
