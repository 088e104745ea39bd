// Elements spread over a whole tensor that represent it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include <c10/util/ArrayRef.h>

namespace perfprobe {

constexpr uint64_t kSample = 256;  // elements read of a tensor
// For integers, which may be indices: enough to distinguish sorted indices with a few outliers from
// rows that are each sorted.
constexpr uint64_t kIndexSample = 1024;

// Chooses the elements: the tensor is divided into equal parts, and one element is read at a
// different place of each. All are read if there are few. With a constant distance they would all
// be in one column of a matrix.
class Sample {
 public:
  Sample(const char* first, c10::IntArrayRef sizes, c10::IntArrayRef strides, uint64_t elements,
         uint64_t most)
      : first_(first),
        sizes_(sizes),
        strides_(strides),
        elements_(elements),
        most_(most),
        width_(elements / most),
        rest_(elements % most),
        is_flat_(sizes.size() == 1) {}

  [[nodiscard]] uint64_t count() const { return std::min(elements_, most_); }

  template <class Value>
  [[nodiscard]] Value at(uint64_t i) const {
    return read<Value>(place(i));
  }

  // The next element, by index. For the last one: itself.
  template <class Value>
  [[nodiscard]] Value behind(uint64_t i) const {
    return read<Value>(std::min(place(i) + 1, elements_ - 1));
  }

 private:
  template <class Value>
  [[nodiscard]] Value read(uint64_t index) const {
    Value value;
    std::memcpy(&value, first_ + offset(index) * static_cast<int64_t>(sizeof(Value)),
                sizeof(Value));
    return value;
  }

  [[nodiscard]] uint64_t place(uint64_t i) const {
    if (elements_ <= most_)
      return i;
    const uint64_t fraction =
        (i * 40'503) & 0xFFFF;  // multiples of the golden ratio are spread evenly
    const auto within = static_cast<unsigned __int128>(width_) * fraction >> 16;
    return i * width_ + rest_ * i / most_ + static_cast<uint64_t>(within);
  }

  [[nodiscard]] int64_t offset(uint64_t index) const {
    if (is_flat_)  // divisions take most of the time, and tensors of indices are flat
      return static_cast<int64_t>(index * static_cast<uint64_t>(strides_[0]));
    uint64_t elements = 0;
    for (size_t i = sizes_.size(); i-- > 0;) {
      const auto size = static_cast<uint64_t>(sizes_[i]);
      elements += index % size * static_cast<uint64_t>(strides_[i]);
      index /= size;
    }
    return static_cast<int64_t>(elements);
  }

  const char* first_;
  c10::IntArrayRef sizes_;
  c10::IntArrayRef strides_;
  uint64_t elements_, most_, width_, rest_;
  bool is_flat_;
};

}  // namespace perfprobe
