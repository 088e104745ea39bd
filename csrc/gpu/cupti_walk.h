// Steps through CUPTI's records. The library steps; this makes sure that it moves on and stays
// inside the buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "gpu/cupti_records.h"
#include "gpu/cupti_strides.h"

namespace perfprobe {

class CuptiRecord {
 public:
  CuptiRecord(const uint8_t* bytes, size_t size) : bytes_(bytes), size_(size) {}

  // Returns `otherwise` if the loaded library's record does not reach this field.
  template <class T>
  [[nodiscard]] T get(cupti::Field<T> field, std::type_identity_t<T> otherwise = {}) const {
    if (field.offset + sizeof(T) > size_)
      return otherwise;
    T value;
    std::memcpy(&value, bytes_ + field.offset, sizeof(T));
    return value;
  }

  // Returns a number, or -1 if it is `none`.
  template <class T>
  [[nodiscard]] int64_t id(cupti::Field<T> field, std::type_identity_t<T> none) const {
    const T value = get(field, none);
    return value == none ? -1 : static_cast<int64_t>(value);
  }

 private:
  const uint8_t* bytes_;
  size_t size_;
};

class CuptiWalk {
 public:
  enum class State { at_record, at_end, unknown_kind, malformed };

  CuptiWalk(NextRecord next, const Strides& strides, uint8_t* buffer, size_t valid_bytes)
      : next_(next), strides_(strides), buffer_(buffer), valid_bytes_(valid_bytes) {}

  // `at_record`: at a complete record. In any other state the walk is over.
  State step();

  [[nodiscard]] uint32_t kind() const { return kind_; }
  // Has no fields if its kind is not decoded.
  [[nodiscard]] CuptiRecord record() const { return {buffer_ + at_, strides_.of(kind_)}; }
  [[nodiscard]] size_t offset() const { return at_; }

 private:
  [[nodiscard]] bool is_all_seen() const;

  NextRecord next_;
  const Strides& strides_;
  uint8_t* buffer_;
  size_t valid_bytes_;
  void* record_ = nullptr;
  size_t at_ = 0;
  uint32_t kind_ = 0;
};

}  // namespace perfprobe
