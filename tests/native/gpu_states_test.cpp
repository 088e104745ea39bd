// Readings of GPUs' states with a stand-in for the driver and NVML: which devices are read, and
// when. What is read is tested in tests/collect/test_gpu_states.py.
#include "gpu/gpu_states.h"

#include <cstdint>
#include <string>

#include "gpu/cuda_driver.h"
#include "gpu/nvml.h"
#include "on_standin.h"

using namespace perfprobe;
using namespace perfprobe::test;

namespace {

constexpr int64_t kSecondNs = 1'000'000'000;

CudaDriver opened_driver() {
  CudaDriver driver;
  CHECK(!driver.open(dlopen(STANDIN, RTLD_NOW)));
  return driver;
}

// The figures after rounds at these seconds, and when the next one is due.
struct Rounds {
  GpuStateFigures figures;
  int64_t due_ns = 0;
};

Rounds read_at(std::initializer_list<int64_t> seconds) {
  Recorder& recorder = make_recorder();
  const CudaDriver driver = opened_driver();
  GpuStates states(recorder, driver);
  for (const int64_t second : seconds)
    states.read(second * kSecondNs);
  recorder.close();
  return {states.figures(), states.due_ns()};
}

void a_device_is_found_by_its_place_on_the_bus() {
  const Setting devices("STANDIN_DEVICES", "2");
  const Setting buses("STANDIN_BUSES", "59,3");
  const CudaDriver driver = opened_driver();
  Nvml nvml;
  CHECK(!nvml.open());
  CHECK_EQUAL(driver.bus_id(0), "0000:3b:00.0");
  const GpuStateRow first = nvml.read(nvml.find_device(driver.bus_id(0)));
  const GpuStateRow second = nvml.read(nvml.find_device(driver.bus_id(1)));
  CHECK_EQUAL(first.sm_clock_mhz, 1059);
  CHECK_EQUAL(second.sm_clock_mhz, 1003);
  CHECK_EQUAL(second.memory_clock_mhz, 2003);
  CHECK_EQUAL(second.power_mw, 300'003);
  CHECK_EQUAL(second.temperature_c, 43);
  CHECK_EQUAL(second.throttle, 1);
  CHECK_EQUAL(second.utilization_percent, 90);
  CHECK_EQUAL(second.used_bytes, int64_t{3} << 20);
}

void only_devices_in_use_are_read() {
  const Setting devices("STANDIN_DEVICES", "3");
  const Setting contexts("STANDIN_CONTEXTS", "5");
  const uint64_t before = state_readings(2);
  const Rounds rounds = read_at({1, 2});
  CHECK_EQUAL(rounds.figures.readings, 4);
  CHECK_EQUAL(rounds.due_ns, 3 * kSecondNs);
  CHECK_EQUAL(state_readings(2), before);
}

void nvml_is_left_alone_until_a_device_is_in_use() {
  const Setting contexts("STANDIN_CONTEXTS", "0");
  const Setting library("PERFPROBE_NVML", "/nowhere/libnvidia-ml.so.1");
  const Rounds rounds = read_at({1, 2});
  CHECK_EQUAL(rounds.figures.readings, 0);
  CHECK(!rounds.figures.lack);
  CHECK_EQUAL(rounds.due_ns, 3 * kSecondNs);
}

void after_a_slow_round_there_is_a_long_pause() {
  const Setting slow("STANDIN_SLOW_NVML", "60");
  const Rounds rounds = read_at({1, 11});
  CHECK_EQUAL(rounds.figures.readings, 2);
  CHECK_EQUAL(rounds.figures.slow, 2);
  CHECK_EQUAL(rounds.due_ns, 21 * kSecondNs);
}

void without_nvml_nothing_is_read_again(const char* name, const char* value, const char* reason) {
  const Setting setting(name, value);
  const Rounds rounds = read_at({1});
  CHECK(rounds.figures.lack);
  CHECK(rounds.figures.lack->reason.find(reason) != std::string::npos);
  CHECK(rounds.due_ns > int64_t{1} << 62);
  CHECK_EQUAL(rounds.figures.readings, 0);
}

void an_unknown_device_is_refused() {
  const Setting fail("STANDIN_FAIL", "nvmlDeviceGetHandleByPciBusId_v2=6");
  const Rounds rounds = read_at({1, 2});
  CHECK_EQUAL(rounds.figures.readings, 0);
  CHECK_EQUAL(rounds.figures.refused, 2);
}

}  // namespace

int main() {
  use_standin();
  a_device_is_found_by_its_place_on_the_bus();
  only_devices_in_use_are_read();
  nvml_is_left_alone_until_a_device_is_in_use();
  setenv("PERFPROBE_NVML", STANDIN, 1);  // a `Setting` unsets it
  after_a_slow_round_there_is_a_long_pause();
  without_nvml_nothing_is_read_again("PERFPROBE_NVML", "libm.so.6", "has no nvmlInit_v2");
  setenv("PERFPROBE_NVML", STANDIN, 1);
  without_nvml_nothing_is_read_again("STANDIN_FAIL", "nvmlInit_v2=9", "nvmlInit_v2: 9");
  without_nvml_nothing_is_read_again("PERFPROBE_NVML", "/nowhere/nvml.so", "cannot be loaded");
  setenv("PERFPROBE_NVML", STANDIN, 1);
  an_unknown_device_is_refused();
  return perfprobe::test::report();
}
