// From the frames of a sample to the id of their stack in the recording, the same row as that of
// operators called there.
#pragma once

#include <span>

#include "core/intern_table.h"
#include "core/recorder.h"
#include "python/seen_code.h"

namespace perfprobe {

class SampledStacks {
 public:
  SampledStacks(Recorder& recorder, const SeenCode& code) : recorder_(recorder), code_(code) {}

  // Frames that `code` has checked, innermost first, at least one.
  int32_t id_of(std::span<const FrameRef> frames);
  // How many were given the row "other", because there were too many different ones.
  [[nodiscard]] int64_t others() const { return others_; }

 private:
  static constexpr size_t kMostKnown = 65'536;
  static constexpr size_t kMostRows = 262'144;  // of frames and stacks, made here

  int32_t add(Definitions& definitions, std::span<const FrameRef> frames);

  Recorder& recorder_;
  const SeenCode& code_;
  InternTable ids_;
  size_t rows_ = 0;
  int64_t others_ = 0;
};

}  // namespace perfprobe
