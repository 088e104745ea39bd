// CUPTI's buffers as they were, in a `.cupti` file: for tests, so that what a GPU once delivered
// can be decoded again without one.
//
//   file    := "PPCUPTI1"  section*                                                 (little endian)
//   section := u32 tag  u32 bytes  bytes
//   ORGN  text: "synthetic", or where and how it was recorded       VERS  u32 cuptiGetVersion
//   STRD  u32[128]: bytes of a record by kind, 0 not known          CLCK  u64 cupti, realtime,
//   monotonic NAME  u64 address, then the text that lay there (from here on)  BUFR  a buffer,
//   verbatim DROP  u64 records CUPTI dropped: last, missing when the recording was cut off
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/own_memory.h"
#include "gpu/cupti_strides.h"

namespace perfprobe {

// One moment by three clocks, ns.
struct ClockTriple {
  uint64_t cupti_ns, realtime_ns, monotonic_ns;
  bool operator==(const ClockTriple&) const = default;
};

// Not thread-safe. A disk that refuses, or `kMostBytes` reached, ends the taking without a word:
// `skipped_buffers` says so.
class CuptiFixtureWriter {
 public:
  static constexpr size_t kMostBytes = size_t{15} << 20;

  // Throws std::system_error when the file cannot be made.
  CuptiFixtureWriter(const std::string& path, std::string_view origin, uint32_t cupti_version,
                     NextRecord next);
  CuptiFixtureWriter(const CuptiFixtureWriter&) = delete;
  CuptiFixtureWriter& operator=(const CuptiFixtureWriter&) = delete;

  void add_clocks(const ClockTriple& clocks);
  // Before the buffer is decoded or given back: the names its records point to are read now.
  void take(uint8_t* buffer, size_t valid_bytes);
  void close(uint64_t dropped_records);
  [[nodiscard]] int64_t skipped_buffers() const { return skipped_buffers_; }

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  bool put(uint32_t tag, std::string_view bytes);
  void put_names(uint8_t* buffer, size_t valid_bytes);

  std::unique_ptr<std::FILE, CloseFile> file_;
  NextRecord next_;
  Strides strides_;
  OwnMemory memory_;
  std::map<uint64_t, std::string> names_;
  size_t written_bytes_ = 0;
  int64_t skipped_buffers_ = 0;
};

}  // namespace perfprobe
