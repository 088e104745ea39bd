// What a recorder lost, and why, as the rows that reports print.
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "core/loss.h"
#include "core/recorder.h"

namespace perfprobe {
namespace {

struct DroppedText {
  const char* reason;
  const char* remedy;
};

constexpr std::array<DroppedText, kDroppedKinds> kDroppedTexts{{
    {"operators whose end was not seen on their own thread", "an asynchronous end; nothing to do"},
    {"ends of operators that had started on another thread or before recording", "nothing to do"},
    {"operators dropped: out of memory", "use a smaller --buffer"},
}};

}  // namespace

std::vector<Loss> Recorder::collect_losses() {
  const std::lock_guard lock(definitions_mutex_);
  std::vector<Loss> losses = losses_;
  const bool is_closed = file_.refusal() == EBADF;
  const std::string why =
      is_closed ? "the program closed the file" : std::strerror(file_.refusal());
  const std::string remedy = is_closed ? "close only descriptors that the program opened"
                                       : "free some space there, or choose another place with -o";
  // Source "recording": reports show it at the top, because every number is too small.
  if (dropped_rows_ > 0)
    losses.push_back(
        {"recording", "operators that could not be written: " + why, dropped_rows_, remedy});
  if (dropped_memory_rows_ > 0)
    losses.push_back({"memory", "allocations and frees that could not be written: " + why,
                      dropped_memory_rows_, remedy});
  const auto add = [&](const std::string& reason, int64_t count, const std::string& advice) {
    if (count > 0)
      losses.push_back({"operators", reason, count, advice});
  };
  add("events beyond " + std::to_string(Definitions::kLimit) + " different stacks (or " +
          std::to_string(Definitions::kStackRows) + " calls in them), shown as one stack",
      definitions_->other_stacks(), "record a shorter part of the program");
  add("stacks truncated: too deep, only the innermost frames are shown", definitions_->cut_stacks(),
      "nothing to do; calls further out are missing in these stacks");
  add("events beyond " + std::to_string(Definitions::kLimit) +
          " different signatures (or 16 MB of them), shown as (other)",
      definitions_->other_signatures(), "record a shorter part of the program");
  add("events beyond " + std::to_string(Definitions::kLimit) + " different names, shown as (other)",
      definitions_->other_names(), "give ranges one name, without a number that changes");
  for (size_t i = 0; i < dropped_.size(); ++i) {
    add(kDroppedTexts[i].reason, dropped_[i], kDroppedTexts[i].remedy);
  }
  return losses;
}

}  // namespace perfprobe
