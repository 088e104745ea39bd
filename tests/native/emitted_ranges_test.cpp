// Ranges that perfprobe emits, as received by the listening tools of the tests.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "check.h"
#include "gpu/itt_ranges.h"
#include "gpu/nvtx_ranges.h"
#include "gpu/own_ranges.h"

namespace itt = perfprobe::itt;
namespace nvtx = perfprobe::nvtx;

namespace {

// What a listening tool with its own log received since the last call, without process and thread.
class Listening {
 public:
  Listening(const char* variable, const char* listener, const std::string& log) : log_(log) {
    ::setenv(variable, listener, 1);
    ::setenv("PERFPROBE_LISTENER_LOG", log_.c_str(), 1);  // read when the tool is loaded
  }

  std::string take_heard() {
    std::ifstream log(log_);
    log.seekg(read_until_);
    std::string all, process, thread, event;
    while (log >> process >> thread && std::getline(log >> std::ws, event))
      all += event + "\n";
    read_until_ = static_cast<std::streamoff>(std::filesystem::file_size(log_));
    return all;
  }

 private:
  std::string log_;
  std::streamoff read_until_ = 0;
};

void an_itt_collector_receives_all_ranges(Listening& tool) {
  CHECK(itt::is_listening());
  const itt::Message work = itt::message("work");
  itt::push(work, 5);
  itt::pop();
  const uint64_t range = itt::start(work);
  itt::end(range);
  itt::end(0);
  itt::mark(work);
  CHECK_EQUAL(tool.take_heard(),
              "domain perfprobe\npush work\npop \nbegin 1 work\nend 1\nmark work\n");
}

#ifdef NVTX_LISTENER
void an_nvtx_tool_receives_all_ranges(Listening& tool) {
  CHECK(nvtx::is_listening());
  const nvtx::Message work = nvtx::message("work");
  nvtx::push(work, 5);
  nvtx::pop();
  nvtx::end(nvtx::start(work));
  nvtx::mark(work);
  CHECK_EQUAL(tool.take_heard(),
              "domain perfprobe\ntext work\npush work\npayload 5\npop \nbegin 101 work\nend 101\n"
              "mark work\n");
}
#else
void nvtx_is_missing() {
  CHECK(!nvtx::is_listening());
  CHECK_EQUAL(nvtx::start(nvtx::message("nobody")), uint64_t{0});
}
#endif

// perfprobe.range without a recording.
void set_own_ranges() {
  CHECK(perfprobe::own_ranges::is_wanted());
  for (int i = 0; i < 2; ++i)
    perfprobe::own_ranges::end(perfprobe::own_ranges::begin("mine"));
}

}  // namespace

int main() {
  char pattern[] = "/tmp/perfprobe-test-XXXXXX";
  const std::string folder = ::mkdtemp(pattern);
  Listening itt_tool("INTEL_LIBITTNOTIFY64", ITT_LISTENER, folder + "/itt");
  an_itt_collector_receives_all_ranges(itt_tool);
#ifdef NVTX_LISTENER
  Listening nvtx_tool("NVTX_INJECTION64_PATH", NVTX_LISTENER, folder + "/nvtx");
  an_nvtx_tool_receives_all_ranges(nvtx_tool);
  set_own_ranges();
  CHECK_EQUAL(nvtx_tool.take_heard(),
              "text mine\npush mine\npayload 0\npop \npush mine\npayload 0\npop \n");
#else
  nvtx_is_missing();
  set_own_ranges();
#endif
  CHECK_EQUAL(itt_tool.take_heard(), "push mine\npop \npush mine\npop \n");
  std::filesystem::remove_all(folder);
  return perfprobe::test::report();
}
