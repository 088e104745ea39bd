// Collects rows of the table `samples` and writes them to the recording.
#pragma once

#include <cstdint>

#include "core/row_table.h"
#include "cpu/sample_row.h"
#include "cpu/sample_sums.h"

namespace perfprobe {

class SampleRows {
 public:
  explicit SampleRows(Recorder& recorder) : recorder_(recorder) {}

  void add(const SampleRow& row) {
    if (sums_.is_on())
      sums_.hold(row);
    else
      rows_.add(row);
  }
  void write(bool is_last = false) {
    if (sums_.is_on())
      sums_.sort_out(rows_, is_last);
    written_ += static_cast<int64_t>(rows_.size());
    rows_.write(recorder_);
    sums_.write(recorder_, is_last);
  }
  [[nodiscard]] int64_t written() const { return written_; }

 private:
  Recorder& recorder_;
  RowTable<SampleRow> rows_;
  SampleSums sums_;
  int64_t written_ = 0;
};

}  // namespace perfprobe
