#include "core/recording_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "core/checksum.h"

namespace perfprobe {
namespace {

constexpr std::string_view kMagic = "PERFPROBE\n";
constexpr uint32_t kBlockMarker = 0x4B4C4250;  // "PBLK" in the file

template <class T>
void put_little_endian(uint8_t* to, T value) {
  std::memcpy(to, &value, sizeof(value));
}

}  // namespace

RecordingFile::RecordingFile(const std::string& path)
    : descriptor_(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) {
  if (descriptor_ < 0)
    throw std::system_error(errno, std::generic_category(), path);
  move_descriptor();
  struct stat status{};
  if (::fstat(descriptor_, &status) == 0) {
    device_ = status.st_dev;
    inode_ = status.st_ino;
  }
  uint8_t head[kMagic.size() + sizeof(kFormatVersion)];
  std::memcpy(head, kMagic.data(), kMagic.size());
  put_little_endian(head + kMagic.size(), kFormatVersion);
  if (!write_all(head, sizeof(head))) {
    const int error = refusal_;
    ::close(descriptor_);
    ::unlink(path.c_str());
    throw std::system_error(error, std::generic_category(), path);
  }
  bytes_ = sizeof(head);
}

// Moves the descriptor to a high number: the program's files must get the same low numbers as
// without perfprobe.
void RecordingFile::move_descriptor() {
  constexpr int kLowest = 100;
  const int moved = ::fcntl(descriptor_, F_DUPFD_CLOEXEC, kLowest);
  if (moved < 0)
    return;  // the limit on descriptors is low: it stays where it is
  ::close(descriptor_);
  descriptor_ = moved;
}

// A program may close all descriptors it does not know (daemons do) and reuse the number for its
// own file, which must never be written to.
bool RecordingFile::is_ours() const {
  struct stat status{};
  return ::fstat(descriptor_, &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
}

bool RecordingFile::append(const std::vector<uint8_t>& payload) {
  if (!is_ours()) {
    if (refusal_ == 0)
      refusal_ = EBADF;
    return false;
  }
  uint8_t head[12];
  put_little_endian(head, kBlockMarker);
  put_little_endian(head + 4, static_cast<uint32_t>(payload.size()));
  put_little_endian(head + 8, crc32(payload.data(), payload.size()));
  if (!write_all(head, sizeof(head)) || !write_all(payload.data(), payload.size())) {
    shorten_to(bytes_);
    return false;
  }
  bytes_ += static_cast<int64_t>(sizeof(head) + payload.size());
  return true;
}

bool RecordingFile::shorten_to(int64_t bytes) {
  if (!is_ours())
    return false;
  // If this fails, a broken last block stays, at which readers stop. Nothing else can be done.
  if (::ftruncate(descriptor_, bytes) == 0)
    ::lseek(descriptor_, bytes, SEEK_SET);
  bytes_ = bytes;
  return true;
}

void RecordingFile::close() {
  if (is_ours())
    ::close(descriptor_);
  descriptor_ = -1;
}

bool RecordingFile::write_all(const uint8_t* from, size_t count) {
  while (count > 0) {
    const ssize_t written = ::write(descriptor_, from, count);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0) {
      if (refusal_ == 0)
        refusal_ = written < 0 ? errno : ENOSPC;
      return false;
    }
    from += written;
    count -= static_cast<size_t>(written);
  }
  return true;
}

}  // namespace perfprobe
