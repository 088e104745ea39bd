// Decodes CUPTI's buffers to rows of the tables in perfprobe/tables/gpu.py.
//
// CUPTI is given our clock; times that it writes in its own clock are converted (record_clock.h).
// External ids of the kind `cupti::kExternalKind` are written as they were pushed: the start time
// of the operator in nanoseconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/recorder.h"
#include "gpu/cupti_strides.h"
#include "gpu/gpu_totals.h"

namespace perfprobe {

// Counts over all buffers so far.
struct GpuRowFigures {
  int64_t records = 0;        // records that the library stepped over
  int64_t untimed = 0;        // rows without times: the record had none, or impossible ones
  int64_t shifted = 0;        // rows whose times were in CUPTI's own clock and were converted
  int64_t foreign_times = 0;  // rows without times, because theirs were in an unknown clock
  int64_t unknown_kinds = 0;  // records of kinds that are not decoded or cannot be stepped over
  int64_t malformed = 0;      // damaged records or ends of buffers, not decoded
  int64_t dropped = 0;        // rows with names, launches or threads beyond the limits
  int64_t unread_names = 0;   // kernels whose name could not be read
  int64_t most_nodes = 0;     // kernels of one launch of a graph, at most
};

class GpuRows {
 public:
  // Asks the library for its record lengths. Throws std::system_error if the kernel does not allow
  // copying from one's own memory (own_memory.h).
  GpuRows(Recorder& recorder, NextRecord next, CallbackName name, GpuTotals& totals);
  ~GpuRows();
  GpuRows(const GpuRows&) = delete;
  GpuRows& operator=(const GpuRows&) = delete;

  // Times before this one are impossible. Without this call times are not checked.
  void begin_session(int64_t started_ns);
  // The next three may be called by one thread at a time.
  // Decodes a buffer of CUPTI, which is free afterwards. Only throws std::bad_alloc.
  void take(uint8_t* buffer, size_t valid_bytes);
  // Writes pending rows to the recording. `take` does so too when many are pending.
  void write();
  [[nodiscard]] GpuRowFigures figures() const;

 private:
  class Decoder;
  std::unique_ptr<Decoder> decoder_;
};

}  // namespace perfprobe
