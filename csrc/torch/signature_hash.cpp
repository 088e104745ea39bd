#include <cstring>

#include "torch/signature.h"
#include "torch/tensor_facts.h"

namespace perfprobe {
namespace {

enum class Tag : uint64_t {
  tensor = 1,
  list,
  integer,
  boolean,
  floating,
  text,
  device,
  none,
  tuple,
  other
};

uint64_t tag(Tag kind, uint64_t detail = 0) {
  return static_cast<uint64_t>(kind) << 56 | detail;
}

inline void add_longs(Hasher& hasher, c10::IntArrayRef values) {
  size_t i = 0;
  for (; i + 1 < values.size(); i += 2) {
    hasher.add(static_cast<uint64_t>(values[i]), static_cast<uint64_t>(values[i + 1]));
  }
  if (i < values.size())
    hasher.add(static_cast<uint64_t>(values[i]), 0x9E3779B97F4A7C15ULL);
}

inline void add_tensor(Hasher& hasher, const c10::TensorImpl& tensor) {
  const TensorFacts facts = read_facts(tensor);
  hasher.add(tag(Tag::tensor, facts.packed()), facts.sizes.size() << 32 | facts.strides.size());
  add_longs(hasher, facts.sizes);
  add_longs(hasher, facts.strides);
}

void add_string(Hasher& hasher, const std::string& text) {
  constexpr size_t kLength =
      64;  // a mode such as "mean" or "tanh"; only the beginning of longer ones counts
  const size_t length = std::min(text.size(), kLength);
  hasher.add(tag(Tag::text), length);
  for (size_t i = 0; i < length; i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + i, std::min<size_t>(8, length - i));
    hasher.add(word, i);
  }
}

class InputHasher {
 public:
  InputHasher(Integers integers, uint64_t seed) : integers_(integers) { hasher_.add(seed, 0); }

  void add(const c10::IValue& value, int nesting = 0) {
    if (value.isTensor()) {
      add_tensor(hasher_, *value.toTensor().unsafeGetTensorImpl());
    } else if (value.isNone()) {
      hasher_.add(tag(Tag::none), 0);
    } else if (value.isInt()) {
      add_integer(value.toInt());
    } else if (value.isBool()) {
      hasher_.add(tag(Tag::boolean), value.toBool() ? 1 : 0);
    } else if (value.isDouble()) {
      hasher_.add(tag(Tag::floating), 0);
    } else if (value.isList() && nesting < 4) {
      add_list(value.toListRef(), nesting);
    } else {
      add_rare(value);
    }
  }

  [[nodiscard]] Hash128 result() const { return hasher_.result(); }

 private:
  void add_integer(int64_t value) {
    hasher_.add(tag(Tag::integer),
                integers_ == Integers::by_value ? static_cast<uint64_t>(value) : 0);
  }

  void add_list(c10::ArrayRef<c10::IValue> values, int nesting) {
    hasher_.add(tag(Tag::list), values.size());
    for (const c10::IValue& value : values)
      add(value, nesting + 1);
  }

  void add_rare(const c10::IValue& value) {
    if (value.isString()) {
      add_string(hasher_, value.toStringRef());
    } else if (value.isDevice()) {
      const c10::Device device = value.toDevice();
      const auto index = static_cast<uint64_t>(static_cast<uint8_t>(device.index()));
      hasher_.add(tag(Tag::device), static_cast<uint64_t>(device.type()) << 8 | index);
    } else {
      hasher_.add(tag(value.isTuple() ? Tag::tuple : Tag::other), value.isObject() ? 1 : 0);
    }
  }

  Hasher hasher_;
  Integers integers_;
};

}  // namespace

Hash128 hash_inputs(c10::ArrayRef<const c10::IValue> inputs, Integers integers, uint64_t seed) {
  InputHasher hasher(integers, seed);
  for (const c10::IValue& input : inputs)
    hasher.add(input);
  return hasher.result();
}

}  // namespace perfprobe
