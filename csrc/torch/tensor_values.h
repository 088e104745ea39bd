// Describes the values of an operator's input tensors, so that the call can be rebuilt with values
// of the same cost.
//
// Reads evenly spread elements of dense CPU tensors whose storage is as large as sizes and strides
// say. Changes nothing (a copy-on-write storage stays shared) and runs no user code. If another
// thread writes the tensor meanwhile, either value is read.
#pragma once

#include <string>

#include <ATen/core/ivalue.h>

namespace perfprobe {

// A JSON list with an entry for each defined tensor in the order of the signature's text, lists
// flattened: `null` where nothing was looked at, else parts of the sample:
// `{"zeros": 0.5, "negatives": 0.25, "denormals": 0.0, "nonfinite": 0.0, "changes": 0.1,
// "ascending": 0.5, "quantiles": [-2.1, ..., 1.9], "sample": 256}` of floats,
// `{"lowest": 0, "highest": 31999, "distinct": 0.4, "ascending": 0.5, "trend": 0.5, "step": 9000,
// "far": 9100, "quantiles": [0, ..., 31990], "sample": 1024}` of integers, `{"true": 0.5,
// "changes": 0.1, "sample": 256}` of booleans. sample: elements looked at. changes: elements whose
// successor is zero where they are not, or the other way round, or the other boolean: a branch is
// guessed right on the others. ascending: of elements that differ from their successor, those that
// are smaller; trend: the same of elements of the first half and of the second. step: the median
// distance between an element and its successor, of those that differ; far: the same of the halves.
// quantiles: lowest, highest and seven between, of what is finite, not zero and not denormal.
// "" when no tensor was looked at. Cold.
std::string describe_values(c10::ArrayRef<const c10::IValue> inputs);

}  // namespace perfprobe
