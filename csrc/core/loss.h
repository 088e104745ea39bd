// The table of losses: what was dropped or not recorded, and why. Every report prints it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/row_column.h"

namespace perfprobe {

struct Loss {
  std::string source;
  std::string reason;
  int64_t count;
  std::string remedy;

  static constexpr std::string_view kTable = "losses";
  static constexpr auto columns() {
    return std::array{text_column<&Loss::source>("source"), text_column<&Loss::reason>("reason"),
                      column<&Loss::count>("count"), text_column<&Loss::remedy>("remedy")};
  }
};

}  // namespace perfprobe
