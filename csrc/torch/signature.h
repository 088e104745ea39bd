// What goes into an operator: kind, dtype, sizes, strides, device, layout and requires_grad of
// every tensor (lists element by element), integers, booleans, strings and integer lists by value,
// floats by type.
//
// Never runs user code: the sizes of a tensor subclass are read as stored, its device (which Python
// may compute) is not read.
#pragma once

#include <cstdint>
#include <string>

#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>

#include "core/hash.h"

namespace perfprobe {

// Whether integers count by value or, for an operator whose integers vary without end, by type
// only.
enum class Integers : uint8_t { by_value, by_type };

// The identity of the inputs. `seed` tells operators apart: the text names the arguments.
Hash128 hash_inputs(c10::ArrayRef<const c10::IValue> inputs, Integers integers, uint64_t seed);

// TorchScript hands over its whole stack, whose last values are the operator's. `arguments`: of its
// schema.
inline c10::ArrayRef<const c10::IValue> inputs_of(const at::RecordFunction& function,
                                                  size_t arguments) {
  const auto inputs = function.inputs();
  return inputs.size() > arguments ? inputs.slice(inputs.size() - arguments) : inputs;
}

constexpr size_t kLongestList = 4096;  // elements spelled out; a longer list ends in "..."
constexpr int kDeepestList = 4;        // lists in lists

struct SignatureDescription {
  std::string text;
  std::string example;  // with float values; equal to `text` where there is no float
  uint64_t grad_mask;
};

// Cold: the text of the same inputs, with argument names from the operator's schema, in the grammar
// of perfprobe/models/signature.py.
SignatureDescription describe_inputs(const at::RecordFunction& function,
                                     c10::ArrayRef<const c10::IValue> inputs, Integers integers);

}  // namespace perfprobe
