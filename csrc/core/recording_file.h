// The recording on disk: appended block by block, whole blocks only.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

namespace perfprobe {

constexpr uint16_t kFormatVersion = 1;

// Not thread-safe: its owner locks.
class RecordingFile {
 public:
  // Creates the file; throws std::system_error where it cannot be made or exists already.
  explicit RecordingFile(const std::string& path);

  // False when the disk refuses; the file then ends with the block before, and `refusal` says why.
  bool append(const std::vector<uint8_t>& payload);

  // Takes the last `bytes` off again, to make room on a full disk for something more important.
  // False when the descriptor is the program's by now.
  bool shorten_to(int64_t bytes);

  // The rows will not come for another reason than the disk.
  void refuse(int error) { refusal_ = refusal_ == 0 ? error : refusal_; }

  void close();

  [[nodiscard]] int64_t bytes() const { return bytes_.load(); }
  [[nodiscard]] int refusal() const { return refusal_; }

 private:
  void move_descriptor();
  [[nodiscard]] bool is_ours() const;
  bool write_all(const uint8_t* from, size_t count);

  int descriptor_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  std::atomic<int64_t> bytes_{0};  // read without the owner's lock
  int refusal_ = 0;                // errno of the first refused write
};

}  // namespace perfprobe
