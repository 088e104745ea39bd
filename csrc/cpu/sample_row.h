// A row of the table `samples`.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/row_column.h"
#include "python/lock_wait.h"

namespace perfprobe {

enum class Look : int8_t { read = 0, no_python = 1, failed = 2 };

struct SampleRow {
  int64_t start_ns;
  int64_t end_ns;
  int64_t cpu_ns;    // -1 not known
  int64_t wait_ns;   // for a processor; -1 not known
  int64_t clock_ns;  // the thread's CPU clock at the last look
  int32_t thread;
  int32_t stack;
  int32_t looks;
  int32_t lock_looks;  // those that found it waiting for Python's global lock; -1 not known
  Look look;
  WaitsFor waits_for;

  static constexpr std::string_view kTable = "samples";
  static constexpr auto columns() {
    return std::array{
        column<&SampleRow::start_ns>("start_ns"),  column<&SampleRow::end_ns>("end_ns"),
        column<&SampleRow::thread>("thread"),      column<&SampleRow::stack>("stack"),
        column<&SampleRow::look>("look"),          column<&SampleRow::looks>("looks"),
        column<&SampleRow::cpu_ns>("cpu_ns"),      column<&SampleRow::lock_looks>("lock_looks"),
        column<&SampleRow::wait_ns>("wait_ns"),    column<&SampleRow::clock_ns>("clock_ns"),
        column<&SampleRow::waits_for>("waits_for")};
  }
};

}  // namespace perfprobe
