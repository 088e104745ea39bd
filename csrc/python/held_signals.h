// Signals of the program while code of perfprobe runs on its main thread.
//
// Python runs a signal's handler between any two bytecodes of the main thread, also between those
// of perfprobe. What the handler raises (KeyboardInterrupt, an error of the program's own) would
// then end perfprobe's function half-way, or be taken for an error of perfprobe and get lost. So
// signals are held meanwhile: they are only noted, and arrive when perfprobe has finished. Then
// Python runs their handlers, at the next place in the program where it looks for signals.
#pragma once

#include <Python.h>

namespace perfprobe {

bool is_main_thread();  // signal handlers and pending calls run there

// While this object lives, no handler of the program runs. Needs the GIL. An exception that is set
// stays set. Signals without a handler in Python do what they always do. Does nothing on other
// threads. May be nested.
class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  static bool are_held();
  // Whether a signal arrived since they are held.
  static bool have_arrived();
  // Forgets the signals that arrived; returns them as a new list of numbers. The program has ended.
  static PyObject* drop();
  // Raises the current exception in the program once no signals are held. Then no exception is set.
  static void raise_later();

 private:
  bool is_holding_;
};

// Within a part that holds signals, lets them through: the program runs here.
class ReleasedSignals {
 public:
  ReleasedSignals();
  ~ReleasedSignals();
  ReleasedSignals(const ReleasedSignals&) = delete;
  ReleasedSignals& operator=(const ReleasedSignals&) = delete;

 private:
  int depth_;
};

}  // namespace perfprobe
