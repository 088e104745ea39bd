// Hashes of the lines of the user's files, by which a report finds a line again after an edit. No
// text is kept.
//
// A file is read once, when a frame in it is first written. One that was changed after the program
// began may not be what runs, so it has no hashes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/mapped_memory.h"
#include "core/user_code.h"

namespace perfprobe {

// 63 bits of a hash (FNV-1a) of the line without blanks at both ends.
int64_t hash_line(std::string_view line);

// When this process began, on the realtime clock, rounded up to the kernel's ticks; 0 if unknown.
int64_t process_began_ns();

// Not thread-safe: the owner locks.
class SourceLines {
 public:
  static constexpr int64_t kUnknown = -1;
  static constexpr int64_t kLargestFile = int64_t{8} << 20;
  static constexpr size_t kMostLines = size_t{1} << 20;  // of all files together

  // Before this, no file is read. `began_ns`: newer files have no hashes.
  void set_folders(std::vector<std::pair<std::string, bool>> folders,
                   int64_t began_ns = process_began_ns());

  // Returns the hash of a line. `path()` returns the path of the file with this id; it is called
  // once for each.
  template <class Path>
  int64_t hash(int32_t file, int32_t line, const Path& path) {
    if (tables_ == nullptr || file < 0)
      return kUnknown;
    auto place = tables_->files.find(file);
    if (place == tables_->files.end())
      place = tables_->files.emplace(file, read(path())).first;
    const Lines& lines = place->second;
    const bool has_line = line > 0 && static_cast<size_t>(line) <= lines.count;
    return has_line ? tables_->hashes[lines.first + static_cast<size_t>(line) - 1] : kUnknown;
  }

 private:
  struct Lines {
    size_t first = 0, count = 0;  // in `hashes`
  };
  struct Tables {
    UserCode users;
    std::string folder;  // the current one when the recording began
    int64_t began_ns = 0;
    MappedPool pool;
    std::pmr::unordered_map<int32_t, Lines> files{pool.resource()};
    MappedVector<int64_t> hashes;
  };

  Lines read(std::string_view path);

  std::unique_ptr<Tables> tables_;
};

}  // namespace perfprobe
