// Counts the bytes that the memory controllers read and write, for all processes of the machine.
//
// Counters of Intel's integrated memory controllers (uncore_imc_*), as the kernel describes them in
// sysfs: event, scale and the processor of each socket that reads them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cpu/perf/open_event.h"

namespace perfprobe {

struct MemoryBytes {
  int64_t read, written;
};

class MemoryTraffic {
 public:
  // root: "/", or in tests a folder with the same files.
  explicit MemoryTraffic(std::string root = "/", OpenEvent open = &open_event);
  MemoryTraffic(const MemoryTraffic&) = delete;
  MemoryTraffic& operator=(const MemoryTraffic&) = delete;

  // Starts from 0, also if it is called again. Throws RefusedEvent: there are no such counters, or
  // they are not permitted.
  void start();
  // Returns sums since `start`; nothing if the program has closed one of the counters.
  [[nodiscard]] std::optional<MemoryBytes> read() const;
  [[nodiscard]] bool runs() const { return !counters_.empty(); }

 private:
  struct Counter {
    Descriptor event;
    double bytes;  // of one count
    bool is_read;
  };
  void add(const std::string& folder, const char* name, bool is_read);
  [[nodiscard]] std::string text(const std::string& path) const;

  const std::string root_;
  const OpenEvent open_;
  std::vector<Counter> counters_;
};

}  // namespace perfprobe
