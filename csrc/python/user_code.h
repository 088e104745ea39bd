// Whose code a file is: the user's, or that of Python, torch or a library.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace perfprobe {

class UserCode {
 public:
  // Folders with whether what lies in them is the user's; the one that reaches deepest decides.
  // What lies in none is the user's. Under the GIL, as `holds`.
  void set_folders(std::vector<std::pair<std::string, bool>> folders) {
    folders_ = std::move(folders);
  }

  // Whether the file of this path is the user's.
  [[nodiscard]] bool holds(std::string_view path) const;

 private:
  std::vector<std::pair<std::string, bool>> folders_;
};

}  // namespace perfprobe
