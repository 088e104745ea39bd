// Maps code objects and nn.Module objects to rows of the recording, on first sight.
//
// Every call needs the GIL and runs no user code: no attribute look-up that a class could override,
// no garbage collection. Code objects are kept alive until `release`, so that an address never
// means two of them. Modules are only referenced weakly.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include <Python.h>

#include "core/intern_table.h"
#include "core/recorder.h"
#include "core/recorder_port.h"
#include "core/user_code.h"
#include "python/next_instructions.h"

namespace perfprobe {

class PythonNames {
 public:
  explicit PythonNames(Recorder& recorder) : recorder_(recorder) {}

  // Returns the stack of this call in `outer`.
  int32_t add_call(int32_t outer, const FrameRef& frame, int32_t module);

  // Returns the module's row. `root` is the outermost module of the stack. The name comes from its
  // tree, from the tree of a module that contains it, or from the module it wraps, whose row it
  // shares.
  ModuleRef find_module(PyObject* module, PyObject* root);
  // Returns the module that holds this parameter, of the modules named so far.
  ModuleRef find_holder(PyObject* parameter);
  [[nodiscard]] uint32_t modules_named() const { return modules_named_; }
  [[nodiscard]] uint32_t module_generation() const { return module_generation_; }

  // Decides which code is the user's: see find_owner.
  UserCode& users() { return users_; }

  // Releases everything that was kept alive.
  void release();

 private:
  struct CodeRow {
    int32_t file, function, first_line;
    Offsets next_instructions;
  };
  struct Instruction {
    const void* code;
    int32_t offset;
    bool operator==(const Instruction&) const = default;
  };
  struct InstructionHash {
    size_t operator()(const Instruction& key) const {
      return reinterpret_cast<size_t>(key.code) * 31 + static_cast<size_t>(key.offset);
    }
  };
  struct KnownModule {
    PyObject* weak = nullptr;
    int32_t id = kNone;
    int32_t root = kNone;
    int32_t wrapper = kNone;  // type of the library's module that wraps it
  };

  struct Tables {
    MappedPool pool;
    std::pmr::unordered_map<const void*, CodeRow> codes{pool.resource()};
    std::pmr::unordered_map<Instruction, int32_t, InstructionHash> frames{pool.resource()};
    std::pmr::unordered_map<PyObject*, KnownModule> modules{pool.resource()};
    std::pmr::unordered_map<int32_t, int> new_roots{pool.resource()};  // by type
    // Parameters by address, each with the first module that was seen to hold it. Check it before
    // use.
    std::pmr::unordered_map<PyObject*, PyObject*> holders{pool.resource()};
    MappedVector<PyObject*> unlisted;  // modules whose parameters are not in `holders` yet
    MappedVector<PyObject*> kept;      // code objects
    std::pmr::deque<PyObject*> buried{pool.resource()};
  };

  Tables& tables();
  int32_t frame_row(const FrameRef& frame);
  int32_t cut_row();
  bool asks_next(const FrameRef& frame);
  const CodeRow& code_row(PyCodeObject* code);

  [[nodiscard]] const KnownModule* find_known(PyObject* module);
  int32_t type_of(PyObject* module);
  PyObject* find_wrapped(PyObject* root);
  PyObject* whole_of(PyObject* root);
  void stand_for(PyObject* root, PyObject* wrapped);
  int32_t add_tree(PyObject* root);
  void add_children(PyObject* module, int32_t id, int32_t root_id, std::vector<PyObject*>& found);
  void add_stray(PyObject* module, int32_t root_id);
  bool remember(PyObject* module, int32_t id, int32_t root_id);
  void bury(PyObject* weak);
  void list_parameters();

  Recorder& recorder_;
  UserCode users_;
  // Freed with the recording: even empty tables take pages, and recorders that have ended are kept.
  std::unique_ptr<Tables> tables_;
  std::atomic<uint32_t> module_generation_{0};
  std::atomic<uint32_t> modules_named_{0};
};

}  // namespace perfprobe
