#include "python/lock_wait.h"

#include <charconv>
#include <dlfcn.h>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <link.h>

#include "core/kernel_files.h"

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

// Of a system call whose number was taken from the text.
std::optional<uintptr_t> first_argument(std::string_view text) {
  constexpr std::string_view kHex = " 0x";
  if (!text.starts_with(kHex))
    return std::nullopt;
  text.remove_prefix(kHex.size());
  uintptr_t value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, /*base=*/16);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

// Whether reading it waits for a disk.
bool is_file(std::optional<uintptr_t> descriptor) {
  struct stat about{};
  return !descriptor || ::fstat(static_cast<int>(*descriptor), &about) != 0 ||
         S_ISREG(about.st_mode) || S_ISBLK(about.st_mode) || S_ISDIR(about.st_mode);
}

// Of a text of /proc/PID/task/TID/syscall, without the lock. Takes a system call if it is a `read`.
// Outside of system calls it has no number. ARM has none of the older calls.
WaitsFor call_of(std::string_view text) {
  switch (take_number(text)) {
#ifdef SYS_poll
    case SYS_epoll_wait:
    case SYS_poll:
#endif
    case SYS_accept:
    case SYS_accept4:
    case SYS_epoll_pwait:
    case SYS_ppoll:
    case SYS_recvfrom:
    case SYS_recvmmsg:
    case SYS_recvmsg:
      return WaitsFor::message;
#ifdef SYS_select
    case SYS_select:
#endif
    case SYS_pselect6:  // of no descriptors: a sleep
      return first_argument(text) == 0 ? WaitsFor::other : WaitsFor::message;
    case SYS_read:
    case SYS_readv:
      return is_file(first_argument(text)) ? WaitsFor::other : WaitsFor::message;
    case SYS_futex:
      return WaitsFor::thread;
    default:
      return WaitsFor::other;
  }
}

}  // namespace

bool is_futex_in(std::string_view text, const AddressRange& range) {
  if (take_number(text) != SYS_futex)
    return false;
  const std::optional<uintptr_t> address = first_argument(text);
  return address && range.holds(*address, sizeof(int32_t));
}

std::string_view LockWait::text_of(int64_t os_thread) {
  if (std::exchange(os_thread_, os_thread) != os_thread)
    file_ = KeptFile(file_of(os_thread));
  return file_.read();
}

LockWait::LockWait() : runtime_(python_runtime()) {
  // Of the calling thread it says "running".
  is_known_ = runtime_.bytes > 0 && !text_of(::syscall(SYS_gettid)).empty();
}

WaitsFor LockWait::of(int64_t os_thread, int64_t ran_ns, int64_t time_ns) {
  constexpr double kRunning = 0.95;
  if (!is_known_)
    return WaitsFor::unknown;
  if (static_cast<double>(ran_ns) >= kRunning * static_cast<double>(time_ns))
    return WaitsFor::other;
  const std::string_view text = text_of(os_thread);
  return is_futex_in(text, runtime_) ? WaitsFor::lock : call_of(text);
}

}  // namespace perfprobe
