// Reads who uses the processors that this process may use, from the kernel's files (proc(5)).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/kernel_files.h"
#include "core/row_column.h"

namespace perfprobe {

// Sums since the kernel began to count; -1 if it does not provide the value.
struct ProcessorTimesRow {
  int64_t time_ns;
  int64_t process_cpu_ns;   // of this process, all of its threads
  int64_t children_cpu_ns;  // of its child processes and theirs
  int64_t busy_ns;          // of all processes together, on the processors this one may use
  int64_t stolen_ns;        // on the same processors: time that the hypervisor gave to others
  int64_t pressure_ns;      // time in which some task on this machine waited for a processor
  int64_t throttled_ns;     // time in which the cgroup's quota was used up
  int64_t processors;       // number that this process may use

  static constexpr std::string_view kTable = "processor_times";
  static constexpr auto columns() {
    using Row = ProcessorTimesRow;
    return std::array{column<&Row::time_ns>("time_ns"),
                      column<&Row::process_cpu_ns>("process_cpu_ns"),
                      column<&Row::children_cpu_ns>("children_cpu_ns"),
                      column<&Row::busy_ns>("busy_ns"),
                      column<&Row::stolen_ns>("stolen_ns"),
                      column<&Row::pressure_ns>("pressure_ns"),
                      column<&Row::throttled_ns>("throttled_ns"),
                      column<&Row::processors>("processors")};
  }
};

class ProcessorUse {
 public:
  // root: "/", or a folder with the same files. cpu_stat: file of the cgroup with the quota, "" for
  // none.
  ProcessorUse(std::string root, std::string cpu_stat);

  ProcessorTimesRow read(int64_t time_ns);
  // Frees the memory used for reading.
  void let_go() { file_ = KernelFile(); }

 private:
  void read_busy(ProcessorTimesRow& row);
  int64_t children_cpu_ns();
  int64_t descendants_ticks();

  const std::string proc_;
  const std::string cpu_stat_;
  const int64_t tick_ns_;
  KernelFile file_;
};

}  // namespace perfprobe
