// Describes the values of a sample as JSON. `tensor_values.h` explains the keys.
#pragma once

#include <string>

#include <c10/core/ScalarType.h>

#include "torch/tensor_sample.h"

namespace perfprobe {

// "null" for a dtype whose values are not read. Only called on first sight.
std::string digest_of(const Sample& sample, c10::ScalarType dtype);

}  // namespace perfprobe
