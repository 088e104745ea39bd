#include "core/live_steps.h"

#include <algorithm>

namespace perfprobe {
namespace {

bool holds(const std::vector<uint64_t>& sites, uint64_t site) {
  return std::find(sites.begin(), sites.end(), site) != sites.end();
}

}  // namespace

const std::vector<LiveStep>& LiveSteps::see(const LoopMoment& moment) {
  ended_.clear();
  if (is_own(moment)) {
    dispatch(moment);
    latest_ns_ = moment.time_ns;
  }
  return ended_;
}

const std::vector<LiveStep>& LiveSteps::finish() {
  ended_.clear();
  const bool has_batch =
      std::any_of(runs_.begin(), runs_.end(), [](const Run& run) { return run.batches > 0; });
  if (source_ == LiveSource::optimizer && updated_ns_ >= 0)
    close(updated_ns_);
  else if (source_ == LiveSource::optimizer && number_ > 0 && has_batch)
    ended_.push_back({.start_ns = runs_.front().start_ns,
                      .end_ns = latest_ns_,
                      .reader_ns = -1,
                      .samples = -1,
                      .number = kNone,
                      .batches = -1,
                      .thread = kNone,
                      .source = source_,
                      .is_evaluation = true,
                      .is_recorded = false});
  return ended_;
}

// The loop is on the thread that came first, or on the one with the first optimizer's step.
bool LiveSteps::is_own(const LoopMoment& moment) {
  if (os_thread_ == moment.os_thread)
    return true;
  const bool is_update = moment.event == LoopEvent::update_begin;
  const bool may_move = source_ >= LiveSource::optimizer && !has_updates_;
  if (os_thread_ != 0 && !(is_update && may_move)) {
    ++foreign_;
    return false;
  }
  *this = LiveSteps();
  os_thread_ = moment.os_thread;
  return true;
}

void LiveSteps::dispatch(const LoopMoment& moment) {
  const int64_t time_ns = moment.time_ns;
  switch (moment.event) {
    case LoopEvent::next_begin:
      if (nexts_++ == 0)
        begin_next(moment);
      break;
    case LoopEvent::next_end:
      if (nexts_ > 0 && --nexts_ == 0)
        end_next(moment);
      break;
    case LoopEvent::update_begin:
      ++updates_;
      break;
    case LoopEvent::update_end:
      if (updates_ > 0 && --updates_ == 0)
        end_update(moment);
      break;
    case LoopEvent::profiler_begin:
      begin_block(LiveSource::profiler, time_ns);
      break;
    case LoopEvent::profiler_end:
      end_block(LiveSource::profiler, time_ns);
      break;
    case LoopEvent::mark:
      if (choose(LiveSource::program) && !has_blocks_) {
        close(time_ns);
        begin(time_ns);
      }
      break;
    case LoopEvent::block_begin:
      if (choose(LiveSource::program) && !has_blocks_) {
        has_blocks_ = true;  // the marks before were those of blocks
        number_ = 0;
        ended_.clear();
      }
      begin_block(LiveSource::program, time_ns);
      break;
    case LoopEvent::block_end:
      end_block(LiveSource::program, time_ns);
      break;
  }
}

// Whether steps are those of this source. With the first of a source of higher rank they are
// counted anew.
bool LiveSteps::choose(LiveSource source) {
  if (source < source_) {
    source_ = source;
    number_ = 0;
    usual_sites_.clear();
  }
  return source == source_;
}

void LiveSteps::begin(int64_t time_ns) {
  start_ns_ = time_ns;
  updated_ns_ = -1;
  runs_.clear();
  update_sites_.clear();
}

void LiveSteps::begin_next(const LoopMoment& moment) {
  if (source_ >= LiveSource::loader)
    choose(moment.has_optimizer ? LiveSource::optimizer : LiveSource::loader);
  const bool has_ended = source_ == LiveSource::optimizer ? updated_ns_ >= 0 : !runs_.empty();
  if (source_ >= LiveSource::optimizer && has_ended) {
    close(moment.time_ns);
    begin(moment.time_ns);
  }
  if (start_ns_ < 0)
    start_ns_ = moment.time_ns;
  const bool is_same = !runs_.empty() && runs_.back().site == moment.site;
  if (!is_same && (runs_.size() < kMostRuns || runs_.empty()))
    runs_.push_back({.site = moment.site, .start_ns = moment.time_ns});
  asked_ns_ = moment.time_ns;
}

void LiveSteps::end_next(const LoopMoment& moment) {
  if (runs_.empty())
    return;
  Run& run = runs_.back();
  run.reader_ns += moment.time_ns - asked_ns_;
  if (moment.samples == kNoBatch)
    return;
  ++run.batches;
  run.samples = moment.samples < 0 || run.samples < 0 ? kNotKnown : run.samples + moment.samples;
}

void LiveSteps::end_update(const LoopMoment& moment) {
  if (!choose(LiveSource::optimizer))
    return;
  has_updates_ = true;
  if (updated_ns_ >= 0 && holds(update_sites_, moment.site)) {  // without a batch of its own
    const int64_t before_ns = updated_ns_;
    close(before_ns);
    begin(before_ns);
  }
  updated_ns_ = moment.time_ns;
  if (update_sites_.size() < kMostSites)
    update_sites_.push_back(moment.site);
  if (runs_.empty() && ends_turn(moment.site)) {
    close(moment.time_ns);
    begin(moment.time_ns);
  }
}

// Whether this optimizer is the last one of those that take turns, as far as is known.
bool LiveSteps::ends_turn(uint64_t site) {
  if (!are_turns_known_ && !holds(turns_, site) && turns_.size() < kMostSites) {
    turns_.push_back(site);
    return true;
  }
  are_turns_known_ = true;
  return site == turns_.back() || !holds(turns_, site);
}

void LiveSteps::begin_block(LiveSource source, int64_t time_ns) {
  if (choose(source))
    begin(time_ns);
}

void LiveSteps::end_block(LiveSource source, int64_t time_ns) {
  if (source != source_ || start_ns_ < 0)
    return;
  close(time_ns);
  begin(-1);
}

// A step whose start is not known is counted, but has no row. Nor has the loader's last question.
void LiveSteps::close(int64_t end_ns) {
  const bool is_trained = source_ == LiveSource::optimizer;
  const size_t first = is_trained ? first_trained() : 0;
  LiveStep step{.start_ns = first > 0 ? runs_[first].start_ns : start_ns_,
                .end_ns = end_ns,
                .reader_ns = 0,
                .samples = runs_.empty() ? kNotKnown : 0,
                .number = number_,
                .batches = 0,
                .thread = kNone,
                .source = source_,
                .is_evaluation = false,
                .is_recorded = false};
  for (size_t i = first; i < runs_.size(); ++i) {
    const Run& run = runs_[i];
    step.reader_ns += run.reader_ns;
    step.batches += run.batches;
    step.samples = run.samples < 0 || step.samples < 0 ? kNotKnown : step.samples + run.samples;
  }
  if (source_ == LiveSource::loader && step.batches == 0)
    return;
  if (step.batches == 0)
    step.samples = kNotKnown;
  if (first > 0) {
    LiveStep apart = step;
    apart.start_ns = start_ns_ < 0 ? runs_.front().start_ns : start_ns_;
    apart.end_ns = step.start_ns;
    apart.reader_ns = apart.samples = -1;
    apart.number = apart.batches = kNone;
    apart.is_evaluation = true;
    ended_.push_back(apart);
  }
  usual_sites_.clear();
  for (const Run& run : runs_)
    usual_sites_.push_back(run.site);
  ++number_;
  if (step.start_ns >= 0)
    ended_.push_back(step);
}

// Where the last batches begin that are evaluation; 0 where none are.
size_t LiveSteps::first_trained() const {
  for (size_t i = runs_.size(); i-- > 1;) {
    if (!is_usual(runs_[i - 1]))
      return i;
  }
  return 0;
}

// The first iteration has none before it to be compared with: more batches than those of the
// optimizer's step are a trial.
bool LiveSteps::is_usual(const Run& run) const {
  if (run.site == runs_.back().site)
    return true;
  if (number_ == 0)
    return run.batches == runs_.back().batches;
  return holds(usual_sites_, run.site);
}

}  // namespace perfprobe
