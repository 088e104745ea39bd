#include "core/recording_file.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>

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
  if (!make(path)) {
    const int error = refusal_;
    throw std::system_error(error, std::generic_category(), path);
  }
}

// Makes a new file, writes its head and closes the file before it. On failure `refusal_` says why,
// no new file is left, and the file before it is still in use.
bool RecordingFile::make(const std::string& path) {
  Descriptor before = std::move(file_);
  file_ = Descriptor::open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
  refusal_ = file_.is_open() ? 0 : errno;
  uint8_t head[kMagic.size() + sizeof(kFormatVersion)];
  std::memcpy(head, kMagic.data(), kMagic.size());
  put_little_endian(head + kMagic.size(), kFormatVersion);
  if (!file_.is_open() || !write_all(head, sizeof(head)) ||
      !write_all(for_all_.data(), for_all_.size())) {
    refuse(EBADF);
    if (file_.is_open())
      ::unlink(path.c_str());
    file_ = std::move(before);
    return false;
  }
  open_path_ = path;
  bytes_ = static_cast<int64_t>(sizeof(head) + for_all_.size());
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
  const int old_refusal = refusal_;
  bool is_made = false;
  for (int i = 0; i < kTries && !is_made; ++i) {
    ++files_;
    is_made = make(stem + "." + std::to_string(files_) + (has_ending ? std::string(kEnding) : ""));
    if (!is_made && refusal_ != EEXIST)
      break;
  }
  refusal_ = old_refusal;
  return is_made;
}

// If the program has closed the descriptor, the file is opened again. Nothing is lost then. What
// the program has put in its place is neither followed, waited for nor written to.
bool RecordingFile::is_usable() {
  if (!file_.is_lost())
    return file_.is_open();
  Descriptor again = Descriptor::open(open_path_, O_WRONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!again.has_same_file(file_) || ::lseek(again.number(), bytes_, SEEK_SET) < 0)
    return false;
  file_ = std::move(again);
  return true;
}

// A program that opens files in a loop may take the number again while the block is written.
bool RecordingFile::append(const std::vector<uint8_t>& payload) {
  constexpr int kTries = 5;
  uint8_t head[kHeadBytes];
  make_head(payload, head);
  for (int i = 0; i < kTries; ++i) {
    if (is_usable() && write_all(head, sizeof(head)) && write_all(payload.data(), payload.size())) {
      bytes_ += static_cast<int64_t>(sizeof(head) + payload.size());
      return true;
    }
    const bool was_lost = file_.is_lost();
    shorten_to(bytes_);
    if (!was_lost)
      break;
  }
  refuse(EBADF);
  return false;
}

bool RecordingFile::shorten_to(int64_t bytes) {
  if (!is_usable())
    return false;
  // If this fails, a broken last block stays, at which readers stop. Nothing else can be done.
  if (::ftruncate(file_.number(), bytes) == 0)
    ::lseek(file_.number(), bytes, SEEK_SET);
  bytes_ = bytes;
  return true;
}

void RecordingFile::close() {
  file_.close();
}

bool RecordingFile::write_all(const uint8_t* from, size_t count) {
  while (count > 0) {
    const ssize_t written = ::write(file_.number(), from, count);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0) {
      if (written == 0 || errno != EBADF)  // else it may be opened again
        refuse(written == 0 ? ENOSPC : errno);
      return false;
    }
    from += written;
    count -= static_cast<size_t>(written);
  }
  return true;
}

}  // namespace perfprobe
