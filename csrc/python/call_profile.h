// Counts the program's Python calls with the interpreter's own profiler (_lsprof, the core of
// cProfile), one per thread. A hook (profile_hook.h) between the interpreter and the profiler
// leaves out calls that are not the program's, adds up the cost of counting, and stops everything
// if the cost is too high.
//
// Everything here needs the GIL, which also guards it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <Python.h>

#include "core/clock.h"
#include "core/recorder.h"
#include "core/records.h"
#include "core/run_delay.h"
#include "python/bytecode_probe.h"
#include "python/code_filter.h"
#include "python/governor.h"

namespace perfprobe {

struct ProfileOptions {
  FilterRules rules;
  bool governed;
  double call_ns;  // cost of counting a call of a Python function; below, of a C function
  double c_call_ns;
  double slowed;    // the part of the time lost while Python instructions execute, 0 to 1
  double event_ns;  // what the profiler took for an event while these costs were measured
};

enum class Ending { none, stopped, too_costly, other_profiler, tracer, forked };

class CallProfile;

// Never destroyed: the thread may outlive the recording and check here whether it is still counted.
struct CountedThread {
  explicit CountedThread(CallProfile& of) : profile(&of) {}
  CallProfile* profile;
  PyObject* profiler = nullptr;  // an _lsprof.Profiler
  CodeFilter* filter = nullptr;
#if PY_VERSION_HEX < 0x030C0000
  PyThreadState* state = nullptr;
  Py_tracefunc forward = nullptr;        // _lsprof's own hook
  const PyMethodDef* calling = nullptr;  // the C function that was called last
  bool by_exec = false;                  // that was `exec`, and nothing has happened since
  // The body of a library's module sends no events until the `exec` that runs it returns. `wanted`
  // is set when the body begins.
  bool silence_wanted = false;
  bool silent = false;
  size_t silent_execs = 0;  // seen since then
#else
  std::array<PyObject*, 4> forwards{};  // the profiler's own callbacks
#endif
  int64_t os_thread = 0;
  std::string name;
  int32_t row = kNone;             // of the threads table
  std::atomic<bool> over = false;  // the thread has ended, so another one may reuse its profiler
};

// One for each recording; at most one counts at a time. Never destroyed.
class CallProfile {
 public:
  CallProfile(Recorder& recorder, ProfileOptions options);
  CallProfile(const CallProfile&) = delete;
  CallProfile& operator=(const CallProfile&) = delete;

  // The profile that counts now, nullptr if none does.
  static CallProfile* active() { return active_; }
  static void forget_in_child();

  // Starts on the calling thread; other threads join by `join`. Returns false with a Python
  // exception set if the interpreter's profiler or the hook is not available.
  bool begin();
  // Counts the calling thread from now on. On failure returns nullptr without an exception.
  CountedThread* join();
  // Stops counting. Functions that still run are counted up to now.
  void end(Ending why);
  // Writes what was counted so far: whole tables, with a higher snapshot number each time.
  void write();
  // Frees what was counted. Call it after `end` and the last `write`: a profiler of a thread keeps
  // 60 to 120 bytes for each function and call.
  void forget();

  // Called before a call is counted. Returns false if this has just ended the profile.
  bool count_call() {
    ++calls_;
    return --countdown_ != 0 || settle();
  }
  bool count_c_call() {
    ++c_calls_;
    return --countdown_ != 0 || settle();
  }

  // Calls what has the profiler count an event. Now and then it measures how long that takes here:
  // several times as long as in a loop of nothing but calls if the program needs the caches.
  template <class Forward>
  auto timed(Forward forward) {
    if (!std::exchange(is_timing_due_, false))
      return forward();
    const int64_t begun_ns = monotonic_ns();
    const auto result = forward();
    add_event(monotonic_ns() - begun_ns);
    return result;
  }

  // Adds the cost of counting since the last call. Returns false if that has ended the profile.
  // Writes a snapshot if one is due.
  bool settle();

  [[nodiscard]] const char* ending_text() const;  // empty while it counts
  [[nodiscard]] int64_t started_ns() const { return started_ns_; }
  [[nodiscard]] int64_t ended_ns() const { return ended_ns_; }
  [[nodiscard]] int64_t omitted_rows() const { return omitted_rows_; }
  [[nodiscard]] double event_ns() const { return event_ns_; }  // recent mean, 0 if not measured

 private:
  static constexpr int kCallsBetweenLooks = 128;
  static constexpr size_t kMostThreads = 64;  // with a profiler of their own

  int64_t undelayed_ns(int64_t now_ns);
  bool spend(int64_t now_ns, double cost_ns);
  double new_cost_ns();
  void add_event(int64_t took_ns);
  [[nodiscard]] double coldness() const;
  CountedThread* make_thread();
  void write_facts(int64_t until_ns);

  static CallProfile* active_;

  Recorder& recorder_;
  const ProfileOptions options_;
  std::vector<std::unique_ptr<CountedThread>> threads_;
  int64_t joined_ = 0;
  Governor governor_;
  RunDelay delay_;  // of the first thread
  int64_t delayed_ns_ = 0;
  int64_t next_delay_ns_ = 0;
  int countdown_ = kCallsBetweenLooks;
  int64_t calls_ = 0;
  int64_t c_calls_ = 0;
  int64_t settled_calls_ = 0;
  int64_t settled_c_calls_ = 0;
  double estimated_ns_ = 0;
  bool is_timing_due_ = false;
  double event_ns_ = 0;
  BytecodeProbe probe_;
  int64_t started_ns_ = 0;
  int64_t ended_ns_ = 0;
  Ending ending_ = Ending::none;
  int32_t snapshot_ = 0;
  int64_t next_snapshot_ns_ = 0;
  int64_t snapshot_gap_ns_ = 500'000'000;
  int64_t omitted_rows_ = 0;
};

}  // namespace perfprobe
