#include "state.h"

#include <algorithm>
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

// CUPTI calls its client from threads of its own.
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

State& state() {
  static auto& all = *new State;
  return all;
}

std::map<uint32_t, std::vector<uint64_t>>& external_ids() {
  thread_local std::map<uint32_t, std::vector<uint64_t>> ids;
  return ids;
}

uint64_t State::now() const {
  if (clock != nullptr)
    return clock();
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
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
  const uint64_t untimed = setting("STANDIN_UNTIMED", 0);
  if (untimed > 0 && record.kind == kKernel && ++kernels_ % untimed == 0)
    forget_times(record);
  pending_.push_back(std::move(record));
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

void State::flush(bool is_forced) {
  const uint64_t now_ns = now();
  std::deque<Record> running;
  for (Record& record : pending_) {
    if (record.end_ns > now_ns && !is_forced) {
      running.push_back(std::move(record));
      continue;
    }
    if (record.end_ns > now_ns)
      forget_end(record);
    put(record);
  }
  pending_.swap(running);
  hand_out();
}

void State::put(const Record& record) {
  if (buffer_ != nullptr && used_ + record.bytes.size() > bytes_)
    hand_out();
  if (buffer_ == nullptr && on_request != nullptr) {
    size_t most_records = 0;
    on_request(&buffer_, &bytes_, &most_records);
    bytes_ = std::min(bytes_, size_t{setting("STANDIN_BUFFER", bytes_)});
    buffer_owner_ = on_complete;
    used_ = 0;
  }
  if (buffer_ == nullptr || used_ + record.bytes.size() > bytes_) {
    ++dropped;
    return;
  }
  std::memcpy(buffer_ + used_, record.bytes.data(), record.bytes.size());
  used_ += record.bytes.size();
}

void State::hand_out() {
  if (buffer_ == nullptr)
    return;
  on_other_thread([this] { buffer_owner_(nullptr, 0, buffer_, bytes_, used_); });
  buffer_ = nullptr;
}

}  // namespace standin
