// Rows about a recording as a whole.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/row_column.h"

namespace perfprobe {

// A fact: a key with JSON.
struct MetaRow {
  std::string_view key, value;

  static constexpr std::string_view kTable = "meta";
  static constexpr auto columns() {
    return std::array{text_column<&MetaRow::key>("key"), text_column<&MetaRow::value>("value")};
  }
};

// A heartbeat: if the program is killed, the recording is known to reach up to here.
struct ProgressRow {
  int64_t time_ns, cpu_ns;

  static constexpr std::string_view kTable = "progress";
  static constexpr auto columns() {
    return std::array{column<&ProgressRow::time_ns>("time_ns"),
                      column<&ProgressRow::cpu_ns>("cpu_ns")};
  }
};

// The last block of a recording that was closed properly.
struct EndRow {
  int64_t time_ns;

  static constexpr std::string_view kTable = "end";
  static constexpr auto columns() { return std::array{column<&EndRow::time_ns>("time_ns")}; }
};

}  // namespace perfprobe
