// The recording on disk. Only whole blocks are appended.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/descriptor.h"
#include "core/mapped_memory.h"

namespace perfprobe {

constexpr uint16_t kFormatVersion = 1;

// Not thread-safe: the owner locks.
class RecordingFile {
 public:
  // Creates the file. Throws std::system_error if it exists or cannot be created.
  explicit RecordingFile(const std::string& path);

  // Returns false if the disk refuses. The file then ends with the previous block; `refusal` says
  // why.
  bool append(const std::vector<uint8_t>& payload);
  // Appends what every file of a rotating recording needs: definitions and facts.
  bool append_for_all(const std::vector<uint8_t>& payload);
  // From now on `append_for_all` keeps what it writes.
  void may_rotate() { may_rotate_ = true; }
  // Continues in a new file in the same folder, `run.2.perfprobe` after `run.perfprobe`, and writes
  // the kept definitions and facts there. Returns false if it cannot be made; the old file is then
  // still in use.
  bool rotate();

  // Shortens the file to `bytes`, to make room on a full disk for something more important. Returns
  // false if the program has closed it and it is not found again.
  bool shorten_to(int64_t bytes);

  // Notes that rows are missing for a reason other than the disk.
  void refuse(int error) { refusal_ = refusal_ == 0 ? error : refusal_; }

  void close();

  [[nodiscard]] int64_t bytes() const { return bytes_.load(); }
  [[nodiscard]] int refusal() const { return refusal_; }

 private:
  bool make(const std::string& path);
  bool is_usable();
  bool write_all(const uint8_t* from, size_t count);

  const std::string path_;
  std::string open_path_;  // of the file in use
  Descriptor file_;
  std::atomic<int64_t> bytes_{0};  // read without the owner's lock
  int refusal_ = 0;                // errno of the first refused write
  bool may_rotate_ = false;
  int files_ = 1;
  MappedVector<uint8_t> for_all_;  // whole blocks that every file begins with
};

}  // namespace perfprobe
