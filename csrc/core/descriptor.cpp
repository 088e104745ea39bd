#include "core/descriptor.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <utility>

#include <linux/perf_event.h>

namespace perfprobe {
namespace {

// Below the usual limit of 1,024. Higher numbers make the kernel's table larger, which each fork
// copies. If none is free or allowed there, lower numbers are tried; -1 if only lower ones than now
// are left.
int duplicate_high(int number) {
  constexpr int kHigh = 960;
  for (int lowest = kHigh; lowest > number; lowest /= 2) {
    const int high = ::fcntl(number, F_DUPFD_CLOEXEC, lowest);
    if (high >= 0)
      return high;
  }
  return -1;
}

}  // namespace

Descriptor::Descriptor(int opened, Kind kind) : number_(opened), kind_(kind) {
  if (opened < 0)
    return;
  identity_ = identity(opened, kind);
  const int high = duplicate_high(opened);
  if (high < 0)
    return;
  const bool is_ours = number() >= 0;  // else the program's file may have been duplicated
  ::close(is_ours ? opened : high);
  number_ = is_ours ? high : -1;
}

Descriptor::Descriptor(Descriptor&& other) noexcept
    : number_(std::exchange(other.number_, -1)), kind_(other.kind_), identity_(other.identity_) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  std::swap(kind_, other.kind_);
  std::swap(identity_, other.identity_);
  other.close();
  return *this;
}

Descriptor Descriptor::open(const std::string& path, int flags, mode_t mode) {
  return Descriptor(::open(path.c_str(), flags | O_CLOEXEC, mode));
}

int Descriptor::number() const {
  return number_ >= 0 && identity_.inode != 0 && identity(number_, kind_) == identity_ ? number_
                                                                                       : -1;
}

void Descriptor::close() {
  const int error = errno;
  if (number() >= 0)
    ::close(number_);
  number_ = -1;
  errno = error;
}

// Old sandboxes refuse statx, with an error other than EBADF.
Descriptor::Identity Descriptor::identity(int number, Kind kind) {
  struct statx status{};
  if (::statx(number, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO | STATX_BTIME, &status) ==
      0)
    return {::makedev(status.stx_dev_major, status.stx_dev_minor), status.stx_ino,
            status.stx_btime.tv_sec, status.stx_btime.tv_nsec, id(number, kind)};
  struct stat older{};
  if (errno == EBADF || ::fstat(number, &older) != 0)
    return {};
  return {older.st_dev, older.st_ino, 0, 0, id(number, kind)};
}

uint64_t Descriptor::id(int number, Kind kind) {
  uint64_t found = 0;
  socklen_t size = sizeof found;
  if (kind == Kind::socket)
    ::getsockopt(number, SOL_SOCKET, SO_COOKIE, &found, &size);
  if (kind == Kind::perf_event)
    ::ioctl(number, PERF_EVENT_IOC_ID, &found);
  return found;
}

}  // namespace perfprobe
