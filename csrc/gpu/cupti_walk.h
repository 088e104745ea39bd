// One record of CUPTI's after the other: the library steps, we see to it that it steps on and stays
// inside.
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

  // `otherwise` where the loaded library's record does not reach that far.
  template <class T>
  [[nodiscard]] T get(cupti::Field<T> field, std::type_identity_t<T> otherwise = {}) const {
    if (field.offset + sizeof(T) > size_)
      return otherwise;
    T value;
    std::memcpy(&value, bytes_ + field.offset, sizeof(T));
    return value;
  }

  // The number of something, -1 where it is `none`: there is no such thing.
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

  // At a record that is wholly there. In any other state the walk is over.
  State step();

  [[nodiscard]] uint32_t kind() const { return kind_; }
  // Has no fields when its kind is none of those that are decoded.
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
