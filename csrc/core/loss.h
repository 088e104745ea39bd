// What was dropped or not recorded, and why: a table like any other, printed by every report.
#pragma once

#include <cstdint>
#include <string>

namespace perfprobe {

struct Loss {
  std::string source;
  std::string reason;
  int64_t count;
  std::string remedy;
};

}  // namespace perfprobe
