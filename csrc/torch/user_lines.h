// From a Python stack to the line of the user's code it stands on, as ranges show it. Cold.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "python/frames.h"
#include "python/user_code.h"

namespace perfprobe {

class UserLines {
 public:
  // As those of UserCode. Under the GIL, as `find`.
  void set_folders(std::vector<std::pair<std::string, bool>> folders) {
    users_.set_folders(std::move(folders));
  }

  // "train.py:31 attention" of the innermost frame of the user's; empty when there is none. With
  // `in_backward` only frames inside of the autograd engine's call count. Needs the GIL.
  [[nodiscard]] std::string find(const FrameList& frames, bool in_backward) const;

 private:
  UserCode users_;
};

}  // namespace perfprobe
