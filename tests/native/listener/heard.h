// What a listener of these hears of perfprobe's own domain: one line for each event, "pid thread
// event text", in the file that PERFPROBE_LISTENER_LOG names; without that it does nothing.
//
// domain NAME, text MESSAGE (made once), push MESSAGE, payload NUMBER (of the push before), pop,
// begin NUMBER MESSAGE, end NUMBER, mark MESSAGE, resume, pause, id KIND NUMBER, unid KIND
#pragma once

#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <utility>

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace perfprobe::listener {

bool is_logging();
void log(const char* event, const std::string& text = "");

// From now on writes to this file.
void log_into(const char* path);

// Keeps it for ever, as real tools do, and reachable at exit, so that it is no leak.
template <typename Kept>
Kept& keep(Kept kept) {
  static auto& mutex = *new std::mutex;
  static auto& all = *new std::list<Kept>;
  const std::lock_guard lock(mutex);
  return all.emplace_back(std::move(kept));
}

// Returns a copy that is kept for ever.
const char* kept(const char* text);

// Logs the begin of a range and returns its number.
uint64_t begin_range(const char* text);
void end_range(uint64_t range);

bool is_own_domain(const char* name);

}  // namespace perfprobe::listener
