// What is in a sample, as JSON: `tensor_values.h` says what the parts are.
#pragma once

#include <string>

#include <c10/core/ScalarType.h>

#include "torch/tensor_sample.h"

namespace perfprobe {

// "null" of a dtype whose values are not looked at. Cold.
std::string digest_of(const Sample& sample, c10::ScalarType dtype);

}  // namespace perfprobe
