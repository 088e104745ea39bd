// A row of the table `module_calls`.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/row_column.h"

namespace perfprobe {

// A thread has called an nn.Module, from outside of other modules. Written at the first operator
// that runs in the call.
struct ModuleCallRow {
  int64_t start_ns;  // just before that operator
  int32_t thread;
  int32_t module;  // kNone if it has no name
  int32_t stack;   // of that operator

  static constexpr std::string_view kTable = "module_calls";
  static constexpr auto columns() {
    using Row = ModuleCallRow;
    return std::array{column<&Row::start_ns>("start_ns"), column<&Row::thread>("thread"),
                      column<&Row::module>("module"), column<&Row::stack>("stack")};
  }
};

}  // namespace perfprobe
