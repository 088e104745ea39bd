// A program with the stand-in for libcupti, and its recording.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <dlfcn.h>
#include <string>
#include <unistd.h>
#include <vector>

#include "check.h"
#include "core/clock.h"
#include "gpu/gpu_recording.h"
#include "standin/standin.h"

namespace perfprobe::test {

inline constexpr uint64_t kKernelNs = 1000;

template <class Function>
Function* find(const char* name) {
  static void* library = dlopen(STANDIN, RTLD_NOW);
  return reinterpret_cast<Function*>(dlsym(library, name));
}

inline const auto launch = find<decltype(standin_launch)>("standin_launch");
inline const auto launch_by_driver =
    find<decltype(standin_launch_by_driver)>("standin_launch_by_driver");
inline const auto launch_graph = find<decltype(standin_launch_graph)>("standin_launch_graph");
inline const auto copy = find<decltype(standin_copy)>("standin_copy");
inline const auto fill = find<decltype(standin_fill)>("standin_fill");
inline const auto synchronize = find<decltype(standin_synchronize)>("standin_synchronize");
inline const auto ask = find<decltype(standin_ask)>("standin_ask");
inline const auto take_over = find<decltype(standin_take_over)>("standin_take_over");
inline const auto kinds = find<decltype(standin_kinds)>("standin_kinds");
inline const auto is_subscribed = find<decltype(standin_is_subscribed)>("standin_is_subscribed");
inline const auto is_traced = find<decltype(standin_is_traced)>("standin_is_traced");
inline const auto state_readings = find<decltype(standin_state_readings)>("standin_state_readings");
inline const auto has_default_clock =
    find<decltype(standin_has_default_clock)>("standin_has_default_clock");
inline const auto are_zeros_promised =
    find<decltype(standin_are_zeros_promised)>("standin_are_zeros_promised");

// Sets, for one scope, which fault the stand-in simulates.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Setting() { unsetenv(name_); }

 private:
  const char* name_;
};

// A recorder is never destroyed, so the pointers to it are kept too.
inline std::vector<Recorder*>& recorders() {
  static auto& all = *new std::vector<Recorder*>;
  return all;
}

inline Recorder& make_recorder() {
  const std::string path = "/tmp/gpu_recording_test." + std::to_string(::getpid()) + "." +
                           std::to_string(recorders().size());
  recorders().push_back(new Recorder(path, size_t{4} << 20, 50'000'000));
  ::unlink(path.c_str());
  return *recorders().back();
}

struct Result {
  std::string refusal;
  GpuTotalsSnapshot totals;
  GpuFigures figures;
};

template <class Program>
Result record(Program program) {
  static auto& recordings = *new std::vector<GpuRecording*>;
  Recorder& recorder = make_recorder();
  recordings.push_back(new GpuRecording(recorder, {}, false));
  GpuRecording& recording = *recordings.back();
  Result result;
  if (const auto fault = recording.start(); fault) {
    result.refusal = fault->reason;
  } else {
    program(recorder);
  }
  recording.stop();
  result.totals = recording.totals();
  result.figures = recording.figures();
  recorder.close();
  return result;
}

inline void launch_many(int count, uint32_t stream) {
  for (int i = 0; i < count; ++i)
    launch("kernel", kKernelNs, stream);
  synchronize(stream);
}

inline void check_left_clean() {
  CHECK_EQUAL(kinds(), uint64_t{0});
  CHECK_EQUAL(is_subscribed(), 0U);
  CHECK_EQUAL(are_zeros_promised(), 0U);
}

inline void use_standin() {
  setenv("PERFPROBE_CUPTI", STANDIN, 1);
  setenv("PERFPROBE_NVML", STANDIN, 1);
  setenv("PERFPROBE_ASSUME_DRIVER", "1", 1);
}

}  // namespace perfprobe::test
