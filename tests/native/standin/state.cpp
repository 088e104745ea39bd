#include "state.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <time.h>

namespace standin {
namespace {

bool is_of_device(uint32_t kind) {
  return kind == kKernel || kind == kMemcpy || kind == kMemset || kind == kPeerMemcpy;
}

uint64_t realtime_ns() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

// CUPTI calls its client from its own threads.
template <class Call>
void on_other_thread(Call call) {
  std::thread(call).join();
}

}  // namespace

uint64_t setting(const char* name, uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

uint32_t failure(const char* function) {
  const char* value = std::getenv("STANDIN_FAIL");
  const std::string all = value == nullptr ? "" : "," + std::string(value);
  const std::string wanted = "," + std::string(function) + "=";
  const size_t place = all.find(wanted);
  if (place == std::string::npos)
    return 0;
  return static_cast<uint32_t>(std::strtoul(all.c_str() + place + wanted.size(), nullptr, 10));
}

bool spoils_clock() {
  const uint32_t version = layout().version;
  return version >= 24 && version < 130100;
}

bool spoils_graph_ids() {
  return layout().version < 130101;
}

bool refuses_older_calls() {
  return layout().version >= 130200;
}

State& state() {
  static auto& all = *new State;
  return all;
}

std::map<uint32_t, std::vector<uint64_t>>& external_ids() {
  thread_local std::map<uint32_t, std::vector<uint64_t>> ids;
  return ids;
}

uint64_t State::now() const {
  return clock != nullptr ? clock() : realtime_ns();
}

void State::set_clock(uint64_t (*other)()) {
  clock = other;
  stream_ends_.clear();
  spoilt_records_ = spoils_clock() ? clocks_ : 0;
  ++clocks_;
}

bool State::is_traced(uint32_t domain, uint32_t callback) const {
  const Filter& filter = filters.at(domain);
  if (filter.on.contains(callback))
    return true;
  return kinds.contains(domain == 1 ? kDriver : kRuntime) && !filter.off.contains(callback);
}

void State::add(Record record) {
  const bool is_api = record.kind == kRuntime || record.kind == kDriver;
  if (!is_api && !kinds.contains(record.kind))
    return;
  const uint64_t drop = setting("STANDIN_DROP", 0);
  if (drop > 0 && is_of_device(record.kind) && ++device_records_ % drop == 0) {
    ++dropped;
    return;
  }
  spoil_times(record);
  pending_.push_back(std::move(record));
}

void State::spoil_times(Record& record) {
  if (is_of_device(record.kind) && spoilt_records_ > 0) {
    --spoilt_records_;
    move_times(record, realtime_ns() - now());
  }
  if (record.kind != kKernel)
    return;
  ++kernels_;
  const auto is_one = [this](const char* name) {
    const uint64_t every = setting(name, 0);
    return every > 0 && kernels_ % every == 0;
  };
  if (is_one("STANDIN_UNTIMED"))
    forget_times(record);
  if (is_one("STANDIN_REALTIME"))
    move_times(record, realtime_ns() - now());
  if (is_one("STANDIN_STRANGE"))
    move_times(record, uint64_t{3'000'000'000'000'000'000});
}

Times State::span(uint32_t stream, uint64_t duration_ns) {
  const uint64_t start_ns = std::max(now(), stream_ends_[stream]);
  stream_ends_[stream] = start_ns + duration_ns;
  return {start_ns, start_ns + duration_ns};
}

uint64_t State::stream_end(uint32_t stream) const {
  const auto found = stream_ends_.find(stream);
  return found == stream_ends_.end() ? 0 : found->second;
}

uint64_t State::last_end() const {
  uint64_t last_ns = 0;
  for (const auto& [stream, end_ns] : stream_ends_)
    last_ns = std::max(last_ns, end_ns);
  return last_ns;
}

void State::flush(bool is_forced) {
  const uint64_t now_ns = now();
  const bool is_late = setting("STANDIN_LATE", 0) > 0 || setting("STANDIN_KEEP", 0) > 0;
  std::deque<Record> running;
  std::deque<Record> late;
  for (Record& record : pending_) {
    const bool is_apart = is_late && is_of_device(record.kind);
    if ((record.end_ns > now_ns || is_apart) && !is_forced) {
      running.push_back(std::move(record));
      continue;
    }
    if (record.end_ns > now_ns)
      forget_end(record);
    if (is_apart)
      late.push_back(std::move(record));
    else
      put(buffer_, record);
  }
  pending_.swap(running);
  if (!late.empty())
    hand_out_late(late);
  hand_out(buffer_);
}

void State::put(Buffer& buffer, const Record& record) {
  if (buffer.memory != nullptr && buffer.used + record.bytes.size() > buffer.bytes)
    hand_out(buffer);
  if (buffer.memory == nullptr && on_request != nullptr) {
    size_t most_records = 0;
    on_request(&buffer.memory, &buffer.bytes, &most_records);
    buffer.bytes = std::min(buffer.bytes, size_t{setting("STANDIN_BUFFER", buffer.bytes)});
    buffer.owner = on_complete;
    buffer.used = 0;
  }
  if (buffer.memory == nullptr || buffer.used + record.bytes.size() > buffer.bytes) {
    ++dropped;
    return;
  }
  write(buffer, record);
}

// For a client that promises zeros, only values that are not zero are written.
void State::write(Buffer& buffer, const Record& record) const {
  for (const uint8_t byte : record.bytes) {
    if (byte != 0 || !are_zeros_promised)
      buffer.memory[buffer.used] = byte;
    ++buffer.used;
  }
}

// CUPTI reports how much of a buffer is valid, not that it wrote nothing else.
void State::hand_out(Buffer& buffer) const {
  if (buffer.memory == nullptr)
    return;
  const size_t scribbled =
      std::min(size_t{setting("STANDIN_SCRIBBLE", 0)}, buffer.bytes - buffer.used);
  std::memset(buffer.memory + buffer.used, 0xee, scribbled);
  on_other_thread([&] { buffer.owner(nullptr, 0, buffer.memory, buffer.bytes, buffer.used); });
  buffer.memory = nullptr;
}

// Delivered in a separate buffer after all others, or never.
void State::hand_out_late(const std::deque<Record>& records) {
  Buffer buffer;
  for (const Record& record : records)
    put(buffer, record);
  if (buffer.memory == nullptr || setting("STANDIN_KEEP", 0) > 0)
    return;
  const std::chrono::milliseconds delay(setting("STANDIN_LATE", 0));
  std::thread([buffer, delay] {
    std::this_thread::sleep_for(delay);
    buffer.owner(nullptr, 0, buffer.memory, buffer.bytes, buffer.used);
  }).detach();
}

}  // namespace standin
