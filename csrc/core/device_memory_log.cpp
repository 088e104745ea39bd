#include "core/device_memory_log.h"

#include <new>
#include <pthread.h>
#include <utility>

namespace perfprobe {
namespace {

std::atomic<DeviceMemoryLog*> current_log{nullptr};

void forget_log_in_child() {
  current_log = nullptr;
}

}  // namespace

DeviceMemoryLog::DeviceMemoryLog(Recorder& recorder) : recorder_(recorder) {
  static const int fork_handler = pthread_atfork(nullptr, nullptr, forget_log_in_child);
  static_cast<void>(fork_handler);
}

void DeviceMemoryLog::start() {
  const std::lock_guard lock(mutex_);
  runs_ = true;
  current_log = this;
}

void DeviceMemoryLog::stop() {
  if (void (*read)() = read_.exchange(nullptr); read != nullptr)
    read();
  current_log = nullptr;
  const std::lock_guard lock(mutex_);
  if (!std::exchange(runs_, false))
    return;
  rows_.write(recorder_);
  rows_ = {};
}

bool DeviceMemoryLog::is_running() {
  return current_log.load(std::memory_order_relaxed) != nullptr;
}

void DeviceMemoryLog::mark() {
  DeviceMemoryLog* log = current_log;
  void (*read)() = log == nullptr ? nullptr : log->read_.load();
  if (read != nullptr)
    read();
}

// The writer is asked for one heartbeat after the first of its readings, so that it does nothing
// for a program without any.
void DeviceMemoryLog::add(const DeviceMemory& reading) try {
  const std::lock_guard lock(mutex_);
  if (!runs_)
    return;
  const bool is_first = rows_.size() == 0;
  rows_.add(reading);
  ++readings_;
  if (is_first)
    recorder_.set_heartbeat_alarm(&DeviceMemoryLog::ring, this);
  else if (rows_.is_full())
    rows_.write(recorder_);
} catch (const std::bad_alloc&) {  // this reading has no row; the program goes on
}

void DeviceMemoryLog::ring(void* self) {
  static_cast<DeviceMemoryLog*>(self)->beat();
}

void DeviceMemoryLog::beat() {
  const std::lock_guard lock(mutex_);
  if (runs_)
    rows_.write(recorder_);
}

}  // namespace perfprobe
