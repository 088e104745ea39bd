#include "cpu/thread_activity.h"

#include <algorithm>
#include <utility>

#include "core/clock.h"
#include "core/kernel_files.h"
#include "core/native_thread.h"
#include "core/thread_clock.h"
#include "core/thread_name.h"

namespace perfprobe {

void ThreadActivity::read(const std::vector<int64_t>& callers) {
  if (++skipped_ < stride_)
    return;
  skipped_ = 0;
  // What ended since the listing counts in the process's clock too, so that this comes true again
  // and again only where threads come and go all the time.
  // With threads beyond the limit the clock does not tell of new ones: it is always ahead.
  const bool has_unseen =
      unread_ == 0 && process_cpu_ns() - listed_process_ns_ > seen_ns_ + kUnseenNs;
  if (is_list_stale_ || has_unseen)
    list();
  const int64_t before_ns = std::exchange(end_ns_, monotonic_ns());
  ActivityRow row{before_ns, end_ns_, 0, 0, 0, 0};
  for (auto& [os_thread, thread] : threads_)
    add(os_thread, thread, callers, row);
  if (before_ns > 0)
    rows_.add(row);
}

void ThreadActivity::add(int64_t os_thread, Known& thread, const std::vector<int64_t>& callers,
                         ActivityRow& row) {
  const int64_t cpu_ns = thread_cpu_time_ns(os_thread);
  const int64_t before_ns = std::exchange(thread.cpu_ns, cpu_ns);
  const int64_t ran_ns = cpu_ns - before_ns;
  if (before_ns < 0 || cpu_ns < 0 || ran_ns <= 0)  // it is new, has ended, or did not run
    return;
  seen_ns_ += ran_ns;
  if (thread.is_own)
    return;
  if (std::find(callers.begin(), callers.end(), os_thread) != callers.end()) {
    row.callers_ns += ran_ns;
    return;
  }
  row.helpers_ns += ran_ns;
  row.most_ns = std::max(row.most_ns, ran_ns);
  ++row.helpers;
}

void ThreadActivity::list() {
  is_list_stale_ = false;
  ++listing_;
  const std::vector<int64_t> listed = numbered_entries("/proc/self/task/");
  listed_process_ns_ = process_cpu_ns();
  seen_ns_ = 0;
  const size_t read = std::min(listed.size(), kMostThreads);
  unread_ = std::max(unread_, static_cast<int64_t>(listed.size() - read));
  for (size_t i = 0; i < read; ++i) {
    Known& thread = threads_[listed[i]];
    if (thread.listing == 0)
      thread.is_own = thread_name(listed[i]) == kOwnThreadName;
    thread.listing = listing_;
  }
  std::erase_if(threads_, [&](const auto& entry) { return entry.second.listing < listing_; });
}

void ThreadActivity::write() {
  is_list_stale_ = true;
  written_ += static_cast<int64_t>(rows_.size());
  if (written_ >= kRowsToRarer) {
    written_ -= kRowsToRarer / 2;
    stride_ *= 2;
  }
  rows_.write(recorder_);
}

}  // namespace perfprobe
