// Holds samples back until their step ends: those of kept steps become rows, all others are added
// up by thread and stack.
#pragma once

#include <array>
#include <cstdint>
#include <memory_resource>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/kept_spans.h"
#include "core/mapped_memory.h"
#include "core/row_table.h"
#include "cpu/sample_row.h"

namespace perfprobe {

struct SampleSum {
  int64_t until_ns;
  Fate fate;
  int32_t thread;
  int32_t stack;
  int64_t looks;
  int64_t time_ns;

  static constexpr std::string_view kTable = "sample_sums";
  static constexpr auto columns() {
    using Row = SampleSum;
    return std::array{column<&Row::until_ns>("until_ns"), column<&Row::fate>("fate"),
                      column<&Row::thread>("thread"),     column<&Row::stack>("stack"),
                      column<&Row::looks>("looks"),       column<&Row::time_ns>("time_ns")};
  }
};

// Not thread-safe.
class SampleSums {
 public:
  // Whether samples are held back. May change when the log of steps starts.
  [[nodiscard]] bool is_on() { return KeptSpans::instance().is_on(); }
  void hold(const SampleRow& row) { held_.push_back(row); }
  // Moves the samples of kept steps to `kept`, and adds up the others. is_last: no step is running.
  void sort_out(RowTable<SampleRow>& kept, bool is_last);
  // Writes the sums if they are due. is_last: in any case.
  void write(Recorder& recorder, bool is_last);

 private:
  struct Key {
    int32_t thread, stack;
    Fate fate;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const;
  };
  static constexpr size_t kMost = 32'768;
  static constexpr size_t kMostHeld = 65'536;
  static constexpr size_t kFirst = 65'536;

  [[nodiscard]] Fate fate_at(int64_t time_ns) const;
  void add(const SampleRow& row, Fate fate);

  MappedPool pool_;
  std::pmr::unordered_map<Key, SampleSum, Hash> sums_{pool_.resource()};
  MappedVector<SampleRow> held_;
  std::vector<KeptSpans::Span> spans_;  // those in which held samples may lie, by time
  int64_t decided_ns_ = -1;             // end of the latest step; -1 if none has ended
  size_t before_first_ = 0;             // number of samples kept from before the first step
  int64_t sums_due_ = 0;
  int64_t sums_written_ = 0;
};

}  // namespace perfprobe
