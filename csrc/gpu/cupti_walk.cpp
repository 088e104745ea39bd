#include "gpu/cupti_walk.h"

namespace perfprobe {

CuptiWalk::State CuptiWalk::step() {
  const bool is_first = record_ == nullptr;
  const uint32_t result = next_(buffer_, valid_bytes_, &record_);
  if (result == cupti::kMaxLimitReached)
    return State::at_end;
  if (result != cupti::kSuccess)
    return result == cupti::kInvalidKind ? State::unknown_kind : State::malformed;
  const size_t at = reinterpret_cast<uintptr_t>(record_) - reinterpret_cast<uintptr_t>(buffer_);
  const bool steps_on = is_first ? at == 0 : at > at_;
  if (!steps_on || at >= valid_bytes_ || valid_bytes_ - at < sizeof(kind_))
    return State::malformed;
  at_ = at;
  std::memcpy(&kind_, buffer_ + at, sizeof(kind_));
  return strides_.of(kind_) <= valid_bytes_ - at ? State::at_record : State::malformed;
}

}  // namespace perfprobe
