// Which calls belong to the program that is profiled, by whose code they run.
#pragma once

#include <string>
#include <vector>

#include <Python.h>

namespace perfprobe {

struct FilterRules {
  std::string own;                   // our package's folder; empty: nothing is ours
  std::vector<std::string> lenders;  // functions of ours that run the program's code in their turn
  std::vector<std::string> libraries;  // folders whose modules' bodies are left out; empty: none
};

// What of one thread's calls is counted. Functions of ours are left out with all they call, but for
// what the program would have called itself. So are bodies of library modules, which run when they
// are imported. A call that is left out ends when the code it began with returns as often as it was
// called.
class CodeFilter {
 public:
  explicit CodeFilter(const FilterRules& rules) : rules_(&rules) {}

  // A Python function begins (or goes on, as a generator does): whether that counts.
  bool enter(PyCodeObject* code) {
    if (!turns_.empty() && turns_.back().code == code) {
      ++turns_.back().depth;
      return !turns_.back().skips;
    }
    if (skips())
      return lends(code);
    return !begins_skip(code);
  }
  // It returns, yields or raises.
  bool leave(const PyCodeObject* code) {
    if (turns_.empty())
      return true;
    Turn& turn = turns_.back();
    const bool counts = !turn.skips;
    if (turn.code == code && turn.depth-- == 0)
      turns_.pop_back();
    return counts;
  }
  // The body of a library's module, begun just now or long ago.
  [[nodiscard]] bool skips_library() const { return skips() && !turns_.back().is_ours; }
  // It has ended, unseen.
  void leave_library() { turns_.pop_back(); }
  [[nodiscard]] bool skips() const { return !turns_.empty() && turns_.back().skips; }

 private:
  struct Turn {
    const PyCodeObject* code;  // alive: it is running
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
