// Ranges that perfprobe emits without a listening tool, or with a library that is none, have no
// effect.
#include <cstdlib>

#include "check.h"
#include "gpu/itt_ranges.h"
#include "gpu/nvtx_ranges.h"
#include "gpu/own_ranges.h"

namespace itt = perfprobe::itt;
namespace nvtx = perfprobe::nvtx;
namespace own_ranges = perfprobe::own_ranges;

int main() {
  ::setenv("INTEL_LIBITTNOTIFY64", "/no/such/library.so", 1);
  ::setenv("NVTX_INJECTION64_PATH", "/no/such/library.so", 1);
  CHECK(!itt::is_listening());
  CHECK(!nvtx::is_listening());
  CHECK_EQUAL(itt::message("x") == nullptr && nvtx::message("x") == nullptr, true);
  itt::push(nullptr);
  itt::pop();
  itt::end(itt::start(nullptr));
  itt::mark(nullptr);
  nvtx::push(nullptr);
  nvtx::pop();
  nvtx::end(nvtx::start(nullptr));
  nvtx::mark(nullptr);
  CHECK(!own_ranges::is_wanted());
  CHECK_EQUAL(own_ranges::begin("x"), int64_t{0});
  own_ranges::end(0);
  return perfprobe::test::report();
}
