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

constexpr size_t kHeadBytes = 12;  // of a block

void make_head(const std::vector<uint8_t>& payload, uint8_t* head) {
  put_little_endian(head, kBlockMarker);
  put_little_endian(head + 4, static_cast<uint32_t>(payload.size()));
  put_little_endian(head + 8, crc32(payload.data(), payload.size()));
}

}  // namespace

RecordingFile::RecordingFile(const std::string& path) : path_(path) {
  if (!open(path)) {
    const int error = refusal_;
    throw std::system_error(error, std::generic_category(), path);
  }
}

// Makes a new file and writes its head. On failure `refusal_` says why, and no file is left.
bool RecordingFile::open(const std::string& path) {
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor_ < 0) {
    refusal_ = errno;
    return false;
  }
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
    ::close(descriptor_);
    ::unlink(path.c_str());
    return false;
  }
  bytes_ = sizeof(head);
  return true;
}

bool RecordingFile::append_for_all(const std::vector<uint8_t>& payload) {
  const bool written = append(payload);
  if (!written || !may_rotate_)
    return written;
  uint8_t head[kHeadBytes];
  make_head(payload, head);
  for_all_.insert(for_all_.end(), head, head + kHeadBytes);
  for_all_.insert(for_all_.end(), payload.begin(), payload.end());
  return true;
}

bool RecordingFile::rotate() {
  constexpr int kTries = 100;  // names that already exist are skipped
  constexpr std::string_view kEnding = ".perfprobe";
  const bool has_ending = path_.ends_with(kEnding);
  const std::string stem = path_.substr(0, path_.size() - (has_ending ? kEnding.size() : 0));
  const int old = descriptor_;
  const dev_t old_device = device_;
  const ino_t old_inode = inode_;
  const int64_t old_bytes = bytes_;
  const int old_refusal = refusal_;
  bool is_open = false;
  for (int i = 0; i < kTries && !is_open; ++i) {
    ++files_;
    is_open = open(stem + "." + std::to_string(files_) + (has_ending ? std::string(kEnding) : ""));
    if (!is_open && refusal_ != EEXIST)
      break;
  }
  if (is_open && write_all(for_all_.data(), for_all_.size())) {
    bytes_ += static_cast<int64_t>(for_all_.size());
    refusal_ = old_refusal;
    ::close(old);
    return true;
  }
  if (is_open)
    ::close(descriptor_);
  descriptor_ = old;
  device_ = old_device;
  inode_ = old_inode;
  bytes_ = old_bytes;
  refusal_ = old_refusal;
  return false;
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
  uint8_t head[kHeadBytes];
  make_head(payload, head);
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
