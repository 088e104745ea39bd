// Counts events of all threads of the process: cycles, instructions, misses, stalls, page faults,
// switches. The recorder's writer reads them every few milliseconds.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/recorder.h"
#include "core/row_table.h"
#include "core/thread_rows.h"
#include "cpu/perf/memory_traffic.h"
#include "cpu/perf/thread_counters.h"

namespace perfprobe {

// What a thread did between two readings. -1: not counted. `enabled_ns` is how long the thread ran,
// `core_ns` and others how long of that each group counted.
struct CounterRow {
  int64_t start_ns, end_ns;
  int64_t cpu_ns;
  int64_t page_faults, context_switches, migrations;
  int64_t cycles, instructions, branches, branch_misses;
  int64_t cache_references, cache_misses, l1_misses;
  int64_t frontend_stalls, backend_stalls;
  int64_t enabled_ns, core_ns, cache_ns, stalls_ns;
  int32_t thread;

  static constexpr std::string_view kTable = "counters";
  static constexpr auto columns() {
    using Row = CounterRow;
    return std::array{column<&Row::start_ns>("start_ns"),
                      column<&Row::end_ns>("end_ns"),
                      column<&Row::thread>("thread"),
                      column<&Row::cpu_ns>("cpu_ns"),
                      column<&Row::page_faults>("page_faults"),
                      column<&Row::context_switches>("context_switches"),
                      column<&Row::migrations>("migrations"),
                      column<&Row::cycles>("cycles"),
                      column<&Row::instructions>("instructions"),
                      column<&Row::branches>("branches"),
                      column<&Row::branch_misses>("branch_misses"),
                      column<&Row::cache_references>("cache_references"),
                      column<&Row::cache_misses>("cache_misses"),
                      column<&Row::l1_misses>("l1_misses"),
                      column<&Row::frontend_stalls>("frontend_stalls"),
                      column<&Row::backend_stalls>("backend_stalls"),
                      column<&Row::enabled_ns>("enabled_ns"),
                      column<&Row::core_ns>("core_ns"),
                      column<&Row::cache_ns>("cache_ns"),
                      column<&Row::stalls_ns>("stalls_ns")};
  }
};

// Bytes that all processes of the machine moved between two readings.
struct MemoryTrafficRow {
  int64_t start_ns, end_ns, read_bytes, written_bytes;

  static constexpr std::string_view kTable = "memory_traffic";
  static constexpr auto columns() {
    using Row = MemoryTrafficRow;
    return std::array{column<&Row::start_ns>("start_ns"), column<&Row::end_ns>("end_ns"),
                      column<&Row::read_bytes>("read_bytes"),
                      column<&Row::written_bytes>("written_bytes")};
  }
};

struct CounterFigures {
  int64_t interval_ns, readings, cpu_ns;
  int64_t threads;         // threads that were counted
  int64_t unread_threads;  // not counted: beyond the limit, or no file descriptors were left
  int64_t times_closed;    // how often the program closed counters, which were opened again
};

// Never destroyed: the writer may still call it.
class PerfCounters {
 public:
  PerfCounters(Recorder& recorder, int64_t interval_ns, const std::string& root = "/",
               OpenEvent open = &open_event);
  PerfCounters(const PerfCounters&) = delete;
  PerfCounters& operator=(const PerfCounters&) = delete;

  // Starts counting on all threads. `allowed` and `traffic_refused` say what is not counted.
  void start();
  // Reads the counters a last time.
  void stop();

  [[nodiscard]] const std::array<AllowedEvent, kCounterEvents>& allowed() const { return allowed_; }
  // Why memory bandwidth is not read; empty if it is.
  [[nodiscard]] const Refusal& traffic_refused() const { return traffic_refused_; }
  [[nodiscard]] CounterFigures figures() const { return figures_; }

 private:
  struct Known {
    int32_t row = kNone;
    int64_t cpu_ns = 0;
    int64_t since_ns = 0;
    ThreadCounters counters;
    CounterValues before{};
  };
  static void ring(void* self);
  void beat();
  void list();
  void follow(int64_t os_thread);
  void read();
  bool read_thread(int64_t os_thread, Known& known, int64_t now_ns);
  void start_counters(int64_t os_thread, Known& known);
  void start_traffic();
  void read_traffic(int64_t now_ns);
  void write();

  static constexpr size_t kMostThreads = 64;
  static constexpr int64_t kListNs = 250'000'000;  // between searches for new threads
  static constexpr int64_t kWriteNs = 500'000'000;
  static constexpr int64_t kMostCost = 100;  // readings take at most 1 / kMostCost of the time
  static constexpr int64_t kLongestNs = 100'000'000;  // between readings while no thread runs
  static constexpr int64_t kRowsToRarer = 1'048'576;

  Recorder& recorder_;
  const OpenEvent open_;
  std::array<AllowedEvent, kCounterEvents> allowed_;
  MemoryTraffic traffic_;
  Refusal traffic_refused_;
  ThreadRows thread_rows_{recorder_};
  RowTable<CounterRow> rows_;
  RowTable<MemoryTrafficRow> traffic_rows_;
  std::mutex mutex_;  // guards start, stop and the writer's alarms
  bool runs_ = false;
  std::map<int64_t, Known> threads_;
  int64_t interval_ns_;
  int64_t listed_ns_ = 0;
  int64_t written_ns_ = 0;
  int64_t traffic_ns_ = 0;
  MemoryBytes traffic_before_{0, 0};
  int64_t rows_written_ = 0;
  int64_t rows_to_rarer_ = kRowsToRarer;
  int64_t idle_ns_ = 0;
  CounterFigures figures_{};
};

}  // namespace perfprobe
