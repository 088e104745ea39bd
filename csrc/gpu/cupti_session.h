// One tracing session with CUPTI: what is switched on, how it ends, and whether the records still
// come to us. CUPTI is asked for little (no counters, no serialised kernels) and is never
// finalised: that would end it for the whole process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpu/cupti_api.h"
#include "gpu/cupti_buffers.h"

namespace perfprobe {

// The memory of all sessions of the process: CUPTI's callbacks carry no argument.
CuptiBuffers& cupti_buffers();

class CuptiSession {
 public:
  explicit CuptiSession(const CuptiApi& api) : api_(api) {}

  // Begins; what is there when it fails is undone. with_ids: external ids are recorded from the
  // start.
  std::optional<CuptiFault> open(bool with_ids);
  // What is complete comes to the buffers; waits for no GPU.
  void flush();
  // The last records, also those of what still runs. `make_traced_call` is made under an id that
  // `is_canary` knows again: when its record does not come, someone else gets the records.
  template <class Call>
  void flush_last(Call make_traced_call) {
    push_canary();
    make_traced_call();
    pop_canary();
    flush_and_disable();
  }
  // Whether this buffer holds the record of the call made by `flush_last`.
  [[nodiscard]] bool has_canary(uint8_t* buffer, size_t valid_bytes) const;
  // Restores what other clients of CUPTI expect.
  void close();

  [[nodiscard]] uint32_t version() const { return version_; }
  // Of those that the process has opened, from 1 on; 0 before `open`.
  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] int64_t dropped_records() const { return dropped_records_; }
  // Kinds of records that could not be switched on, and calls that could not be left out.
  [[nodiscard]] const std::vector<std::string>& lacks() const { return lacks_; }

 private:
  std::optional<CuptiFault> subscribe();
  std::string other_client();
  std::optional<CuptiFault> prepare();
  std::optional<CuptiFault> give_clock();
  void take_clock_back();
  [[nodiscard]] bool has_our_clock() const;
  void promise_zeroed_buffers(uint8_t promised);
  std::optional<CuptiFault> enable_kinds(bool with_ids);
  void choose_calls();
  void push_canary();
  void pop_canary();
  void flush_and_disable();

  const CuptiApi& api_;
  CuptiApi::Subscriber subscriber_ = nullptr;
  uint32_t version_ = 0;
  int number_ = 0;
  Strides strides_;
  std::vector<uint32_t> enabled_;
  std::vector<std::string> lacks_;
  int64_t dropped_records_ = 0;
};

}  // namespace perfprobe
