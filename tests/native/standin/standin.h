// A libcupti, driver and NVML without a GPU, for tests: it has the functions that perfprobe uses,
// with its ABI, and makes records of what `standin_*` is asked to pretend. All of it is synthetic.
//
// What it shall do wrong is told by the environment:
//   STANDIN_LAYOUT=12.4     the version it plays (12.4, 12.9, 13.0 GA, 13.0, 13.1, 13.2), by its
//                           records and by what is wrong in it: see `spoils_clock` and others in
//                           state.h
//   STANDIN_FAIL=f=c,...    the function f returns the code c; `cuptiActivityEnable10` is of a kind
//   STANDIN_CLIENT=name     another client has subscribed: 39, and this name
//   STANDIN_BUFFER=n        uses no more than n bytes of a buffer
//   STANDIN_DROP=n          loses every n-th record of a device, and counts it as dropped
//   STANDIN_UNTIMED=n       every n-th kernel has no times
//   STANDIN_REALTIME=n      every n-th kernel has times of CUPTI's own clock
//   STANDIN_STRANGE=n       every n-th kernel has times of a clock that nobody knows
//   STANDIN_LATE=ms         what a device did comes as long after the forced flush, behind all else
//   STANDIN_KEEP=1          and this never does
//   STANDIN_SCRIBBLE=n      writes n bytes behind what it says is valid of a buffer
//   STANDIN_SLOW_FLUSH=ms   a flush takes as long
//   STANDIN_DEVICES=n       how many the driver shows (1)
//   STANDIN_BUSES=7,3       their places on the PCI bus, in the driver's order (1,2,3...)
//   STANDIN_CONTEXTS=bits   which of them the process uses (all)
//   STANDIN_UTILIZATION=n   what NVML says of each (90)
//   STANDIN_THROTTLE_7=bits nvmlClocksEventReasons of the one there (1, idle)
//   STANDIN_SLOW_NVML=ms    a reading of NVML takes as long
#pragma once

#include <cstdint>

// C functions, so that test programs in any language can call them.
extern "C" {
// A kernel that starts when its stream is free and runs for this long; by `cudaLaunchKernel`.
void standin_launch(const char* name, uint64_t duration_ns, uint32_t stream);
// The same by `cuLaunchKernel`, as Triton does.
void standin_launch_by_driver(const char* name, uint64_t duration_ns, uint32_t stream);
// Kernels of a CUDA graph, all by one `cudaGraphLaunch`.
void standin_launch_graph(const char* name, uint32_t count, uint64_t duration_ns, uint32_t stream);
// copy_kind, source, destination: as in CUPTI. A copy that is not async waits for its end.
void standin_copy(uint32_t copy_kind, uint32_t source, uint32_t destination, uint32_t is_async,
                  uint64_t bytes, uint64_t duration_ns, uint32_t stream);
void standin_fill(uint64_t bytes, uint64_t duration_ns, uint32_t stream);
// Waits until the stream is idle; by `cudaStreamSynchronize`.
void standin_synchronize(uint32_t stream);
// `cudaGetDevice`: a call that is not recorded.
void standin_ask();
// Another client registers itself instead of ours and finally disables our kinds.
void standin_take_over();
// Enabled kinds as bits, and whether a client is subscribed.
uint64_t standin_kinds();
uint32_t standin_is_subscribed();
// Whether this call would be recorded; below, whether the client promises zeroed buffers.
uint32_t standin_is_traced(uint32_t domain, uint32_t callback);
uint32_t standin_are_zeros_promised();
// How often NVML was asked about the device there.
uint64_t standin_state_readings(uint32_t bus);
// Whether times are those of CUPTI's own clock.
uint32_t standin_has_default_clock();
}
