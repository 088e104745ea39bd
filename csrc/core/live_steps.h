// Finds the steps of a loop while the program runs, without its operators.
//
// The sources, of which the first that the program has counts: blocks and marks of
// perfprobe.step(), steps of torch.profiler, optimizers, and where nothing is trained the loader.
// The rules are those of perfprobe/analyse/loop/training.py, as far as they can be known at once: a
// step ends where the loader is asked for the next batch after an optimizer's step, or, where no
// batch came in it, with the last of the optimizers that take turns. Batches of another line than
// the iteration before asked, which no optimizer's step follows, are evaluation.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/loop_port.h"
#include "core/records.h"

namespace perfprobe {

// In the order of their rank, by the numbers of `StepSource` in perfprobe/tables/steps.py.
enum class LiveSource : int8_t { program = 0, profiler = 1, optimizer = 2, loader = 3, none = 4 };

struct LiveStep {
  int64_t start_ns;
  int64_t end_ns;
  int64_t reader_ns;  // waiting for the loader
  int64_t samples;    // -1: a batch's size is not known
  int32_t number;     // from 0; -1 of an evaluation
  int32_t batches;
  int32_t thread;
  LiveSource source;
  bool is_evaluation;
  bool is_recorded;          // with its operators
  bool is_baseline = false;  // not recorded, to measure what recording adds
  bool is_slow = false;      // with --keep slow
  bool is_partial = false;   // larger than the buffer: not all of its rows are kept
  // -1 not measured.
  int64_t cpu_ns = -1;        // of the loop's thread
  int64_t clock_ns = -1;      // that thread's CPU clock at its end
  int64_t waited_ns = -1;     // for a processor
  int64_t collected_ns = -1;  // in garbage collections
  int64_t rss_bytes = -1;     // of the process, at its end

  static constexpr std::string_view kTable = "live_steps";
  static constexpr auto columns() {
    using Row = LiveStep;
    return std::array{
        column<&Row::start_ns>("start_ns"),       column<&Row::end_ns>("end_ns"),
        column<&Row::thread>("thread"),           column<&Row::number>("number"),
        column<&Row::source>("source"),           column<&Row::is_evaluation>("is_evaluation"),
        column<&Row::reader_ns>("reader_ns"),     column<&Row::batches>("batches"),
        column<&Row::samples>("samples"),         column<&Row::is_recorded>("is_recorded"),
        column<&Row::is_baseline>("is_baseline"), column<&Row::is_slow>("is_slow"),
        column<&Row::is_partial>("is_partial"),   column<&Row::cpu_ns>("cpu_ns"),
        column<&Row::waited_ns>("waited_ns"),     column<&Row::collected_ns>("collected_ns"),
        column<&Row::clock_ns>("clock_ns"),       column<&Row::rss_bytes>("rss_bytes")};
  }
};

// One thread at a time calls it. `thread` and `is_recorded` of what it finds are not set.
class LiveSteps {
 public:
  // Returns what has ended with it, in order.
  const std::vector<LiveStep>& see(const LoopMoment& moment);
  // The program has ended.
  const std::vector<LiveStep>& finish();
  // The number of the step that runs.
  [[nodiscard]] int32_t number() const { return number_; }
  [[nodiscard]] LiveSource source() const { return source_; }
  [[nodiscard]] int64_t os_thread() const { return os_thread_; }
  // What other threads did that could be a loop of theirs.
  [[nodiscard]] int64_t foreign() const { return foreign_; }

 private:
  // Batches that one line asked for, one after the other.
  struct Run {
    uint64_t site;
    int64_t start_ns;
    int64_t reader_ns = 0;
    int64_t samples = 0;
    int32_t batches = 0;
  };
  static constexpr size_t kMostRuns = 64;
  static constexpr size_t kMostSites = 64;

  bool is_own(const LoopMoment& moment);
  void dispatch(const LoopMoment& moment);
  bool choose(LiveSource source);
  void begin(int64_t time_ns);
  void begin_next(const LoopMoment& moment);
  void end_next(const LoopMoment& moment);
  void end_update(const LoopMoment& moment);
  [[nodiscard]] bool ends_turn(uint64_t site);
  void begin_block(LiveSource source, int64_t time_ns);
  void end_block(LiveSource source, int64_t time_ns);
  void close(int64_t end_ns);
  [[nodiscard]] size_t first_trained() const;
  [[nodiscard]] bool is_usual(const Run& run) const;

  std::vector<LiveStep> ended_;
  int64_t os_thread_ = 0;
  int64_t foreign_ = 0;
  LiveSource source_ = LiveSource::none;
  bool has_blocks_ = false;
  bool has_updates_ = false;
  int32_t number_ = 0;
  int64_t start_ns_ = -1;    // of the step that runs; -1 not known
  int64_t updated_ns_ = -1;  // when its latest optimizer's step ended
  int64_t asked_ns_ = 0;
  int64_t latest_ns_ = 0;
  int nexts_ = 0;  // open: a loader may ask another one
  int updates_ = 0;
  std::vector<Run> runs_;
  std::vector<uint64_t> usual_sites_;   // of the iteration before
  std::vector<uint64_t> update_sites_;  // in the step that runs
  std::vector<uint64_t> turns_;         // of optimizers, where there is no loader
  bool are_turns_known_ = false;
};

}  // namespace perfprobe
