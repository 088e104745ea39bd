// Looks up the string id of a kernel's demangled name by the name's address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <string>
#include <unordered_map>

#include "core/hash.h"
#include "core/intern_table.h"
#include "core/mapped_memory.h"
#include "core/own_memory.h"
#include "core/recorder.h"

namespace perfprobe {

class KernelNames {
 public:
  explicit KernelNames(Recorder& recorder) : recorder_(recorder) {}

  // Names at known addresses are read again in each buffer: after a module was unloaded, another
  // module may have its names there.
  void begin_buffer() { ++buffer_; }

  // Returns kNone if the text is not readable; "(other)" beyond kMost names or their total bytes.
  int32_t find(const char* address);
  [[nodiscard]] int32_t other() const { return other_; }

 private:
  static constexpr size_t kMost = 65'536;
  static constexpr size_t kMostBytes =
      16'384;  // of a name; templates do reach a few thousand bytes
  static constexpr size_t kMostBytesOfAll = size_t{64} << 20;

  struct Known {
    uint64_t buffer = 0;  // the buffer in which it was read last
    Hash128 text;
    int32_t id = kNone;
  };

  void read(const char* address, Known& known);
  int32_t intern();

  Recorder& recorder_;
  OwnMemory memory_;
  MappedPool pool_;
  std::pmr::unordered_map<const char*, Known> known_{pool_.resource()};
  InternTable ids_;  // by mangled text
  std::string text_;
  size_t bytes_of_all_ = 0;
  uint64_t buffer_ = 0;
  int32_t other_ = kNone - 1;
};

}  // namespace perfprobe
