// The lengths of records in the loaded libcupti. They depend on its version.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace perfprobe {

// Functions of libcupti: cuptiActivityGetNextRecord and cuptiGetCallbackName. 0 is success.
using NextRecord = uint32_t (*)(uint8_t* buffer, size_t valid_bytes, void** record);
using CallbackName = uint32_t (*)(uint32_t domain, uint32_t callback, const char** name);

// Bytes of a record by its kind; 0 if not known.
struct Strides {
  static constexpr size_t kKinds = 128;
  std::array<uint32_t, kKinds> bytes{};

  [[nodiscard]] uint32_t of(uint32_t kind) const { return kind < kKinds ? bytes[kind] : 0; }
};

// Asks the library, for the kinds that are decoded (cupti_records.h). All other kinds are 0.
Strides probe_strides(NextRecord next);

}  // namespace perfprobe
