// From the frames of a sample to the id of their stack in the recording, the same row as that of
// operators called there.
#pragma once

#include <span>

#include "core/recorder.h"
#include "python/seen_code.h"

namespace perfprobe {

// The stack a thread had when it was looked at last, outermost frame first.
struct NamedStack {
  MappedVector<ForeignFrame> frames;  // `code` is nullptr where it has to be checked again
  MappedVector<int32_t> ids;          // of the stack that ends there
};

class SampledStacks {
 public:
  SampledStacks(Recorder& recorder, SeenCode& code) : recorder_(recorder), code_(code) {}

  // The stack of these frames, innermost first, at least one. Those that are as in `last` are taken
  // from there: most of a thread's frames stay, and so does their code. False when the others
  // are not what they seem. `last` becomes this stack. `with_gaps`: see SeenCode::check.
  bool name(std::span<const ForeignFrame> frames, NamedStack& last, int32_t& id, bool with_gaps);
  // How many were given the row "other", because there were too many different ones.
  [[nodiscard]] int64_t others() const { return others_; }

 private:
  static constexpr size_t kMostRows = 262'144;  // of frames and stacks, made here

  int32_t add(Definitions& definitions, int32_t outer, const ForeignFrame& frame);

  Recorder& recorder_;
  SeenCode& code_;
  size_t rows_ = 0;
  int64_t others_ = 0;
};

}  // namespace perfprobe
