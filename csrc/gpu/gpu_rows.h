// From CUPTI's buffers to rows of the tables that perfprobe/tables/gpu.py describes.
//
// CUPTI was given our clock; times of its own are made ours (record_clock.h). External ids of the
// kind `cupti::kExternalKind` are written as they were pushed: when the operator started, in
// nanoseconds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/recorder.h"
#include "gpu/cupti_strides.h"
#include "gpu/gpu_totals.h"

namespace perfprobe {

// How often, in all buffers so far.
struct GpuRowFigures {
  int64_t records = 0;        // that the library stepped over
  int64_t untimed = 0;        // rows without times: the record had none, or none that can be
  int64_t shifted = 0;        // rows whose times were of CUPTI's own clock, and are ours now
  int64_t foreign_times = 0;  // rows without times: theirs were of an unknown clock
  int64_t unknown_kinds = 0;  // records of kinds that are not decoded, or cannot be stepped over
  int64_t malformed = 0;      // records or rests of buffers that cannot be: not decoded
  int64_t dropped = 0;        // names, launches and threads beyond our limits, in rows concerned
  int64_t unread_names = 0;   // kernels whose name was not to be read
};

class GpuRows {
 public:
  // Asks the library for its strides. Throws std::system_error where the kernel lets nobody copy
  // from his own memory (own_memory.h).
  GpuRows(Recorder& recorder, NextRecord next, CallbackName name, GpuTotals& totals);
  ~GpuRows();
  GpuRows(const GpuRows&) = delete;
  GpuRows& operator=(const GpuRows&) = delete;

  // Times before this one cannot be; none is looked at otherwise.
  void begin_session(int64_t started_ns);
  // All three on one thread at a time.
  // Decodes a buffer of CUPTI's, which is free again afterwards; throws std::bad_alloc only.
  void take(uint8_t* buffer, size_t valid_bytes);
  // Pending rows into the recording; `take` does so itself when many are pending.
  void write();
  [[nodiscard]] GpuRowFigures figures() const;

 private:
  class Decoder;
  std::unique_ptr<Decoder> decoder_;
};

}  // namespace perfprobe
