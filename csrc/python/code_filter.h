// Decides which calls belong to the profiled program, by the file of their code.
#pragma once

#include <string>
#include <vector>

#include <Python.h>

namespace perfprobe {

struct FilterRules {
  std::string own;                     // perfprobe's folder; empty: no code is perfprobe's
  std::vector<std::string> lenders;    // functions of perfprobe that run the program's code
  std::vector<std::string> libraries;  // folders whose module bodies are left out; empty: none
};

// Decides what is counted of one thread. Functions of perfprobe are left out with all they call,
// except calls that the program would have made itself. Bodies of library modules, which run on
// import, are left out too. Leaving out ends when the code that began it has returned as often as
// it was called.
class CodeFilter {
 public:
  explicit CodeFilter(const FilterRules& rules) : rules_(&rules) {}

  // A Python function begins, or a generator resumes. Returns whether it counts.
  bool enter(PyCodeObject* code) {
    if (!turns_.empty() && turns_.back().code == code) {
      ++turns_.back().depth;
      return !turns_.back().skips;
    }
    if (skips())
      return lends(code);
    return !begins_skip(code);
  }
  // A function returns, yields or raises. Returns whether it counts.
  bool leave(const PyCodeObject* code) {
    if (turns_.empty())
      return true;
    Turn& turn = turns_.back();
    const bool counts = !turn.skips;
    if (turn.code == code && turn.depth-- == 0)
      turns_.pop_back();
    return counts;
  }
  // Whether the body of a library's module is being left out.
  [[nodiscard]] bool skips_library() const { return skips() && !turns_.back().is_ours; }
  // Its body has ended without an event.
  void leave_library() { turns_.pop_back(); }
  [[nodiscard]] bool skips() const { return !turns_.empty() && turns_.back().skips; }

 private:
  struct Turn {
    const PyCodeObject* code;  // alive, because it is running
    size_t depth;
    bool skips;
    bool is_ours;
  };

  [[nodiscard]] bool is_ours(const PyCodeObject* code) const;
  [[nodiscard]] bool is_library_module(const PyCodeObject* code) const;
  bool begins_skip(PyCodeObject* code);
  bool lends(PyCodeObject* code);
  [[nodiscard]] bool caller_lends() const;

  const FilterRules* rules_;
  std::vector<Turn> turns_;
};

}  // namespace perfprobe
