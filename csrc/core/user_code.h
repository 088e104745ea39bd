// Decides whether a file is the user's, or of Python, torch or a library.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace perfprobe {

class UserCode {
 public:
  // Sets folders and whether their files are the user's. The deepest folder that contains a file
  // decides. Files in none of them are the user's. Both functions need the GIL.
  void set_folders(std::vector<std::pair<std::string, bool>> folders) {
    folders_ = std::move(folders);
  }

  // Whether the file with this path is the user's.
  [[nodiscard]] bool holds(std::string_view path) const;

 private:
  std::vector<std::pair<std::string, bool>> folders_;
};

}  // namespace perfprobe
