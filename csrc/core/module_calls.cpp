#include "core/module_calls.h"

#include <new>
#include <utility>

namespace perfprobe {

// The writer is asked for one heartbeat after the first row, so that it does nothing for a program
// without modules.
void ModuleCalls::add(const ModuleCallRow& call) noexcept try {
  if (recorder_.is_holding())
    return;
  bool is_full = false;
  {
    const std::lock_guard lock(mutex_);
    if (has_stopped_)
      return;
    if (rows_.size() == 0)
      recorder_.set_heartbeat_alarm(&ModuleCalls::ring, this);
    rows_.add(call);
    is_full = rows_.is_full();
  }
  if (is_full)
    write();
} catch (const std::bad_alloc&) {
  recorder_.count_dropped(Dropped::no_memory);
}

void ModuleCalls::stop() {
  write();
  const std::lock_guard lock(mutex_);
  has_stopped_ = true;
  rows_ = {};
}

void ModuleCalls::ring(void* self) {
  static_cast<ModuleCalls*>(self)->write();
}

// Without the lock: a thread of the program would wait for the disk.
void ModuleCalls::write() try {
  RowTable<ModuleCallRow> rows;
  {
    const std::lock_guard lock(mutex_);
    std::swap(rows, rows_);
  }
  rows.write(recorder_);
} catch (const std::bad_alloc&) {
  recorder_.count_dropped(Dropped::no_memory);
}

}  // namespace perfprobe
