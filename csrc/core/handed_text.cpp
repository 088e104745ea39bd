#include "core/handed_text.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace perfprobe {
namespace {

// Writes without moving the offset, which the reader shares.
bool write_all(int descriptor, std::string_view text) {
  for (off_t at = 0; at < static_cast<off_t>(text.size());) {
    const std::string_view rest = text.substr(static_cast<size_t>(at));
    const ssize_t written = ::pwrite(descriptor, rest.data(), rest.size(), at);
    if (written < 0 && errno != EINTR)
      return false;
    at += written < 0 ? 0 : written;
  }
  return true;
}

}  // namespace

int handed_text(std::string_view text) {
  constexpr int kLowest = 3;  // in the new process, lower numbers are its standard streams
  const int made = ::memfd_create("perfprobe", MFD_CLOEXEC);
  int descriptor = made < 0 ? -1 : ::fcntl(made, F_DUPFD_CLOEXEC, kLowest);
  int error = errno;
  if (made >= 0)
    ::close(made);
  if (descriptor >= 0 && !write_all(descriptor, text)) {
    error = errno;
    ::close(descriptor);
    descriptor = -1;
  }
  errno = error;
  return descriptor;
}

}  // namespace perfprobe
