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

Descriptor::Descriptor(int opened, Kind kind) : kind_(kind) {
  if (opened >= 0)
    take(opened, identity(opened, kind));
}

// On the way there the program may have closed it and opened its own file: then nothing is owned.
void Descriptor::take(int opened, const Identity& expected) {
  identity_ = expected;
  const bool has_id = kind_ == Kind::file || expected.id != 0;
  if (!has_id || !is_at(opened)) {
    errno = EBADF;
    return;
  }
  const int high = duplicate_high(opened);
  if (high < 0) {
    number_ = opened;
    return;
  }
  if (is_at(opened)) {
    ::close(opened);
    number_ = high;
  } else {
    ::close(high);  // perhaps of the program's file
    errno = EBADF;
  }
}

Descriptor::Descriptor(Descriptor&& other) noexcept
    : number_(std::exchange(other.number_, -1)), kind_(other.kind_), identity_(other.identity_) {}

// If the program closed the old one, the new one may have got its number, even for the same file.
Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  std::swap(kind_, other.kind_);
  std::swap(identity_, other.identity_);
  if (other.number_ == number_)
    other.number_ = -1;
  other.close();
  return *this;
}

Descriptor Descriptor::open(const std::string& path, int flags, mode_t mode) {
  Descriptor file;
  const int opened = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  if (opened < 0)
    return file;
  const Identity there = identity(AT_FDCWD, Kind::file, path.c_str());
  const bool is_gone = there.inode == 0;  // a file of a thread that has just ended
  file.take(opened, is_gone ? identity(opened, Kind::file) : there);
  return file;
}

bool Descriptor::is_at(int number) const {
  return identity_.inode != 0 && identity(number, kind_) == identity_;
}

int Descriptor::number() const {
  return number_ >= 0 && is_at(number_) ? number_ : -1;
}

void Descriptor::close() {
  const int error = errno;
  if (number() >= 0)
    ::close(number_);
  number_ = -1;
  errno = error;
}

// Old sandboxes refuse statx, with an error other than EBADF.
Descriptor::Identity Descriptor::identity(int number, Kind kind, const char* path) {
  constexpr int kFlags = AT_EMPTY_PATH | AT_STATX_DONT_SYNC;
  struct statx status{};
  if (::statx(number, path, kFlags, STATX_INO | STATX_BTIME, &status) == 0)
    return {::makedev(status.stx_dev_major, status.stx_dev_minor), status.stx_ino,
            status.stx_btime.tv_sec, status.stx_btime.tv_nsec, id(number, kind)};
  struct stat older{};
  if (errno == EBADF || ::fstatat(number, path, &older, AT_EMPTY_PATH) != 0)
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
