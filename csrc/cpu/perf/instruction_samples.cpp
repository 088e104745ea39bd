#include "cpu/perf/instruction_samples.h"

#include <algorithm>
#include <cerrno>
#include <new>
#include <set>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include <utility>

#include "core/clock.h"
#include "core/kernel_files.h"
#include "core/native_thread.h"
#include "core/thread_name.h"

namespace perfprobe {
namespace {

constexpr std::string_view kName = "cpu-clock";
constexpr uint64_t kInstructionPointer = 8;  // PERF_REG_X86_IP of <asm/perf_regs.h>
constexpr size_t kMostCalls = 65'536;        // addresses whose kind of kernel entry is remembered

// Sets whether only threads inherit the event, not child processes. Headers before Linux 5.13 do
// not have that field.
void keep_to_threads([[maybe_unused]] perf_event_attr& event, [[maybe_unused]] bool is_kept) {
#ifdef PERF_ATTR_SIZE_VER7
  event.inherit_thread = is_kept ? 1 : 0;
#endif
}

bool is_kept_to_threads([[maybe_unused]] const perf_event_attr& event) {
#ifdef PERF_ATTR_SIZE_VER7
  return event.inherit_thread == 1;
#else
  return false;
#endif
}

perf_event_attr sampling_event(int64_t period_ns) {
  perf_event_attr event = plain_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
  event.sample_period = static_cast<uint64_t>(period_ns);
  event.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER;
  event.sample_regs_user = uint64_t{1} << kInstructionPointer;
  event.use_clockid = 1;
  event.clockid = CLOCK_MONOTONIC;
  event.inherit = 1;
  keep_to_threads(event, true);
  return event;
}

struct Opened {
  Descriptor event;
  int error;
};

// Reduces the event to what this kernel and its settings allow: no time in the kernel if
// perf_event_paranoid is above 1, and no limit to threads before Linux 5.13. Child processes are
// then sampled too; `add` leaves them out.
Opened open_allowed(perf_event_attr& event, OpenEvent open, pid_t thread, int processor) {
  for (;;) {
    Descriptor opened = open(&event, thread, processor, -1, PERF_FLAG_FD_CLOEXEC);
    if (opened.is_open())
      return {std::move(opened), 0};
    const int error = errno;
    if ((error == EACCES || error == EPERM) && event.exclude_kernel == 0)
      event.exclude_kernel = 1;
    else if ((error == EINVAL || error == E2BIG) && is_kept_to_threads(event))
      keep_to_threads(event, false);
    else
      return {Descriptor(), error};
  }
}

std::vector<int> processors_online() {
  std::vector<int> found;
  KernelFile file;
  std::string_view text = file.read("/sys/devices/system/cpu/online");  // "0-3,8"
  while (!text.empty()) {
    const int64_t first = take_number(text);
    int64_t last = first;
    if (!text.empty() && text.front() == '-') {
      text.remove_prefix(1);
      last = take_number(text);
    }
    for (int64_t processor = first; processor >= 0 && processor <= last; ++processor)
      found.push_back(static_cast<int>(processor));
    if (text.empty() || text.front() != ',')
      break;
    text.remove_prefix(1);
  }
  if (found.empty())
    for (int processor = 0; processor < ::sysconf(_SC_NPROCESSORS_ONLN); ++processor)
      found.push_back(processor);
  return found;
}

[[noreturn]] void refuse(int error) {
  throw RefusedEvent(refusal_of(error, kName, EventNeed::user, paranoid_level()));
}

}  // namespace

InstructionSamples::InstructionSamples(Recorder& recorder, int64_t period_ns, OpenEvent open)
    : recorder_(recorder), open_(open), event_(sampling_event(period_ns)) {
  figures_.period_ns = period_ns;
  figures_.every = 1;
}

void InstructionSamples::try_out(OpenEvent open) {
  perf_event_attr event = sampling_event(1'000'000'000);
  const Opened opened = open_allowed(event, open, 0, -1);
  if (!opened.event.is_open())
    refuse(opened.error);
}

void InstructionSamples::start() {
  const std::lock_guard lock(mutex_);
  const int64_t before_ns = thread_cpu_ns();
  try {
    open_all();
  } catch (...) {
    close_all();
    throw;
  }
  runs_ = true;
  figures_.with_kernel = event_.exclude_kernel == 0;
  figures_.started_ns = monotonic_ns();
  figures_.cpu_ns += thread_cpu_ns() - before_ns;
  recorder_.set_heartbeat_alarm(&InstructionSamples::ring, this);
}

// A thread that starts meanwhile inherits the events only if the thread that starts it already has
// them. The list of threads is therefore read until it has no new ones.
void InstructionSamples::open_all() {
  std::set<int64_t> opened;
  for (bool has_new = true; std::exchange(has_new, false);) {
    for (const int64_t thread : numbered_entries("/proc/self/task/")) {
      if (!opened.insert(thread).second || thread_name(thread) == kOwnThreadName)
        continue;
      has_new = true;
      open_thread(static_cast<pid_t>(thread));
    }
  }
  if (events_.empty())
    refuse(ENODEV);
  for (const Descriptor& event : events_)
    ::ioctl(event.number(), PERF_EVENT_IOC_ENABLE, 0);
}

// Opens one event for each processor: the kernel allows no ring for an inherited event on all of
// them together.
void InstructionSamples::open_thread(pid_t thread) {
  event_.disabled = 1;
  for (const int processor : processors_online()) {
    Opened opened = open_allowed(event_, open_, thread, processor);
    if (opened.error == ESRCH || opened.error == ENODEV)  // the thread or the processor is gone
      continue;
    if (!opened.event.is_open())
      refuse(opened.error);
    const int event = events_.emplace_back(std::move(opened.event)).number();
    const auto output = output_.find(processor);
    if (output != output_.end()) {
      ::ioctl(event, PERF_EVENT_IOC_SET_OUTPUT, events_[output->second].number());
      continue;
    }
    const int error = rings_.emplace_back().map(event);
    if (error == EPERM)
      throw RefusedEvent(
          {"cpu-clock has no memory for samples: kernel.perf_event_mlock_kb is used up",
           "sudo sysctl kernel.perf_event_mlock_kb=4096"});
    if (error != 0)
      refuse(error);
    output_.emplace(processor, events_.size() - 1);
  }
}

void InstructionSamples::close_all() {
  rings_.clear();
  events_.clear();
  output_.clear();
}

void InstructionSamples::stop() {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(runs_, false))
    return;
  if (has_lost(events_.size()))
    ++figures_.times_closed;
  for (const Descriptor& event : events_)
    ::ioctl(event.number(), PERF_EVENT_IOC_DISABLE, 0);
  figures_.stopped_ns = monotonic_ns();
  read();
  close_all();
}

// Whether the program has closed one of the next `most` events. On a machine with many processors
// there are thousands.
bool InstructionSamples::has_lost(size_t most) {
  for (size_t i = 0; i < std::min(most, events_.size()); ++i)
    if (events_[next_checked_++ % events_.size()].is_lost())
      return true;
  return false;
}

void InstructionSamples::open_again() {
  ++figures_.times_closed;
  close_all();
  try {
    open_all();
  } catch (const RefusedEvent&) {
    close_all();
    runs_ = false;
    figures_.ended = true;
    figures_.stopped_ns = monotonic_ns();
  }
}

InstructionFigures InstructionSamples::figures() const {
  InstructionFigures figures = figures_;
  figures.functions = code_.functions();
  figures.others = code_.others();
  return figures;
}

void InstructionSamples::ring(void* self) {
  static_cast<InstructionSamples*>(self)->beat();
}

void InstructionSamples::beat() {
  const std::lock_guard lock(mutex_);
  if (!runs_)
    return;
  try {
    read();
    if (has_lost(kCheckedAtOnce))
      open_again();
  } catch (const std::bad_alloc&) {  // the next reading gets what was found until here
  }
  recorder_.set_heartbeat_alarm(&InstructionSamples::ring, this);
}

void InstructionSamples::read() {
  const int64_t before_ns = thread_cpu_ns();
  taken_.clear();
  for (EventRing& ring : rings_)
    ring.take(taken_, figures_.lost);
  std::sort(taken_.begin(), taken_.end(),
            [](const auto& left, const auto& right) { return left.time_ns < right.time_ns; });
  if (!taken_.empty())
    code_.refresh();
  for (const InstructionSample& sample : taken_)
    add(sample);
  code_.write();
  written_ += static_cast<int64_t>(rows_.size());
  rows_.write(recorder_);
  if (written_ >= rows_to_rarer_) {
    rows_to_rarer_ += kRowsToRarer / 2;
    figures_.every *= 2;
  }
  figures_.cpu_ns += thread_cpu_ns() - before_ns;
}

// In a long recording only every second sample becomes a row, later every fourth, and so on. A row
// then stands for more time.
void InstructionSamples::add(const InstructionSample& sample) {
  if (sample.process != ::getpid())
    return;
  ++figures_.samples;
  if (++skipped_ < figures_.every)
    return;
  skipped_ = 0;
  const Mode mode = mode_of(sample);
  const uint64_t address = sample.is_in_kernel ? sample.user_address : sample.address;
  rows_.add({sample.time_ns, figures_.period_ns * figures_.every, thread_row(sample.thread),
             code_.find(address), mode});
}

// The two bytes before the address at which the program continues show whether it made a system
// call.
Mode InstructionSamples::mode_of(const InstructionSample& sample) {
  if (!sample.is_in_kernel)
    return Mode::program;
  if (is_call_.size() >= kMostCalls)
    is_call_.clear();
  const auto [known, is_new] = is_call_.try_emplace(sample.user_address, false);
  if (is_new && sample.user_address != 0) {
    constexpr std::array<uint8_t, 2> kSystemCall{0x0f, 0x05};
    std::array<uint8_t, 2> before{};
    known->second =
        memory_.read(reinterpret_cast<const void*>(sample.user_address - before.size()), before) &&
        before == kSystemCall;
  }
  return known->second ? Mode::system_call : Mode::interrupted;
}

int32_t InstructionSamples::thread_row(int32_t thread) {
  const auto [known, is_new] = threads_.try_emplace(thread, kNone);
  if (is_new)
    known->second = thread_rows_.add(thread, [&] { return thread_name(thread); });
  return known->second;
}

}  // namespace perfprobe
