// One tracing session with CUPTI: what is enabled, how it ends, and whether the records still reach
// perfprobe. CUPTI is asked for little (no counters, no serialised kernels) and is never finalised,
// as that would end it for the whole process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpu/cupti_api.h"
#include "gpu/cupti_buffers.h"
#include "gpu/cupti_faults.h"

namespace perfprobe {

// The buffers of all sessions of the process, because CUPTI's callbacks have no argument.
CuptiBuffers& cupti_buffers();

class CuptiSession {
 public:
  explicit CuptiSession(const CuptiApi& api) : api_(api) {}

  // Starts. On failure everything is undone. with_ids: external ids are recorded from the start.
  std::optional<CuptiFault> open(bool with_ids);
  // Lets CUPTI record nothing, until `resume`. Work that was launched before is still recorded.
  void pause();
  // Returns whether all that was recorded before is recorded again.
  bool resume();
  [[nodiscard]] bool is_paused() const { return is_paused_; }
  // Puts completed records into the buffers. Waits for no GPU.
  void flush();
  // Lets CUPTI record no calls and waits, until `resume_calls`: perfprobe's own are not the
  // program's.
  void pause_calls();
  void resume_calls();
  // Whether records may be fetched while the program runs.
  [[nodiscard]] bool may_fetch() const { return !kFetchFault.is_in(version_); }
  // From now on a graph's launch is one record, instead of one for each of its kernels and copies.
  // `missing` says if CUPTI cannot do that.
  void record_whole_graphs();
  // Delivers the last records, also of work that still runs. `make_traced_call` runs with an id
  // that `is_canary` recognizes: if its record does not arrive, another client gets the records.
  template <class Call>
  void flush_last(Call make_traced_call) {
    push_canary();
    make_traced_call();
    pop_canary();
    flush_and_disable();
  }
  // Whether this buffer contains the record of the call made by `flush_last`.
  [[nodiscard]] bool has_canary(uint8_t* buffer, size_t valid_bytes) const;
  // Restores the settings that other clients of CUPTI expect.
  void close();
  // Instead of `flush_last` and `close` if work on a GPU does not end: calls nothing that could
  // wait for it. CUPTI stays as it is until the process ends.
  void leave();

  [[nodiscard]] uint32_t version() const { return version_; }
  // The number of this session in the process, from 1 on; 0 before `open`.
  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] int64_t dropped_records() const { return dropped_records_; }
  // Kinds of records that could not be enabled, and calls that could not be excluded.
  [[nodiscard]] const std::vector<std::string>& missing() const { return missing_; }
  // Why CUPTI did not take our clock, so that all times are converted; "" if it did.
  [[nodiscard]] const std::string& clock_refusal() const { return clock_refusal_; }

 private:
  std::optional<CuptiFault> subscribe();
  std::string other_client();
  std::optional<CuptiFault> prepare();
  void give_clock();
  void take_clock_back();
  [[nodiscard]] bool has_our_clock() const;
  void promise_zeroed_buffers(uint8_t promised);
  std::optional<CuptiFault> enable_kinds(bool with_ids);
  void find_calls();
  void choose_calls();
  void enable_driver_calls(uint8_t enabled);
  void push_canary();
  void pop_canary();
  void flush_and_disable();

  const CuptiApi& api_;
  CuptiApi::Subscriber subscriber_ = nullptr;
  uint32_t version_ = 0;
  int number_ = 0;
  Strides strides_;
  std::vector<uint32_t> enabled_;
  std::vector<uint32_t> left_out_;  // calls of the runtime
  std::vector<uint32_t> driver_calls_;
  bool is_paused_ = false;
  std::vector<std::string> missing_;
  std::string clock_refusal_;
  int64_t dropped_records_ = 0;
};

}  // namespace perfprobe
