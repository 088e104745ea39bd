#include "python/module_owner.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "python/frame_values.h"
#include "python/module_tree.h"

namespace perfprobe {
namespace {

constexpr size_t kMostFrames = 256;
constexpr size_t kMostLooks = 16'384;  // at values of variables and attributes
constexpr Py_ssize_t kMostElements = 64;
constexpr int kDeepest = 4;  // `self.trainer.agents[0].actor`

// An attribute that the object itself holds, past all code of its class. Borrowed, nullptr for
// none.
PyObject* own_attribute(PyObject* object, PyObject* name) {
  if (_PyType_Lookup(Py_TYPE(object), name) != nullptr)
    return nullptr;  // a property, a method or the like may come first
  PyObject* value = PyObject_GenericGetAttr(object, name);
  if (value == nullptr)
    PyErr_Clear();
  Py_XDECREF(value);  // the object keeps it alive
  return value;
}

bool has_attributes(PyObject* object) {
  return Py_TYPE(object)->tp_dictoffset != 0 && PyType_Check(object) == 0;
}

class OwnerSearch {
 public:
  OwnerSearch(PyObject* module, const std::function<bool(PyObject*)>& is_named)
      : owner_(module),
        is_named_(is_named),
        modules_name_(PyUnicode_InternFromString("_modules")) {}
  ~OwnerSearch() { Py_XDECREF(modules_name_); }
  OwnerSearch(const OwnerSearch&) = delete;
  OwnerSearch& operator=(const OwnerSearch&) = delete;

  PyObject* run() {
    if (modules_name_ == nullptr) {
      PyErr_Clear();
      return owner_;
    }
    for (const FrameValues& frame : read_frame_values(kMostFrames)) {
      names_ = frame.code->co_names;
      seen_.clear();
      for (PyObject* value : frame.variables)
        look(value, 0);
      for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names_); ++i)
        look(PyDict_GetItem(frame.globals, PyTuple_GET_ITEM(names_, i)), 0);
    }
    return owner_;
  }

 private:
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
    if (children != nullptr && PyDict_Check(children) != 0 && holds_owner(object))
      owner_ = object;
    for (Py_ssize_t i = 0; depth < kDeepest && i < PyTuple_GET_SIZE(names_); ++i)
      look(own_attribute(object, PyTuple_GET_ITEM(names_, i)), depth + 1);
  }

  // Whether the tree below has the owner found so far.
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
  const std::function<bool(PyObject*)>& is_named_;
  PyObject* modules_name_;
  PyObject* names_ = nullptr;  // what the frame's code mentions
  size_t looks_ = 0;
  std::unordered_set<PyObject*> seen_;     // from this frame
  std::unordered_set<PyObject*> without_;  // modules that do not hold the owner, nor hold it below
};

}  // namespace

PyObject* find_owner(PyObject* module, const std::function<bool(PyObject*)>& is_named) {
  return OwnerSearch(module, is_named).run();
}

}  // namespace perfprobe
