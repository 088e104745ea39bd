// Makes rows of the tables `functions` and `calls` from what the profilers of _lsprof counted.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <Python.h>

#include "core/recorder.h"
#include "core/row_column.h"

namespace perfprobe {

struct FunctionRow {
  int32_t thread, file, function, first_line;
  int64_t snapshot, calls, primitive_calls, self_ns, total_ns;

  static constexpr std::string_view kTable = "functions";
  static constexpr auto columns() {
    return std::array{column<&FunctionRow::thread>("thread"),
                      column<&FunctionRow::file>("file"),
                      column<&FunctionRow::function>("function"),
                      column<&FunctionRow::first_line>("first_line"),
                      column<&FunctionRow::snapshot>("snapshot"),
                      column<&FunctionRow::calls>("calls"),
                      column<&FunctionRow::primitive_calls>("primitive_calls"),
                      column<&FunctionRow::self_ns>("own_ns"),
                      column<&FunctionRow::total_ns>("total_ns")};
  }
};

struct CallRow {
  int64_t caller, callee, snapshot, calls, primitive_calls, self_ns, total_ns;

  static constexpr std::string_view kTable = "calls";
  static constexpr auto columns() {
    return std::array{column<&CallRow::caller>("caller"),
                      column<&CallRow::callee>("callee"),
                      column<&CallRow::snapshot>("snapshot"),
                      column<&CallRow::calls>("calls"),
                      column<&CallRow::primitive_calls>("primitive_calls"),
                      column<&CallRow::self_ns>("own_ns"),
                      column<&CallRow::total_ns>("total_ns")};
  }
};

class ProfileRows {
 public:
  explicit ProfileRows(Recorder& recorder) : recorder_(recorder) {}

  // Adds one thread's profiler, which may still be counting. Returns false if the interpreter
  // refused.
  bool add(int32_t thread, PyObject* profiler);
  void write(int32_t snapshot);
  // Rows left out beyond the limit of a recording.
  [[nodiscard]] int64_t omitted() const { return omitted_; }

 private:
  struct FunctionKey {
    int32_t thread, file, function, first_line;
    auto operator<=>(const FunctionKey&) const = default;
  };
  struct CallKey {
    int64_t caller, callee;
    auto operator<=>(const CallKey&) const = default;
  };
  struct Figures {
    int64_t calls = 0, primitive_calls = 0, self_ns = 0, total_ns = 0;
  };
  template <class Key>
  struct Rows {
    std::map<Key, int64_t> places;
    std::vector<Key> keys;
    std::vector<Figures> figures;
  };

  template <class Key>
  int64_t add_row(Rows<Key>& rows, const Key& key, PyObject* entry);
  FunctionKey key_of(int32_t thread, PyObject* code);
  void add_calls(PyObject* entry, const std::unordered_map<PyObject*, int64_t>& places);

  Recorder& recorder_;
  Rows<FunctionKey> functions_;
  Rows<CallKey> calls_;
  int64_t omitted_ = 0;
};

}  // namespace perfprobe
