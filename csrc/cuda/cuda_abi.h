// The interface of libperfprobe_cuda.so: kernels whose number, duration and work are known in
// advance.
//
// Every function returns a cudaError_t as an int; 0 is success. `stream` is a cudaStream_t (null:
// the default stream) of the calling thread's current device. Times come from CUDA events unless
// stated otherwise.
#pragma once

#include <cstdint>

#define PERFPROBE_CUDA_API extern "C" __attribute__((visibility("default")))

// What one spin kernel read from the device's clocks.
struct SpinStamp {
  uint64_t start_ns;  // %globaltimer: nanoseconds since a zero of the device
  uint64_t end_ns;
  int64_t clock_ticks;  // difference of %clock64 over the same time: cycles of the multiprocessor
};

// Name and text of an error, valid while the library is loaded.
PERFPROBE_CUDA_API const char* perfprobe_cuda_error_name(int code);
PERFPROBE_CUDA_API const char* perfprobe_cuda_error_text(int code);

PERFPROBE_CUDA_API int perfprobe_cuda_device_count(int* count);

// Launches an empty kernel, `perfprobe_empty`, this many times. With elapsed_ns it waits for all
// and returns how long they took together; without, it returns after the launches.
PERFPROBE_CUDA_API int perfprobe_cuda_empty(void* stream, int launches, double* elapsed_ns);

// Launches `perfprobe_spin` this many times, each busy for duration_ns of the device's clock, and
// waits. stamps is null or has one element for each launch; in that case one copy to pageable host
// memory of that size follows the kernels.
PERFPROBE_CUDA_API int perfprobe_cuda_spin(void* stream, int64_t duration_ns, int launches,
                                           SpinStamp* stamps, double* elapsed_ns);

// `perfprobe_triad`: a[i] = b[i] + s * c[i] on three arrays of this many floats, a multiple of
// four; the fastest of `repeats`. Moves 12 bytes per element. The arrays are allocated for the
// call.
PERFPROBE_CUDA_API int perfprobe_cuda_triad(void* stream, int64_t elements, int repeats,
                                            double* best_ns);

// `perfprobe_multiply_add`: chains of 32-bit fused multiply-adds in registers on every
// multiprocessor; the fastest of `repeats`, and how many operations each run did (a multiply-add is
// two).
PERFPROBE_CUDA_API int perfprobe_cuda_multiply_add(void* stream, int repeats, double* operations,
                                                   double* best_ns);
