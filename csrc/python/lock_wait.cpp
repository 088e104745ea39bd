#include "python/lock_wait.h"

#include <charconv>
#include <dlfcn.h>
#include <string>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>

#include <link.h>

namespace perfprobe {
namespace {

std::string file_of(int64_t os_thread) {
  return "/proc/self/task/" + std::to_string(os_thread) + "/syscall";
}

// Empty if Python does not export it.
AddressRange python_runtime() {
  Dl_info library{};
  void* symbol = nullptr;
  void* const runtime = ::dlsym(RTLD_DEFAULT, "_PyRuntime");
  if (runtime == nullptr || ::dladdr1(runtime, &library, &symbol, RTLD_DL_SYMENT) == 0 ||
      symbol == nullptr)
    return {};
  return {address_of(runtime), static_cast<const ElfW(Sym)*>(symbol)->st_size};
}

}  // namespace

bool is_futex_in(std::string_view text, const AddressRange& range) {
  constexpr std::string_view kHex = " 0x";
  if (take_number(text) != SYS_futex || !text.starts_with(kHex))
    return false;
  text.remove_prefix(kHex.size());
  uintptr_t address = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), address, /*base=*/16);
  return error == std::errc() && range.holds(address, sizeof(int32_t));
}

LockWait::LockWait() : runtime_(python_runtime()) {
  // Of the calling thread it says "running".
  is_known_ = runtime_.bytes > 0 && !file_.read(file_of(::syscall(SYS_gettid))).empty();
}

bool LockWait::waits(int64_t os_thread) {
  return is_known_ && is_futex_in(file_.read(file_of(os_thread)), runtime_);
}

}  // namespace perfprobe
