// Matches begin and end events, thread by thread, and makes rows of the table `ranges`. Not
// thread-safe: the owner locks.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory_resource>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/row_table.h"
#include "core/thread_rows.h"
#include "gpu/range_event.h"
#include "gpu/range_names.h"

namespace perfprobe {

struct OpenRange {
  int64_t start_ns;
  int64_t id;
  int32_t thread;  // row of the table `threads`
  int32_t name;
  int32_t domain;
  RangeSource source;
  bool is_outside;  // not written
};

// The matcher's state of each thread.
struct MatchedThread {
  int64_t os_thread = 0;
  char kernel_name[16] = "";
  int32_t row = kNone;
  int64_t excess = 0;  // pushes beyond those that are kept
  MappedVector<OpenRange> open;
};

struct RangeRow {
  int64_t start_ns;
  int64_t end_ns;  // -1: still open
  int32_t thread;
  int32_t name;  // this and the following: ids of the recording's strings
  int32_t domain;
  RangeSource source;
  RangeKind kind;

  static constexpr std::string_view kTable = "ranges";
  static constexpr auto columns() {
    return std::array{column<&RangeRow::start_ns>("start_ns"), column<&RangeRow::end_ns>("end_ns"),
                      column<&RangeRow::thread>("thread"),     column<&RangeRow::name>("name"),
                      column<&RangeRow::domain>("domain"),     column<&RangeRow::source>("source"),
                      column<&RangeRow::kind>("kind")};
  }
};

struct RangeFigures {
  int64_t rows[kRangeSources] = {};
  int64_t open = 0;       // written without an end
  int64_t unmatched = 0;  // ends of ranges that began before the recording, or never
  int64_t too_many = 0;   // open at once beyond the limit
  int64_t beyond = 0;     // rows beyond `kMostRows`
  int64_t lost = 0;       // out of memory
  int64_t other = 0;      // rows with a name beyond `RangeNames::kMost`
};

class RangeMatcher {
 public:
  static constexpr size_t kDeepest = 4096;
  static constexpr size_t kMostFree = 65'536;
  // For each source and domain: oneDNN alone makes thousands of ranges a second.
  static constexpr int64_t kMostRows = 1'000'000;

  RangeMatcher(Recorder& recorder, RangeNames& names) : recorder_(recorder), names_(names) {}

  void take(MatchedThread& thread, const RangeEvent& event);
  // All threads' events have been taken. An end whose start is not known by the second round has
  // none.
  void end_round();
  // Writes the ranges that are open on a thread that has ended, or at the end of the recording.
  void write_open(MatchedThread& thread);
  void write_free();
  void name_thread(int64_t os_thread, int32_t name);
  void write() { rows_.write(recorder_); }
  [[nodiscard]] size_t pending_rows() const { return rows_.size(); }
  [[nodiscard]] const RangeFigures& figures() const { return figures_; }

 private:
  struct LateEnd {
    int64_t time_ns;
    int64_t id;
    int rounds;
  };

  OpenRange opened(MatchedThread& thread, const RangeEvent& event);
  void push(MatchedThread& thread, const RangeEvent& event);
  void pop(MatchedThread& thread, const RangeEvent& event);
  void start(MatchedThread& thread, const RangeEvent& event);
  bool end(int64_t id, int64_t time_ns);
  void add(const OpenRange& range, int64_t end_ns, RangeKind kind);
  void add_open(const OpenRange& range, RangeKind kind);
  int32_t thread_row(MatchedThread& thread);
  int32_t string(int32_t name);

  Recorder& recorder_;
  RangeNames& names_;
  RangeFigures figures_;
  MappedPool pool_;
  RowTable<RangeRow> rows_;
  MappedVector<int32_t> strings_;  // by number of RangeNames
  MappedVector<LateEnd> late_;
  std::pmr::unordered_map<int64_t, OpenRange> free_{pool_.resource()};
  std::pmr::map<std::pair<RangeSource, int32_t>, int64_t> counts_{pool_.resource()};
  std::pmr::unordered_map<int64_t, int32_t> thread_names_{pool_.resource()};
  ThreadRows thread_rows_{recorder_};
};

}  // namespace perfprobe
