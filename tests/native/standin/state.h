// The stand-in's state of its client. One lock guards all of it, also while the client's callbacks
// run: a client that held a lock around a call to CUPTI would block.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "records.h"

namespace standin {

using OnRequest = void (*)(uint8_t** buffer, size_t* bytes, size_t* most_records);
using OnComplete = void (*)(void* context, uint32_t stream, uint8_t* buffer, size_t bytes,
                            size_t valid_bytes);

// A number from the environment, or `otherwise`.
uint64_t setting(const char* name, uint64_t otherwise);
// The code that STANDIN_FAIL sets for this function, 0 for none.
uint32_t failure(const char* function);

// Faults of the simulated version, unless a setting says otherwise.
bool spoils_clock();         // a clock that is registered again is not used for the first records
bool spoils_graph_ids();     // graph launches of later sessions have ids of other launches
bool refuses_older_calls();  // of calls without a subscriber, after cuptiSubscribe_v2

struct Filter {
  std::set<uint32_t> on, off;  // calls that are enabled or disabled unlike their kind
};

class State {
 public:
  std::mutex mutex;
  OnRequest on_request = nullptr;
  OnComplete on_complete = nullptr;
  uint64_t (*clock)() = nullptr;
  bool is_subscribed = false;
  bool is_newer_subscriber = false;
  uint32_t sessions = 0;
  uint32_t graph_correlation = 0;  // of the latest graph launch
  bool are_threads_known = false;  // threads have the kernel's numbers
  bool are_zeros_promised = false;
  std::set<uint32_t> kinds;
  std::array<Filter, 3> filters;  // by domain
  uint32_t correlation = 0;
  size_t dropped = 0;

  // All of them need the lock.
  [[nodiscard]] uint64_t now() const;
  [[nodiscard]] bool is_traced(uint32_t domain, uint32_t callback) const;
  // Adds a record if its kind is enabled.
  void add(Record record);
  // A time span on the device, after all work of this stream.
  Times span(uint32_t stream, uint64_t duration_ns);
  [[nodiscard]] uint64_t stream_end(uint32_t stream) const;
  [[nodiscard]] uint64_t last_end() const;  // of all streams
  // Earlier times become meaningless with another clock.
  void set_clock(uint64_t (*other)());
  // As in CUPTI, a kernel's name keeps its address.
  const char* keep(const char* name) { return names_.insert(name).first->c_str(); }
  // Delivers the complete records; all records if forced.
  void flush(bool is_forced);

 private:
  struct Buffer {
    uint8_t* memory = nullptr;
    OnComplete owner = nullptr;
    size_t bytes = 0;
    size_t used = 0;
  };

  void spoil_times(Record& record);
  void put(Buffer& buffer, const Record& record);
  void write(Buffer& buffer, const Record& record) const;
  void hand_out(Buffer& buffer) const;
  void hand_out_late(const std::deque<Record>& records);

  std::deque<Record> pending_;
  std::set<std::string> names_;
  std::map<uint32_t, uint64_t> stream_ends_;
  Buffer buffer_;
  uint64_t device_records_ = 0;
  uint64_t kernels_ = 0;
  uint32_t clocks_ = 0;          // how often one was registered
  uint32_t spoilt_records_ = 0;  // delivered in CUPTI's own clock
};

State& state();

// The ids pushed by the calling thread, by kind.
std::map<uint32_t, std::vector<uint64_t>>& external_ids();

}  // namespace standin
