// What libperfprobe_cuda.so offers: kernels whose number, duration and work are known beforehand.
//
// Everything returns a cudaError_t as an int, 0 is success. `stream` is a cudaStream_t, null the
// default one, of the device that is current on the calling thread. Times come from CUDA events
// unless something else is said.
#pragma once

#include <cstdint>

#define PERFPROBE_CUDA_API extern "C" __attribute__((visibility("default")))

// What one spin kernel read from the device's own clocks.
struct SpinStamp {
  uint64_t start_ns;  // %globaltimer: nanoseconds, whose zero is the device's own
  uint64_t end_ns;
  int64_t clock_ticks;  // %clock64 over the same time: cycles of the multiprocessor
};

// The name and the text of an error; valid as long as the library is loaded.
PERFPROBE_CUDA_API const char* perfprobe_cuda_error_name(int code);
PERFPROBE_CUDA_API const char* perfprobe_cuda_error_text(int code);

PERFPROBE_CUDA_API int perfprobe_cuda_device_count(int* count);

// Launches an empty kernel, `perfprobe_empty`, that many times. With elapsed_ns it waits for them
// and says how long they took together; without, it returns once they are launched.
PERFPROBE_CUDA_API int perfprobe_cuda_empty(void* stream, int launches, double* elapsed_ns);

// Launches `perfprobe_spin` that many times, each busy for duration_ns of the device's clock, and
// waits. stamps is null or has one place for each launch: then one copy to pageable host memory of
// that size follows the kernels.
PERFPROBE_CUDA_API int perfprobe_cuda_spin(void* stream, int64_t duration_ns, int launches,
                                           SpinStamp* stamps, double* elapsed_ns);

// `perfprobe_triad`: a[i] = b[i] + s * c[i] on three arrays of that many floats, a multiple of
// four; the fastest of `repeats`. Moves 12 bytes an element. Allocates the arrays for as long as it
// runs.
PERFPROBE_CUDA_API int perfprobe_cuda_triad(void* stream, int64_t elements, int repeats,
                                            double* best_ns);

// `perfprobe_multiply_add`: chains of 32-bit fused multiply-adds in registers on every
// multiprocessor; the fastest of `repeats`, and how many operations each did (a multiply-add is
// two).
PERFPROBE_CUDA_API int perfprobe_cuda_multiply_add(void* stream, int repeats, double* operations,
                                                   double* best_ns);
