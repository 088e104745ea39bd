// Calls of outermost modules, as they begin, into the recording.
#pragma once

#include <mutex>

#include "core/module_call_row.h"
#include "core/recorder.h"
#include "core/row_table.h"

namespace perfprobe {

// Never destroyed: the writer may still call it.
class ModuleCalls {
 public:
  explicit ModuleCalls(Recorder& recorder) : recorder_(recorder) {}
  ModuleCalls(const ModuleCalls&) = delete;
  ModuleCalls& operator=(const ModuleCalls&) = delete;

  // Any thread may call it. Nothing is kept while the recorder holds rows back: a day of calls is
  // too much.
  void add(const ModuleCallRow& call) noexcept;
  // Writes the rest, before the recorder closes.
  void stop();

 private:
  static void ring(void* self);
  void write();

  Recorder& recorder_;
  std::mutex mutex_;
  bool has_stopped_ = false;
  RowTable<ModuleCallRow> rows_;
};

}  // namespace perfprobe
