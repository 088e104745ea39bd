// The inputs of an operator: kind, dtype, sizes, strides, device, layout and requires_grad of every
// tensor (lists element by element); integers, booleans, strings and integer lists by value; floats
// by type.
//
// Never runs user code: for a tensor subclass the stored sizes are read, and the device, which
// Python may compute, is not.
#pragma once

#include <cstdint>
#include <string>

#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>

#include "core/hash.h"

namespace perfprobe {

// Whether integers count by value, or only by type for operators whose integers keep changing.
enum class Integers : uint8_t { by_value, by_type };

// Identifies the inputs. `seed` distinguishes operators, because the text contains the arguments'
// names.
Hash128 hash_inputs(c10::ArrayRef<const c10::IValue> inputs, Integers integers, uint64_t seed);

// TorchScript passes its whole stack, of which the last values are the operator's. `arguments`: the
// number in its schema.
inline c10::ArrayRef<const c10::IValue> inputs_of(const at::RecordFunction& function,
                                                  size_t arguments) {
  const auto inputs = function.inputs();
  return inputs.size() > arguments ? inputs.slice(inputs.size() - arguments) : inputs;
}

constexpr size_t kLongestList =
    4096;                        // elements written out; the text of a longer list ends in "..."
constexpr int kDeepestList = 4;  // levels of nested lists

struct SignatureDescription {
  std::string text;
  std::string example;  // with values of floats; equal to `text` if there is no float
  uint64_t grad_mask;
};

// Returns the text of these inputs, with argument names from the operator's schema, in the grammar
// of perfprobe/models/signature.py. Only called on first sight.
SignatureDescription describe_inputs(const at::RecordFunction& function,
                                     c10::ArrayRef<const c10::IValue> inputs, Integers integers);

}  // namespace perfprobe
