// Saves CUPTI's buffers unchanged in a `.cupti` file, so that tests can decode what a GPU once
// delivered. tests/native/cupti_fixture_reader.h reads it.
//
//   file    := "PPCUPTI1"  section*                                              (little endian)
//   section := text[4] tag  u32 bytes  bytes
//   ORGN  text: how it was made; begins with "synthetic" unless a GPU's library filled the buffers
//   VERS  u32 cuptiGetVersion
//   STRD  u32[128]: bytes of a record by kind, 0 not known
//   CLCK  u64 cupti, realtime, monotonic: one moment by three clocks, ns
//   NAME  u64 address, then the text that lies there in the buffers that follow
//   CALL  u32 domain, u32 callback, then the name of this function of the API
//   BUFR  a buffer, verbatim
//   LOST  u64 records that CUPTI dropped, u64 buffers left out: last, or the file was cut off
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "core/descriptor.h"
#include "core/own_memory.h"
#include "gpu/cupti_strides.h"

namespace perfprobe {

inline constexpr std::string_view kFixtureMagic = "PPCUPTI1";

struct ClockTriple {
  uint64_t cupti_ns, realtime_ns, monotonic_ns;
};

// Not thread-safe. Data that the disk refuses or that exceeds kMostBytes is left out and counted.
class CuptiFixtureWriter {
 public:
  static constexpr size_t kMostBytes = size_t{15} << 20;

  // Throws std::system_error if the file cannot be created.
  CuptiFixtureWriter(const std::string& path, std::string_view origin, uint32_t cupti_version,
                     NextRecord next, CallbackName name);

  void add_clocks(const ClockTriple& clocks);
  // Must be called before the buffer is returned: it reads the names that records point to.
  void take(uint8_t* buffer, size_t valid_bytes);
  void close(uint64_t dropped_records);
  [[nodiscard]] uint64_t left_out() const { return left_out_; }

 private:
  bool put(std::string_view tag, std::string_view bytes);
  void put_names(uint8_t* buffer, size_t valid_bytes);
  void put_name(const char* address);
  void put_call(uint32_t domain, uint32_t callback);

  Descriptor file_;
  NextRecord next_;
  CallbackName name_;
  const Strides strides_;
  OwnMemory memory_;
  std::map<const char*, std::string> names_;
  std::set<std::pair<uint32_t, uint32_t>> calls_;
  size_t written_bytes_ = 0;
  uint64_t left_out_ = 0;
};

}  // namespace perfprobe
