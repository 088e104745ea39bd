// Finds the line of the user's code in a Python stack, for the messages of ranges. Only called on
// first sight.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/user_code.h"
#include "python/frames.h"

namespace perfprobe {

class UserLines {
 public:
  // As UserCode::set_folders. Both functions need the GIL.
  void set_folders(std::vector<std::pair<std::string, bool>> folders) {
    users_.set_folders(std::move(folders));
  }

  // Returns "train.py:31 attention" for the innermost user frame; empty if there is none. With
  // `in_backward` only frames inside the call of the autograd engine count. Needs the GIL.
  [[nodiscard]] std::string find(const FrameList& frames, bool in_backward) const;

 private:
  UserCode users_;
};

}  // namespace perfprobe
