#include "python/module_owner.h"

#include <algorithm>
#include <cstddef>
#include <unordered_set>
#include <vector>

#include "python/frame_values.h"
#include "python/module_tree.h"
#include "python/read_objects.h"

namespace perfprobe {
namespace {

constexpr size_t kMostFrames = 256;
constexpr size_t kMostLooks =
    16'384;  // limit on values of variables and attributes that are looked at
constexpr Py_ssize_t kMostElements = 64;
constexpr int kDeepest = 4;  // `self.trainer.agents[0].actor`

// Returns an attribute stored in the object itself, without running code of its class. Borrowed;
// nullptr for none.
PyObject* own_attribute(PyObject* object, PyObject* name) {
  if (_PyType_Lookup(Py_TYPE(object), name) != nullptr)
    return nullptr;  // a property, method or similar would take precedence
  PyObject* value = PyObject_GenericGetAttr(object, name);
  if (value == nullptr)
    PyErr_Clear();
  Py_XDECREF(value);  // the object keeps it alive
  return value;
}

bool has_attributes(PyObject* object) {
  return Py_TYPE(object)->tp_dictoffset != 0 && PyType_Check(object) == 0;
}

// Whether the file that defines an object's class belongs to a library, as far as known. Classes of
// torch do not count: programs build their models of them.
bool is_of_librarys_class(PyObject* object, const UserCode& users) {
  PyObject* name = PyDict_GetItemString(Py_TYPE(object)->tp_dict, "__module__");
  if (name == nullptr || PyUnicode_Check(name) == 0 || text_of(name).starts_with("torch."))
    return false;
  PyObject* module = PyDict_GetItem(PyImport_GetModuleDict(), name);
  PyObject* names =
      module == nullptr || PyModule_Check(module) == 0 ? nullptr : PyModule_GetDict(module);
  PyObject* file = names == nullptr ? nullptr : PyDict_GetItemString(names, "__file__");
  return file != nullptr && PyUnicode_Check(file) != 0 && !users.holds(text_of(file));
}

// Returns a library's module followed by the modules it wraps, each the only part of the previous
// one. For any other module returns only that module.
std::vector<PyObject*> chain_below(PyObject* module, const UserCode& users) {
  std::vector<PyObject*> chain{module};
  PyObject* part = only_part(module);
  if (part == nullptr || !is_of_librarys_class(module, users))
    return chain;
  for (; part != nullptr && chain.size() < kMostAround; part = only_part(part))
    chain.push_back(part);
  return chain;
}

class OwnerSearch {
 public:
  OwnerSearch(PyObject* module, const std::function<bool(PyObject*)>& is_named,
              const UserCode& users)
      : owner_(module),
        chain_(chain_below(module, users)),
        nearest_(chain_.size()),
        is_named_(is_named),
        users_(users),
        modules_name_(PyUnicode_InternFromString("_modules")) {}
  ~OwnerSearch() { Py_XDECREF(modules_name_); }
  OwnerSearch(const OwnerSearch&) = delete;
  OwnerSearch& operator=(const OwnerSearch&) = delete;

  ModuleOwner run() {
    if (modules_name_ == nullptr) {
      PyErr_Clear();
      return {owner_, nullptr};
    }
    search();
    const bool is_wrapped = owner_ == chain_[0] && nearest_ > 0 && nearest_ < chain_.size();
    if (!is_wrapped)
      return {owner_, nullptr};
    const auto wrapped = chain_.begin() + static_cast<std::ptrdiff_t>(nearest_);
    owner_ = *wrapped;
    without_ = {chain_.begin(), wrapped};  // the wrappers do not count
    looks_ = 0;
    search();
    return {owner_, *wrapped};
  }

 private:
  void search() {
    for (const FrameValues& frame : read_frame_values(kMostFrames)) {
      names_ = frame.code->co_names;
      is_users_ = chain_.size() > 1 && users_.holds(text_of(frame.code->co_filename));
      seen_.clear();
      for (PyObject* value : frame.variables)
        look(value, 0);
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names_); ++i)
        look(PyDict_GetItem(frame.globals, PyTuple_GET_ITEM(names_, i)), 0);
    }
  }

