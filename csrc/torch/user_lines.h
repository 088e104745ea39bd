// From a Python stack to the line of the user's code it stands on, as ranges show it. Cold.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "python/frames.h"

namespace perfprobe {

class UserLines {
 public:
  // Folders with whether what lies in them is the user's; the one that reaches deepest decides.
  // What lies in none is the user's. Under the GIL, as `find`.
  void set_folders(std::vector<std::pair<std::string, bool>> folders) {
    folders_ = std::move(folders);
  }

  // "train.py:31 attention" of the innermost frame of the user's; empty when there is none. With
  // `in_backward` only frames inside of the autograd engine's call count. Needs the GIL.
  [[nodiscard]] std::string find(const FrameList& frames, bool in_backward) const;

 private:
  [[nodiscard]] bool is_users(std::string_view path) const;

  std::vector<std::pair<std::string, bool>> folders_;
};

}  // namespace perfprobe
