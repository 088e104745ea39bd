// How many samples a loader's batch has.
#pragma once

#include <cstdint>

namespace perfprobe {

// Of the batch that the innermost `__next__` of this thread is about to return: the first dimension
// of its tensors where all agree on it. kNotKnown where they do not, or it has none; kNoBatch where
// the loader has no more. Tuples, lists, dicts and objects that hold their values in `data` are
// looked into.
int64_t samples_of_batch();

}  // namespace perfprobe
