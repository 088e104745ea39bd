// Rows of the table `samples` on their way to the recording.
#pragma once

#include <cstdint>
#include <vector>

#include "core/recorder.h"

namespace perfprobe {

enum class Look : int8_t { read = 0, no_python = 1, failed = 2 };

struct SampleRow {
  int64_t start_ns;
  int64_t end_ns;
  int64_t cpu_ns;  // -1 not known
  int32_t thread;
  int32_t stack;
  int32_t looks;
  Look look;
};

class SampleRows {
 public:
  explicit SampleRows(Recorder& recorder) : recorder_(recorder) {}

  void add(const SampleRow& row) { rows_.push_back(row); }
  // As one block, with the definitions the rows refer to.
  void write();
  [[nodiscard]] int64_t written() const { return written_; }

 private:
  Recorder& recorder_;
  MappedVector<SampleRow> rows_;
  int64_t written_ = 0;
};

}  // namespace perfprobe
