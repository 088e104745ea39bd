#include "gpu/cupti_walk.h"

namespace perfprobe {

CuptiWalk::State CuptiWalk::step() {
  const bool is_first = record_ == nullptr;
  const uint32_t result = next_(buffer_, valid_bytes_, &record_);
  if (result == cupti::kMaxLimitReached)
    return is_all_seen() ? State::at_end : State::malformed;
  if (result != cupti::kSuccess)
    return result == cupti::kInvalidKind ? State::unknown_kind : State::malformed;
  const size_t at = reinterpret_cast<uintptr_t>(record_) - reinterpret_cast<uintptr_t>(buffer_);
  const bool steps_on = is_first || at > at_;
  if (!steps_on || at >= valid_bytes_ || valid_bytes_ - at < sizeof(kind_))
    return State::malformed;
  at_ = at;
  std::memcpy(&kind_, buffer_ + at, sizeof(kind_));
  return strides_.of(kind_) <= valid_bytes_ - at ? State::at_record : State::malformed;
}

// The library stops without an error before an incomplete record.
bool CuptiWalk::is_all_seen() const {
  if (record_ == nullptr)
    return valid_bytes_ == 0;
  const uint32_t stride = strides_.of(kind_);
  return stride == 0 || at_ + stride == valid_bytes_;
}

}  // namespace perfprobe
