// SYNTHETIC records, made by hand after cupti_activity.h. They test decoding and stepping, never
// what a GPU delivers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu/cupti_strides.h"

namespace perfprobe::test {

// Record lengths by version of CUPTI: as stepped by cuptiActivityGetNextRecord (12.4, 12.9 and
// 13.0), and as in the headers (all others).
struct Layout {
  std::string_view version;
  uint32_t kernel, memcpy, memcpy2, memset, overhead, synchronization;

  [[nodiscard]] Strides strides() const {
    Strides strides;
    strides.bytes[1] = memcpy;
    strides.bytes[2] = memset;
    strides.bytes[3] = strides.bytes[10] = kernel;
    strides.bytes[4] = strides.bytes[5] = 40;
    strides.bytes[17] = overhead;
    strides.bytes[22] = memcpy2;
    strides.bytes[38] = synchronization;
    strides.bytes[39] = 24;
    return strides;
  }
};

inline constexpr Layout kLayouts[] = {
    {"Kernel6", 168, 88, 96, 88, 40, 40},
    {"Kernel7", 176, 88, 96, 88, 40, 40},
    {"Kernel8", 200, 88, 96, 88, 40, 40},
    {"12.1, Kernel9", 208, 88, 96, 88, 40, 40},
    {"12.4, Kernel9", 208, 88, 96, 88, 56, 40},
    {"12.8, Kernel9", 208, 96, 96, 88, 56, 56},
    {"13.0, Kernel10", 216, 96, 96, 88, 56, 56},
    {"13.1, Kernel11", 224, 96, 96, 88, 56, 56},
    {"13.3, Kernel12", 232, 96, 96, 88, 56, 56},
    {"13.4, Kernel13", 248, 112, 96, 104, 56, 56},
    {"of the future", 1024, 512, 512, 512, 256, 128},
};

// Unset bytes are 0xee, so that a field read from the wrong place is not 0 by accident.
class Bytes {
 public:
  Bytes(uint32_t kind, size_t size) : bytes_(size, 0xee) { put(0, kind); }

  template <class T>
  Bytes& put(size_t offset, T value) {
    std::memcpy(bytes_.data() + offset, &value, sizeof(T));
    return *this;
  }
  template <class T>
  Bytes& put_all(size_t offset, std::initializer_list<T> values) {
    for (const T value : values)
      put(std::exchange(offset, offset + sizeof(T)), value);
    return *this;
  }
  [[nodiscard]] const std::vector<uint8_t>& bytes() const { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
};

inline Bytes kernel(const Layout& layout, const char* name, uint64_t start, uint64_t end) {
  return Bytes(10, layout.kernel)
      .put<uint16_t>(6, 96)
      .put_all<uint64_t>(16, {start, end})
      .put_all<uint32_t>(40, {2, 3, 17})
      .put_all<int32_t>(52, {4096, 2, 3, 128, 4, 5, 49'152, 16'384})
      .put_all<uint32_t>(84, {64, 0, 4'000'000'001})
      .put(104, name)
      .put<uint64_t>(144, 77'000'000'001)
      .put<uint32_t>(156, 9);
}

inline Bytes copy(const Layout& layout, uint8_t copy_kind, uint64_t start, uint64_t end) {
  return Bytes(1, layout.memcpy)
      .put_all<uint8_t>(4, {copy_kind, 2, 3, 1})
      .put_all<uint64_t>(8, {5'000'000'000, start, end})
      .put_all<uint32_t>(32, {1, 2, 21, 43})
      .put<uint64_t>(64, 0)
      .put<uint32_t>(72, 0);
}

inline Bytes peer_copy(const Layout& layout, uint32_t source, uint32_t destination) {
  return Bytes(22, layout.memcpy2)
      .put_all<uint8_t>(4, {10, 3, 3, 0})
      .put_all<uint64_t>(8, {640, 100, 130})
      .put_all<uint32_t>(32, {1, 2, 21, source, 5, destination, 6, 44})
      .put<uint64_t>(72, 88)
      .put<uint32_t>(80, 12);
}

inline Bytes fill(const Layout& layout) {
  return Bytes(2, layout.memset)
      .put_all<uint64_t>(8, {4096, 200, 207})
      .put_all<uint32_t>(32, {1, 2, 21, 45})
      .put_all<uint16_t>(48, {1, 3})
      .put<uint64_t>(64, 0)
      .put<uint32_t>(72, 0);
}

inline Bytes api_call(uint32_t kind, uint32_t callback, uint32_t thread) {
  return Bytes(kind, 40)
      .put(4, callback)
      .put_all<uint64_t>(8, {1000, 1050})
      .put_all<uint32_t>(24, {1234, thread, 46, 700});
}

inline Bytes wait(const Layout& layout, uint32_t type, uint32_t stream) {
  return Bytes(38, layout.synchronization)
      .put(4, type)
      .put_all<uint64_t>(8, {1100, 1180})
      .put_all<uint32_t>(24, {47, 2, stream});
}

inline Bytes overhead(const Layout& layout) {
  return Bytes(17, layout.overhead).put<uint32_t>(4, 6 << 16).put_all<uint64_t>(24, {1200, 1260});
}

inline Bytes external_id(uint32_t external_kind) {
  return Bytes(39, 24).put(4, external_kind).put<uint64_t>(8, 987).put<uint32_t>(16, 46);
}

// A sequence of records.
inline std::vector<uint8_t> buffer_of(std::initializer_list<Bytes> records) {
  std::vector<uint8_t> buffer;
  for (const Bytes& record : records)
    buffer.insert(buffer.end(), record.bytes().begin(), record.bytes().end());
  return buffer;
}

}  // namespace perfprobe::test
