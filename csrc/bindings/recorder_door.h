// The recorder as other extension modules see it: a RecorderPort over a Recorder and its Python
// names.
#pragma once

#include <pybind11/pybind11.h>

#include "bindings/capsule.h"
#include "core/any_thread_rows.h"
#include "core/clock.h"
#include "core/recorder.h"
#include "core/recorder_port.h"
#include "core/wait_readings.h"
#include "python/python_names.h"

namespace perfprobe {

class RecorderDoor final : public RecorderPort {
 public:
  RecorderDoor(const std::string& path, size_t buffer_bytes, int64_t flush_ns)
      : recorder_(path, buffer_bytes, flush_ns),
        names_(recorder_),
        module_calls_(recorder_),
        wait_readings_(recorder_) {}

  int32_t add_thread(int64_t os_thread, int64_t forward_id, const char* name) override {
    return recorder_.define([&](Definitions& definitions) {
      return definitions.add_thread({os_thread, forward_id, definitions.intern(name).id});
    });
  }
  InternedText intern_name(const char* text, bool finite) override {
    return recorder_.define(
        [&](Definitions& definitions) { return definitions.intern_name(text, finite); });
  }
  int32_t add_signature(Hash128 hash, const SignatureText& signature) override {
    return recorder_.define(
        [&](Definitions& definitions) { return definitions.add_signature(hash, signature); });
  }
  void add_values(int32_t signature, const char* values) override {
    recorder_.define([&](Definitions& definitions) { definitions.add_values(signature, values); });
  }
  [[nodiscard]] int32_t find_stack(Hash128 hash) override {
    return recorder_.define([&](Definitions& definitions) { return definitions.find_stack(hash); });
  }
  void remember_stack(Hash128 hash, int32_t stack) override {
    recorder_.define([&](Definitions& definitions) { definitions.remember_stack(hash, stack); });
  }
  int32_t add_call(int32_t outer, const FrameRef& frame, int32_t module) override {
    return names_.add_call(outer, frame, module);
  }
  ModuleRef find_module(const void* module, const void* root) override {
    return names_.find_module(object(module), object(root));
  }
  ModuleRef find_holder(const void* parameter) override {
    return names_.find_holder(object(parameter));
  }
  [[nodiscard]] uint32_t modules_named() const override { return names_.modules_named(); }
  [[nodiscard]] uint32_t module_generation() const override { return names_.module_generation(); }
  void add_module_call(const ModuleCallRow& call) override { module_calls_.add(call); }
  void read_wait(int32_t thread) override { wait_readings_.read(thread); }
  Chunk* exchange_chunk(Chunk* full, int32_t thread, RowKind kind) override {
    return recorder_.exchange_chunk(full, thread, kind);
  }
  void return_chunk(Chunk* chunk) override { recorder_.return_chunk(chunk); }
  void count_dropped(Dropped what) override { recorder_.count_dropped(what); }
  [[nodiscard]] bool takes_tsc() const override { return ticks_are_tsc; }

  Recorder& recorder() { return recorder_; }
  PythonNames& names() { return names_; }
  // Writes the rest, then closes the recorder.
  void close() {
    module_calls_.stop();
    wait_readings_.stop();
    recorder_.close();
  }

 private:
  static PyObject* object(const void* address) {
    return static_cast<PyObject*>(const_cast<void*>(address));
  }

  Recorder recorder_;
  PythonNames names_;
  AnyThreadRows<ModuleCallRow> module_calls_;
  WaitReadings wait_readings_;
};

// Returns the recorder behind `Recorder.capsule()`. No other module makes such ports.
inline Recorder& recorder_in(const pybind11::object& capsule) {
  auto& port = pointed_by<RecorderPort>(capsule, kRecorderCapsule);
  return static_cast<RecorderDoor&>(port).recorder();
}

}  // namespace perfprobe
