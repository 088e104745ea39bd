// Ranges that perfprobe emits, as listeners of our own hear them.
#include <cstdlib>
#include <dlfcn.h>
#include <string>

#include "check.h"
#include "gpu/itt_ranges.h"
#include "gpu/nvtx_ranges.h"

namespace itt = perfprobe::itt;
namespace nvtx = perfprobe::nvtx;

namespace {

// In this process the listener lies where NVTX or ITT loaded it.
std::string take_heard(const char* listener) {
  void* library = ::dlopen(listener, RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr)
    return "not loaded";
  return reinterpret_cast<const char* (*)()>(::dlsym(library, "take_heard"))();
}

void an_itt_collector_hears_all() {
  ::setenv("INTEL_LIBITTNOTIFY64", ITT_LISTENER, 1);
  CHECK(itt::is_listening());
  const itt::Message work = itt::message("work");
  itt::push(work, 5);
  itt::pop();
  const uint64_t range = itt::start(work);
  itt::end(range);
  itt::end(0);
  itt::mark(work);
  CHECK_EQUAL(take_heard(ITT_LISTENER),
              "domain perfprobe\npush work\npop\nstart work 1\nend 1\nmark work\n");
}

void an_nvtx_tool_hears_all() {
#ifdef NVTX_LISTENER
  ::setenv("NVTX_INJECTION64_PATH", NVTX_LISTENER, 1);
  CHECK(nvtx::is_listening());
  const nvtx::Message work = nvtx::message("work");
  nvtx::push(work, 5);
  nvtx::pop();
  nvtx::end(nvtx::start(work));
  nvtx::mark(work);
  CHECK_EQUAL(take_heard(NVTX_LISTENER),
              "domain perfprobe\npush work 5\npop\nstart work\nend 7\nmark work\n");
#else
  CHECK(!nvtx::is_listening());
  CHECK_EQUAL(nvtx::start(nvtx::message("nobody")), uint64_t{0});
#endif
}

}  // namespace

int main() {
  an_itt_collector_hears_all();
  an_nvtx_tool_hears_all();
  return perfprobe::test::report();
}
