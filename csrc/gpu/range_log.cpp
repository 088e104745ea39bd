#include "gpu/range_log.h"

#include <algorithm>
#include <new>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utility>

#include "core/clock.h"
#include "core/mapped_memory.h"
#include "core/watching.h"

namespace perfprobe {

struct RangeThread {
  RangeRing ring;
  InternTable names;  // this and `last_id` are only touched by the thread itself
  int64_t last_id;
  // The rest is guarded by the log's lock.
  bool has_ended = false;
  MatchedThread matched;
};

namespace {

thread_local RangeThread* own_thread = nullptr;
thread_local bool own_thread_gone = false;

void free_thread(RangeThread* thread) {
  thread->~RangeThread();
  munmap(thread, sizeof(RangeThread));
}

}  // namespace

struct RangeThreadEnd {
  ~RangeThreadEnd() {
    own_thread_gone = true;
    if (own_thread != nullptr)
      RangeLog::instance().remove_thread(*std::exchange(own_thread, nullptr));
  }
};

RangeLog& RangeLog::instance() {
  static auto* log = [] {
    auto* made = new RangeLog;
    ::pthread_atfork([] { instance().before_fork(); }, [] { instance().after_fork(); },
                     [] { instance().in_child(); });
    return made;
  }();
  return *log;
}

void RangeLog::begin(Recorder& recorder) {
  const std::lock_guard lock(mutex_);
  recorder_ = &recorder;
  matcher_ = std::make_unique<RangeMatcher>(recorder, names_);
  started_ns_ = monotonic_ns();
  lost_ = 0;
  recording_ = true;
  recorder.set_heartbeat_alarm(&RangeLog::ring, this);
}

RangeFigures RangeLog::end() {
  recording_ = false;
  const std::lock_guard lock(mutex_);
  if (matcher_ == nullptr)
    return {};
  make_rows();
  for (RangeThread* thread : threads_) {
    matcher_->write_open(thread->matched);
    thread->matched.row = kNone;
    thread->matched.excess = 0;
  }
  matcher_->write_free();
  matcher_->write();
  RangeFigures figures = matcher_->figures();
  figures.lost = lost_;
  matcher_.reset();
  recorder_ = nullptr;
  return figures;
}

std::vector<RangeClient> RangeLog::clients() {
  const std::lock_guard lock(mutex_);
  return clients_;
}

int64_t RangeLog::push_own(const char* text) {
  const int64_t id = new_id();
  if (id != 0)
    put(RangeAct::push, RangeSource::perfprobe, kNone, name(text), id);
  return id;
}

void RangeLog::pop_own(int64_t id) {
  put(RangeAct::pop, RangeSource::perfprobe, kNone, RangeNames::kUnnamed, id);
}

void RangeLog::put_passed(const char* text, int64_t start_ns) {
  const int64_t id = new_id();
  if (id == 0)
    return;
  RangeThread* own = thread();
  const int64_t end_ns = monotonic_ns();
  const int32_t named = name(text);
  for (const auto& [act, time_ns] :
       {std::pair{RangeAct::push, start_ns}, std::pair{RangeAct::pop, end_ns}}) {
    if (own->ring.is_full())
      make_room(*own);
    if (own->ring.is_full()) {
      ++lost_;
      return;
    }
    const bool begins = act == RangeAct::push;
    own->ring.put(
        {time_ns, id, begins ? named : RangeNames::kUnnamed, kNone, RangeSource::python, act});
  }
}

int32_t RangeLog::name(const char* text) try {
  InternTable none;
  RangeThread* own = thread();
  return names_.find(text, own == nullptr ? none : own->names);
} catch (const std::bad_alloc&) {
  return RangeNames::kOther;
}

int32_t RangeLog::name(const wchar_t* text) try {
  InternTable none;
  RangeThread* own = thread();
  return names_.find(text, own == nullptr ? none : own->names);
} catch (const std::bad_alloc&) {
  return RangeNames::kOther;
}

// Unique in the process, without waiting for other threads.
int64_t RangeLog::new_id() {
  RangeThread* own = is_recording() ? thread() : nullptr;
  return own == nullptr ? 0 : ++own->last_id;
}

void RangeLog::put(RangeAct act, RangeSource source, int32_t domain, int32_t name, int64_t id) {
  if (!is_recording())
    return;
  const bool ends = act == RangeAct::pop || act == RangeAct::end;
  const bool is_outside = !is_in_window.load(std::memory_order_relaxed);
  if (is_outside && act == RangeAct::mark)
    return;
  // An end reads the clock before this work and a start after it, so the work is in no range.
  const int64_t end_ns = ends ? monotonic_ns() : 0;
  RangeThread* own = thread();
  if (own != nullptr && own->ring.is_full())
    make_room(*own);
  if (own == nullptr || own->ring.is_full()) {
    ++lost_;
    return;
  }
  own->ring.put({ends ? end_ns : monotonic_ns(), id, name, domain, source, act, is_outside});
}

RangeThread* RangeLog::thread() {
  return own_thread != nullptr ? own_thread : add_thread();
}

RangeThread* RangeLog::add_thread() try {
  if (own_thread_gone)
    return nullptr;  // the thread is ending, and another library still makes a call
  constexpr int64_t kIdsOfAThread = int64_t{1} << 40;
  static std::atomic<int64_t> threads{0};
  thread_local RangeThreadEnd end;
  static_cast<void>(&end);
  auto* made = new (map_bytes(sizeof(RangeThread))) RangeThread;
  made->last_id = ++threads * kIdsOfAThread;
  made->matched.os_thread = ::syscall(SYS_gettid);
  ::pthread_getname_np(::pthread_self(), made->matched.kernel_name,
                       sizeof(made->matched.kernel_name));
  const std::lock_guard lock(mutex_);
  threads_.push_back(made);
  return own_thread = made;
} catch (const std::bad_alloc&) {
  return nullptr;
}

// If ranges are recorded, its last events must still be taken.
void RangeLog::remove_thread(RangeThread& thread) {
  const std::lock_guard lock(mutex_);
  thread.has_ended = true;
  if (matcher_ == nullptr)
    free_ended();
}

void RangeLog::free_ended() {
  std::erase_if(threads_, [](RangeThread* thread) {
    const bool has_ended = thread->has_ended;
    if (has_ended)
      free_thread(thread);
    return has_ended;
  });
}

void RangeLog::attached(RangeSource source, const char* library) try {
  constexpr size_t kMost = 256;
  const std::lock_guard lock(mutex_);
  if (clients_.size() < kMost)
    clients_.push_back({source, library});
} catch (const std::bad_alloc&) {
}

// Called with the lock held.
void RangeLog::make_rows() try {
  for (RangeThread* thread : threads_) {
    take_from(*thread);
    if (thread->has_ended)
      matcher_->write_open(thread->matched);
  }
  free_ended();
  matcher_->end_round();
  matcher_->write();
} catch (const std::bad_alloc&) {
  ++lost_;
}

void RangeLog::take_from(RangeThread& thread) {
  thread.ring.take_all([&](const RangeEvent& event) {
    if (event.time_ns >= started_ns_)  // otherwise a late event of the previous recording
      matcher_->take(thread.matched, event);
  });
}

// Runs on the thread itself if the writer is too slow.
void RangeLog::make_room(RangeThread& thread) try {
  constexpr size_t kManyRows = 8192;
  const std::lock_guard lock(mutex_);
  if (matcher_ == nullptr)
    return;
  take_from(thread);
  if (matcher_->pending_rows() >= kManyRows)
    matcher_->write();
} catch (const std::bad_alloc&) {
  ++lost_;
}

void RangeLog::ring(void* log) {
  auto& self = *static_cast<RangeLog*>(log);
  const std::lock_guard lock(self.mutex_);
  if (self.matcher_ == nullptr)
    return;
  self.make_rows();
  self.recorder_->set_heartbeat_alarm(&RangeLog::ring, log);
}

void RangeLog::before_fork() {
  mutex_.lock();
  names_.mutex().lock();
}

void RangeLog::after_fork() {
  names_.mutex().unlock();
  mutex_.unlock();
}

// A forked child does not record, but may start to. The memory of the other threads is not freed.
void RangeLog::in_child() {
  recording_ = false;
  recorder_ = nullptr;
  static_cast<void>(matcher_.release());  // another thread may have been using it at the fork
  threads_.clear();
  if (own_thread != nullptr) {
    own_thread->ring.take_all([](const RangeEvent& /*event*/) {});
    own_thread->matched.os_thread = ::syscall(SYS_gettid);
    own_thread->matched.row = kNone;
    own_thread->matched.open.clear();
    threads_.push_back(own_thread);
  }
  after_fork();
}

const RangeSink& RangeLog::sink() {
  static const RangeSink made{
      [] { return instance().is_recording(); },
      [](const char* text) { return instance().name(text); },
      [](const wchar_t* text) { return instance().name(text); },
      [](int32_t name) { return instance().names_.text(name); },
      [](RangeSource source, int32_t domain, int32_t name) {
        instance().put(RangeAct::push, source, domain, name, 0);
      },
      [](RangeSource source, int32_t domain) {
        instance().put(RangeAct::pop, source, domain, RangeNames::kUnnamed, 0);
      },
      [](RangeSource source, int32_t domain, int32_t name) {
        const int64_t id = instance().new_id();
        if (id != 0)
          instance().put(RangeAct::start, source, domain, name, id);
        return id;
      },
      [](RangeSource source, int32_t domain, int32_t name, int64_t id) {
        instance().put(RangeAct::start, source, domain, name, id);
      },
      [](RangeSource source, int64_t id) {
        instance().put(RangeAct::end, source, kNone, RangeNames::kUnnamed, id);
      },
      [](RangeSource source, int32_t domain, int32_t name) {
        instance().put(RangeAct::mark, source, domain, name, 0);
      },
      [](int64_t os_thread, int32_t name) {
        const int64_t number = os_thread != 0 ? os_thread : ::syscall(SYS_gettid);
        instance().put(RangeAct::name_thread, {}, kNone, name, number);
      },
      [](RangeSource source, const char* library) { instance().attached(source, library); }};
  return made;
}

}  // namespace perfprobe
