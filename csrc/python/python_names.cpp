#include "python/python_names.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>
#include <utility>

#include "python/keep_exception.h"
#include "python/module_owner.h"
#include "python/module_tree.h"
#include "python/read_objects.h"

namespace perfprobe {
namespace {

// How many modules of a type are searched for an owner: a program may keep making such modules.
constexpr int kOwnersOfAType = 256;

PyObject* function_name(const PyCodeObject* code) {
#if PY_VERSION_HEX >= 0x030B0000
  return code->co_qualname;
#else
  return code->co_name;
#endif
}

const char* type_name(PyObject* object) {
  const char* full = Py_TYPE(object)->tp_name;
  const char* dot = std::strrchr(full, '.');
  return dot == nullptr ? full : dot + 1;
}

bool holds(PyObject* module, PyObject* parameter) {
  PyObject* parameters = own_dict(module, "_parameters");
  PyObject* key = nullptr;
  PyObject* value = nullptr;
  for (Py_ssize_t at = 0;
       parameters != nullptr && PyDict_Next(parameters, &at, &key, &value) != 0;) {
    if (value == parameter)
      return true;
  }
  return false;
}

PyObject* referent(PyObject* weak) {
  return reinterpret_cast<PyWeakReference*>(weak)->wr_object;
}

}  // namespace

int32_t PythonNames::add_call(int32_t outer, const FrameRef& frame, int32_t module) {
  const NoCollection no_collection;
  const KeepException keep_exception;
  const bool is_cut = frame.code == kCutFrames.code;
  const int32_t row = is_cut ? cut_row() : frame_row(frame);
  const int32_t asks = !is_cut && asks_next(frame) ? 1 : kNone;
  return recorder_.define(
      [&](Definitions& definitions) { return definitions.add_stack({outer, row, module, asks}); });
}

PythonNames::Tables& PythonNames::tables() {
  if (tables_ == nullptr)
    tables_ = std::make_unique<Tables>();
  return *tables_;
}

int32_t PythonNames::frame_row(const FrameRef& frame) {
  const Instruction instruction{frame.code, frame.instruction};
  const auto known = tables().frames.find(instruction);
  if (known != tables().frames.end())
    return known->second;
  auto* code = static_cast<PyCodeObject*>(const_cast<void*>(frame.code));
  const CodeRow& row = code_row(code);
  int32_t line = frame.instruction < 0 ? row.first_line : PyCode_Addr2Line(code, frame.instruction);
  if (line < 0)
    line = row.first_line;  // the compiler gave this instruction no line
  const FrameKey key{row.file, row.function, row.first_line, line};
  const int32_t id =
      recorder_.define([&](Definitions& definitions) { return definitions.add_frame(key); });
  tables().frames.emplace(instruction, id);
  return id;
}

bool PythonNames::asks_next(const FrameRef& frame) {
  auto* code = static_cast<PyCodeObject*>(const_cast<void*>(frame.code));
  return std::ranges::binary_search(code_row(code).next_instructions, frame.instruction);
}

// Named like generated code, so that it is nobody's file.
int32_t PythonNames::cut_row() {
  return recorder_.define([](Definitions& definitions) {
    definitions.count_cut_stack();
    return definitions.add_frame({definitions.intern("<not recorded>").id,
                                  definitions.intern("(outer frames cut)").id, 0, 0});
  });
}

const PythonNames::CodeRow& PythonNames::code_row(PyCodeObject* code) {
  const auto known = tables().codes.find(code);
  if (known != tables().codes.end())
    return known->second;
  Py_INCREF(code);
  tables().kept.push_back(reinterpret_cast<PyObject*>(code));
  auto row = recorder_.define([&](Definitions& definitions) {
    return CodeRow{definitions.intern(text_of(code->co_filename)).id,
                   definitions.intern(text_of(function_name(code))).id, code->co_firstlineno,
                   next_instructions(bytecode_of(code), tables().pool.resource())};
  });
  return tables().codes.emplace(code, std::move(row)).first->second;
}

const PythonNames::KnownModule* PythonNames::find_known(PyObject* module) {
  const auto known = tables().modules.find(module);
  const bool alive = known != tables().modules.end() && referent(known->second.weak) == module;
  return alive ? &known->second : nullptr;
}

ModuleRef PythonNames::find_module(PyObject* module, PyObject* root) {
  const NoCollection no_collection;
  const KeepException keep_exception;
  // A new root may contain modules that already have a name of their own.
  if (find_known(root) == nullptr || find_known(module) == nullptr) {
    const int32_t root_id = add_tree(find_known(root) == nullptr ? whole_of(root) : root);
    if (find_known(module) == nullptr)
      add_stray(module, root_id);
  }
  const KnownModule* known = find_known(module);
  return known == nullptr ? ModuleRef{kNone, nullptr} : ModuleRef{known->id, known->weak};
}

int32_t PythonNames::type_of(PyObject* module) {
  return recorder_.define(
      [&](Definitions& definitions) { return definitions.intern(type_name(module)).id; });
}

// Returns the module that this one wraps, if an earlier module of its type did so too.
PyObject* PythonNames::find_wrapped(PyObject* root) {
  const int32_t type = type_of(root);
  PyObject* part = only_part(root);
  for (size_t around = 0; part != nullptr && around < kMostAround; ++around) {
    const KnownModule* known = find_known(part);
    if (known != nullptr && known->wrapper == type)
      return part;
    part = only_part(part);
  }
  return nullptr;
}

// Returns the module that names the tree of `root`, a new module: the one that contains it, which
// may never be called as a whole, or `root` itself. If `root` wraps another module, `root` gets its
// name here.
PyObject* PythonNames::whole_of(PyObject* root) {
  if (PyObject* wrapped = find_wrapped(root); wrapped != nullptr) {
    stand_for(root, wrapped);
    return root;
  }
  const int32_t type = type_of(root);
  if (++tables().new_roots[type] > kOwnersOfAType)
    return root;
  const auto is_named = [this](PyObject* module) { return find_known(module) != nullptr; };
  const ModuleOwner owner = find_owner(root, is_named, users_);
  if (owner.wrapped == nullptr)
    return owner.outermost;
  if (!is_named(owner.wrapped))
    add_tree(owner.outermost);
  if (is_named(owner.wrapped)) {
    tables().modules[owner.wrapped].wrapper = type;
    stand_for(root, owner.wrapped);
  }
  return root;
}

// Gives the modules from `root` to the wrapped one the row of the wrapped one.
void PythonNames::stand_for(PyObject* root, PyObject* wrapped) {
  const KnownModule known = *find_known(wrapped);
  for (PyObject* module = root; module != wrapped; module = only_part(module))
    remember(module, known.id, known.root);
}

// Names every module below `root` and returns the id of the tree. A module that was named under a
// smaller root before (it was called alone first) now gets its full name.
int32_t PythonNames::add_tree(PyObject* root) {
  if (find_known(root) == nullptr) {
    const int32_t id = recorder_.define([&](Definitions& definitions) {
      return definitions.add_root_module(definitions.intern(type_name(root)).id);
    });
    if (!remember(root, id, id))
      return kNone;
  }
  const int32_t root_id = find_known(root)->root;
  std::vector<PyObject*> found{root};
  std::unordered_set<PyObject*> visited{root};
  while (!found.empty() && tables().modules.size() < kModuleLimit) {
    PyObject* module = found.back();
    found.pop_back();
    std::vector<PyObject*> children;
    add_children(module, find_known(module)->id, root_id, children);
    // The first child is pushed last: a module with several paths is named by the first.
    for (auto child = children.rbegin(); child != children.rend(); ++child) {
      if (visited.insert(*child).second)
        found.push_back(*child);
    }
  }
  return root_id;
}

void PythonNames::add_children(PyObject* module, int32_t id, int32_t root_id,
                               std::vector<PyObject*>& found) {
  PyObject* children = child_modules(module);
  PyObject* key = nullptr;
  PyObject* child = nullptr;
  for (Py_ssize_t at = 0; children != nullptr && PyDict_Next(children, &at, &key, &child) != 0;) {
    if (child == Py_None || PyUnicode_Check(key) == 0)
      continue;
    const KnownModule* known = find_known(child);
    if (known == nullptr || known->root != root_id) {
      const int32_t child_id = recorder_.define([&](Definitions& definitions) {
        return definitions.add_module(
            {id, definitions.intern(text_of(key)).id, definitions.intern(type_name(child)).id});
      });
      if (!remember(child, child_id, root_id))
        continue;
    }
    found.push_back(child);
  }
}

// A module outside its caller's tree, such as one made in forward(). All of one type share a row.
void PythonNames::add_stray(PyObject* module, int32_t root_id) {
  const int32_t id = recorder_.define([&](Definitions& definitions) {
    return definitions.add_module(
        {root_id, definitions.intern("").id, definitions.intern(type_name(module)).id});
  });
  remember(module, id, root_id);
}

bool PythonNames::remember(PyObject* module, int32_t id, int32_t root_id) {
  PyObject* weak = PyWeakref_NewRef(module, nullptr);
  if (weak == nullptr) {  // objects of this class allow no weak reference, so it gets no name
    PyErr_Clear();
    return false;
  }
  KnownModule& known = tables().modules[module];
  if (known.weak != nullptr) {
    bury(known.weak);
    ++module_generation_;  // cached references to this module are now stale
  }
  known = {weak, id, root_id, kNone};
  tables().unlisted.push_back(module);
  ++modules_named_;
  return true;
}

ModuleRef PythonNames::find_holder(PyObject* parameter) {
  const NoCollection no_collection;
  const KeepException keep_exception;
  list_parameters();
  const auto found = tables().holders.find(parameter);
  if (found == tables().holders.end())
    return {kNone, nullptr};
  const KnownModule* known = find_known(found->second);
  if (known != nullptr && holds(found->second, parameter))
    return {known->id, known->weak};
  tables().holders.erase(found);  // its address belonged to another one
  return {kNone, nullptr};
}

// A parameter that modules share belongs to the first.
void PythonNames::list_parameters() {
  for (PyObject* module : tables().unlisted) {
    PyObject* parameters =
        find_known(module) == nullptr ? nullptr : own_dict(module, "_parameters");
    PyObject* key = nullptr;
    PyObject* value = nullptr;
    for (Py_ssize_t at = 0;
         parameters != nullptr && PyDict_Next(parameters, &at, &key, &value) != 0;) {
      const auto [place, is_new] = tables().holders.emplace(value, module);
      if (!is_new && (find_known(place->second) == nullptr || !holds(place->second, value)))
        place->second = module;
    }
  }
  tables().unlisted.clear();
}

// Another thread may be comparing a cached reference without the GIL. That takes a few
// instructions; this object is kept until many more modules have come.
void PythonNames::bury(PyObject* weak) {
  constexpr size_t kGraves = 1024;
  tables().buried.push_back(weak);
  if (tables().buried.size() <= kGraves)
    return;
  Py_DECREF(tables().buried.front());
  tables().buried.pop_front();
}

void PythonNames::release() {
  const NoCollection no_collection;
  if (tables_ == nullptr)
    return;
  for (const auto& [module, known] : tables_->modules)
    Py_DECREF(known.weak);
  for (PyObject* weak : tables_->buried)
    Py_DECREF(weak);
  for (PyObject* code : tables_->kept)
    Py_DECREF(code);
  tables_.reset();
}

}  // namespace perfprobe
