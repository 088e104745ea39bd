// Translates the numbers in records of API calls: functions to string ids, threads to rows of
// `threads`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <unordered_map>

#include "core/mapped_memory.h"
#include "core/own_memory.h"
#include "core/recorder.h"
#include "core/thread_rows.h"
#include "gpu/cupti_strides.h"

namespace perfprobe {

// Names as the library reports them (`cudaLaunchKernel`), without the version suffix.
class ApiNames {
 public:
  ApiNames(Recorder& recorder, CallbackName name) : recorder_(recorder), name_(name) {}

  int32_t find(uint32_t domain, uint32_t callback);
  [[nodiscard]] int32_t other() const { return other_; }

 private:
  static constexpr size_t kMost = 4096;  // CUPTI 13 knows about 1,200

  std::string read(uint32_t domain, uint32_t callback);

  Recorder& recorder_;
  CallbackName name_;
  OwnMemory memory_;
  MappedPool pool_;
  std::pmr::unordered_map<uint64_t, int32_t> ids_{pool_.resource()};
  int32_t other_ = kNone - 1;
};

// One row for each OS thread. Beyond ThreadRows::kMost, threads share one.
class ApiThreads {
 public:
  explicit ApiThreads(Recorder& recorder) : thread_rows_(recorder) {}

  int32_t find(int64_t os_thread);
  [[nodiscard]] int32_t other() const { return thread_rows_.other(); }

 private:
  ThreadRows thread_rows_;
  MappedPool pool_;
  std::pmr::unordered_map<int64_t, int32_t> rows_{pool_.resource()};
};

}  // namespace perfprobe
