#include "gpu/own_ranges.h"

#include <mutex>
#include <string>
#include <unordered_map>

#include "gpu/itt_ranges.h"
#include "gpu/nvtx_ranges.h"
#include "gpu/range_log.h"
#include "gpu/range_names.h"

namespace perfprobe::own_ranges {
namespace {

// The token of a range that is not recorded but was sent to a listening tool.
constexpr int64_t kUnrecorded = -1;

struct Messages {
  nvtx::Message nvtx;
  itt::Message itt;
};

// A tool keeps each text for ever, so beyond a limit all texts become one.
Messages messages(const char* name) {
  static std::mutex mutex;
  static auto* known = new std::unordered_map<std::string, Messages>;
  const std::lock_guard lock(mutex);
  const bool is_full = known->size() >= RangeNames::kMost && !known->contains(name);
  const char* text = is_full ? "(other)" : name;
  const auto [place, is_new] = known->try_emplace(text);
  if (is_new)
    place->second = {nvtx::message(text), itt::message(text)};
  return place->second;
}

bool is_listening() {
  static const bool listening = nvtx::is_listening() || itt::is_listening();
  return listening;
}

}  // namespace

bool is_wanted() {
  return is_listening() || RangeLog::is_recording();
}

int64_t begin(const char* name) {
  int64_t token = 0;
  if (is_listening()) {
    const auto [nvtx_message, itt_message] = messages(name);
    nvtx::push(nvtx_message);
    itt::push(itt_message);
    token = kUnrecorded;
  }
  const int64_t id = RangeLog::is_recording() ? RangeLog::instance().push_own(name) : 0;
  return id != 0 ? id : token;
}

void end(int64_t token) {
  if (token == 0)
    return;
  if (token != kUnrecorded)
    RangeLog::instance().pop_own(token);
  if (is_listening()) {
    itt::pop();
    nvtx::pop();
  }
}

}  // namespace perfprobe::own_ranges
