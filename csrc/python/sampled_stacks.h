// Maps the frames of a sample to the id of their stack: the same row that operators called there
// have.
#pragma once

#include <span>

#include "core/recorder.h"
#include "python/seen_code.h"

namespace perfprobe {

// A thread's stack at the last look, outermost frame first.
struct NamedStack {
  MappedVector<ForeignFrame> frames;  // `code` is nullptr if it must be checked again
  MappedVector<int32_t> ids;          // the stack that ends at each frame
};

class SampledStacks {
 public:
  SampledStacks(Recorder& recorder, SeenCode& code) : recorder_(recorder), code_(code) {}

  // Returns in `id` the stack of these frames, innermost first, at least one. Frames that are as in
  // `last` are taken from there, because most of a thread's frames and their code stay the same.
  // Returns false if the others fail their check. `last` becomes this stack. `with_gaps`: see
  // SeenCode::check.
  bool name(std::span<const ForeignFrame> frames, NamedStack& last, int32_t& id, bool with_gaps);
  // How many got the row "(other)", because there were too many different ones.
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
