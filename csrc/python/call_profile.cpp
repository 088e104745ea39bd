#include "python/call_profile.h"

#include <algorithm>
#include <cstdio>
#include <new>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/clock.h"
#include "python/profile_hook.h"
#include "python/profile_rows.h"

namespace perfprobe {
namespace {

constexpr int64_t kLongestGapNs = 30'000'000'000;
constexpr int64_t kSnapshotShare = 100;  // snapshots take at most this part of the time
constexpr const char* kEndings[] = {"",       "stopped", "too costly", "other profiler",
                                    "tracer", "forked"};

std::string thread_name() {
  char name[32] = "";
  pthread_getname_np(pthread_self(), name, sizeof(name));
  return name;
}

// The type is saved before the program runs, which may have a file with the same name as the
// module.
PyObject* new_profiler() {
  static PyObject* type = nullptr;
  if (type == nullptr) {
    PyObject* module = PyImport_ImportModule("_lsprof");
    if (module == nullptr)
      return nullptr;
    type = PyObject_GetAttrString(module, "Profiler");
    Py_DECREF(module);
  }
  return type == nullptr ? nullptr : PyObject_CallNoArgs(type);
}

}  // namespace

CallProfile* CallProfile::active_ = nullptr;

CallProfile::CallProfile(Recorder& recorder, ProfileOptions options)
    : recorder_(recorder), options_(std::move(options)), probe_(recorder, *this) {}

const char* CallProfile::ending_text() const {
  return kEndings[static_cast<size_t>(ending_)];
}

// Only the thread that forked exists in the child, and its calls are not part of the recording.
void CallProfile::forget_in_child() {
  if (active_ == nullptr)
    return;
  active_->ending_ = Ending::forked;
  active_ = nullptr;
}

bool CallProfile::begin() {
  if (active_ != nullptr || is_occupied()) {
    PyErr_SetString(PyExc_RuntimeError, "another profiler, tracer or debugger is running");
    return false;
  }
  if (!open_hook())
    return false;
  active_ = this;
  started_ns_ = monotonic_ns();
  next_snapshot_ns_ = started_ns_ + snapshot_gap_ns_;
  if (options_.governed && options_.slowed > 0)
    probe_.begin();
  if (join() != nullptr && start_events()) {
    governor_.begin(undelayed_ns(started_ns_));
    return true;
  }
  end(Ending::stopped);
  PyErr_SetString(PyExc_RuntimeError, "the interpreter's profiler cannot be started");
  return false;
}

CountedThread* CallProfile::join() {
  CountedThread* thread = make_thread();
  if (thread == nullptr || !attach(*thread)) {
    PyErr_Clear();
    return nullptr;
  }
  ++joined_;
  set_this_thread(thread);
  return thread;
}

// Profilers of ended threads are reused. Otherwise they would pile up in a program that keeps
// starting threads.
CountedThread* CallProfile::make_thread() {
  if (threads_.size() >= kMostThreads) {
    for (const auto& thread : threads_) {
      if (thread->over.exchange(false)) {
        finish(*thread);
        return thread.get();
      }
    }
  }
  PyObject* profiler = new_profiler();
  if (profiler == nullptr)
    return nullptr;
  CountedThread* thread = threads_.emplace_back(std::make_unique<CountedThread>(*this)).get();
  thread->profiler = profiler;
  thread->filter = new CodeFilter(options_.rules);
  thread->os_thread = ::syscall(SYS_gettid);
  thread->name = thread_name();
  return thread;
}

void CallProfile::end(Ending why) {
  if (active_ != this)
    return;
  active_ = nullptr;
  ending_ = why;
  new_cost_ns();
  probe_.end();
  ended_ns_ = monotonic_ns();
  delay_.close();
  for (const auto& thread : threads_)
    finish(*thread);
  close_hook();
}

// A mean of the last measurements. A thread that lost its processor meanwhile took longer.
void CallProfile::add_event(int64_t took_ns) {
  constexpr int64_t kLongestNs = 10'000;
  constexpr double kMany = 32;
  const auto event_ns = static_cast<double>(std::min(took_ns, kLongestNs));
  event_ns_ += (event_ns - event_ns_) / (event_ns_ == 0 ? 1 : kMany);
}

// How many times as long as in the loops in which the costs were measured an event takes.
double CallProfile::coldness() const {
  return options_.event_ns > 0 ? std::max(event_ns_ / options_.event_ns, 1.0) : 1.0;
}

double CallProfile::new_cost_ns() {
  const double calls_ns = static_cast<double>(calls_ - settled_calls_) * options_.call_ns +
                          static_cast<double>(c_calls_ - settled_c_calls_) * options_.c_call_ns;
  const double cost_ns =
      calls_ns * coldness() + static_cast<double>(probe_.take_ns()) * options_.slowed;
  settled_calls_ = calls_;
  settled_c_calls_ = c_calls_;
  estimated_ns_ += cost_ns;
  return cost_ns;
}

// This time without what the first thread has waited for a processor. Waits are longer than the
// time between two readings.
int64_t CallProfile::undelayed_ns(int64_t now_ns) {
  constexpr int64_t kBetweenNs = 1'000'000;
  if (now_ns >= next_delay_ns_) {
    delayed_ns_ = std::max(delayed_ns_, delay_.read_ns(threads_.front()->os_thread));
    next_delay_ns_ = now_ns + kBetweenNs;
  }
  return now_ns - delayed_ns_;
}

// Adds the cost. If it was too much, ends the profile and returns true.
bool CallProfile::spend(int64_t now_ns, double cost_ns) {
  if (!options_.governed || !governor_.overspent(undelayed_ns(now_ns), cost_ns))
    return false;
  end(Ending::too_costly);
  write();
  return true;
}

// Every so many calls: adds their cost, and writes a snapshot if one is due.
bool CallProfile::settle() {
  countdown_ = kCallsBetweenLooks;
  is_timing_due_ = true;
  const int64_t now_ns = monotonic_ns();
  if (spend(now_ns, new_cost_ns()))
    return false;
  if (now_ns >= next_snapshot_ns_) {
    write();
    const int64_t took_ns = monotonic_ns() - now_ns;
    snapshot_gap_ns_ = std::min(snapshot_gap_ns_ * 3 / 2, kLongestGapNs);
    next_snapshot_ns_ = now_ns + std::max(snapshot_gap_ns_, kSnapshotShare * took_ns);
  }
  return true;
}

// May be called from within the hook: it runs no Python code and keeps the GIL. No holder of the
// recorder's locks ever waits for the GIL.
void CallProfile::write() try {
  const int64_t until_ns = ended_ns_ != 0 ? ended_ns_ : monotonic_ns();
  ProfileRows rows(recorder_);
  for (const auto& thread : threads_) {
    if (thread->row == kNone) {
      thread->row = recorder_.define([&](Definitions& definitions) {
        return definitions.add_thread(
            {thread->os_thread, kNone, definitions.intern(thread->name).id});
      });
    }
    if (!rows.add(thread->row, thread->profiler))
      return;
  }
  omitted_rows_ = rows.omitted();
  rows.write(snapshot_++);
  write_facts(until_ns);
} catch (const std::bad_alloc&) {  // the rows of an earlier snapshot still exist
}

// Only a profile that counts uses the profilers, and all users hold the GIL.
void CallProfile::forget() {
  if (active_ == this)
    return;
  for (const auto& thread : threads_) {
    PyObject* cleared = PyObject_CallMethod(thread->profiler, "clear", nullptr);
    if (cleared == nullptr)
      PyErr_Clear();
    Py_XDECREF(cleared);
  }
}

void CallProfile::write_facts(int64_t until_ns) {
  char text[512];
  const int length = std::snprintf(
      text, sizeof(text),
      "{\"started_ns\": %lld, \"counted_until_ns\": %lld, \"call_ns\": %.1f, \"c_call_ns\": %.1f, "
      "\"coldness\": %.2f, "
      "\"calls\": %lld, \"c_calls\": %lld, \"estimated_ns\": %.0f, \"threads\": %lld, "
      "\"library_imports\": \"%s\"",
      static_cast<long long>(started_ns_), static_cast<long long>(until_ns), options_.call_ns,
      options_.c_call_ns, coldness(), static_cast<long long>(calls_),
      static_cast<long long>(c_calls_), estimated_ns_, static_cast<long long>(joined_),
      options_.rules.libraries.empty() ? "counted" : "not counted");
  std::string facts(text, static_cast<size_t>(length));
  if (ending_ != Ending::none && ending_ != Ending::stopped) {
    facts +=
        ", \"ended_ns\": " + std::to_string(ended_ns_) + ", \"reason\": \"" + ending_text() + "\"";
  }
  recorder_.add_meta("cprofile", facts + "}");
}

}  // namespace perfprobe