  void look(PyObject* value, int depth) {
    if (value == nullptr || depth > kDeepest || looks_ >= kMostLooks)
      return;
    ++looks_;
    if (PyList_CheckExact(value) != 0 || PyTuple_CheckExact(value) != 0)
      look_at_elements(value, depth);
    else if (PyDict_CheckExact(value) != 0)
      look_at_values(value, depth);
    else if (has_attributes(value) && seen_.insert(value).second)
      look_at_attributes(value, depth);
  }

  void look_at_elements(PyObject* list, int depth) {
    const Py_ssize_t count = std::min(PySequence_Fast_GET_SIZE(list), kMostElements);
    for (Py_ssize_t i = 0; i < count; ++i)
      look(PySequence_Fast_GET_ITEM(list, i), depth + 1);
  }

  void look_at_values(PyObject* dict, int depth) {
    PyObject* value = nullptr;
    Py_ssize_t count = 0;
    for (Py_ssize_t at = 0; count < kMostElements && PyDict_Next(dict, &at, nullptr, &value) != 0;
         ++count)
      look(value, depth + 1);
  }

  void look_at_attributes(PyObject* object, int depth) {
    PyObject* children = own_attribute(object, modules_name_);
    if (children != nullptr && PyDict_Check(children) != 0) {
      if (is_users_)
        look_at_chain(object, children, depth);
      if (holds_owner(object))
        owner_ = object;
    }
    for (Py_ssize_t i = 0; depth < kDeepest && i < PyTuple_GET_SIZE(names_); ++i)
      look(own_attribute(object, PyTuple_GET_ITEM(names_, i)), depth + 1);
  }

  // Looks at the children, because the parts of a module are not attributes of it.
  void look_at_chain(PyObject* module, PyObject* children, int depth) {
    const auto place = std::find(chain_.begin(), chain_.end(), module) - chain_.begin();
    nearest_ = std::min(nearest_, static_cast<size_t>(place));
    for (Py_ssize_t i = 0; depth < kDeepest && i < PyTuple_GET_SIZE(names_); ++i)
      look(PyDict_GetItem(children, PyTuple_GET_ITEM(names_, i)), depth + 1);
  }

  // Whether the tree below contains the current owner.
  bool holds_owner(PyObject* root) {
    std::vector<PyObject*> open{root};
    while (!open.empty() && without_.size() < kModuleLimit) {
      PyObject* module = open.back();
      open.pop_back();
      if (module == owner_)
        return module != root;
      if (!without_.insert(module).second || (module != root && is_named_(module)))
        continue;
      PyObject* children = child_modules(module);
      PyObject* child = nullptr;
      for (Py_ssize_t at = 0;
           children != nullptr && PyDict_Next(children, &at, nullptr, &child) != 0;) {
        if (child != Py_None)
          open.push_back(child);
      }
    }
    return false;
  }

  PyObject* owner_;
  const std::vector<PyObject*> chain_;  // the module, and the modules it wraps
  size_t nearest_;                      // the first of these that the user's code can reach
  const std::function<bool(PyObject*)>& is_named_;
  const UserCode& users_;
  PyObject* modules_name_;
  PyObject* names_ = nullptr;  // names that the frame's code mentions
  bool is_users_ = false;  // whether the frame's code is the user's; only set if there is a chain
  size_t looks_ = 0;
  std::unordered_set<PyObject*> seen_;     // in this frame
  std::unordered_set<PyObject*> without_;  // modules known not to contain the owner
};

}  // namespace

ModuleOwner find_owner(PyObject* module, const std::function<bool(PyObject*)>& is_named,
                       const UserCode& users) {
  return OwnerSearch(module, is_named, users).run();
}

}  // namespace perfprobe
