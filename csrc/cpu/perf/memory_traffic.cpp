#include "cpu/perf/memory_traffic.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <unistd.h>
#include <utility>

#include "core/kernel_files.h"

namespace perfprobe {
namespace {

constexpr const char* kTrafficName = "memory bandwidth (uncore_imc)";

std::vector<std::string> entries_with(const std::string& folder, std::string_view beginning) {
  std::vector<std::string> found = folder_entries(folder);
  std::erase_if(found, [&](const std::string& name) { return !name.starts_with(beginning); });
  std::sort(found.begin(), found.end());
  return found;
}

// "event=0x04,umask=0x03": the lowest byte, and the one above it.
uint64_t config_of(const std::string& text) {
  const auto field = [&](const char* name) -> uint64_t {
    const size_t at = text.find(name);
    return at == std::string::npos
               ? 0
               : std::strtoull(text.c_str() + at + std::char_traits<char>::length(name), nullptr,
                               0);
  };
  return field("event=") | field("umask=") << 8;
}

}  // namespace

MemoryTraffic::MemoryTraffic(std::string root, OpenEvent open)
    : root_(std::move(root)), open_(open) {}

std::string MemoryTraffic::text(const std::string& path) const {
  KernelFile file;
  return std::string(file.read(path));
}

void MemoryTraffic::start() {
  counters_.clear();
  const std::string devices = root_ + "sys/bus/event_source/devices/";
  for (const std::string& name : entries_with(devices, "uncore_imc")) {
    add(devices + name, "cas_count_read", true);
    add(devices + name, "cas_count_write", false);
  }
  if (counters_.empty())
    throw RefusedEvent(refusal_of(ENOENT, kTrafficName, EventNeed::machine, paranoid_level()));
}

void MemoryTraffic::add(const std::string& folder, const char* name, bool is_read) {
  const std::string event = text(folder + "/events/" + name);
  const std::string scale = text(folder + "/events/" + name + ".scale");
  if (event.empty() || scale.empty())
    return;
  constexpr double kMebibyte = 1 << 20;  // the unit of these events
  const auto type =
      static_cast<uint32_t>(std::strtoul(text(folder + "/type").c_str(), nullptr, 10));
  std::string processors = text(folder + "/cpumask");  // "0,24": one of each socket
  for (size_t at = 0; at < processors.size(); at = processors.find(',', at) + 1) {
    perf_event_attr counter{};
    counter.size = sizeof counter;
    counter.type = type;
    counter.config = config_of(event);
    Descriptor opened =
        open_(&counter, -1, std::atoi(processors.c_str() + at), -1, PERF_FLAG_FD_CLOEXEC);
    if (!opened.is_open()) {
      const int error = errno;
      counters_.clear();  // the sum of some would be taken for that of all
      throw RefusedEvent(refusal_of(error, kTrafficName, EventNeed::machine, paranoid_level()));
    }
    const double bytes = std::strtod(scale.c_str(), nullptr) * kMebibyte;
    counters_.push_back({std::move(opened), bytes, is_read});
    if (processors.find(',', at) == std::string::npos)
      break;
  }
}

std::optional<MemoryBytes> MemoryTraffic::read() const {
  MemoryBytes sum{0, 0};
  for (const Counter& counter : counters_) {
    uint64_t count = 0;
    if (::read(counter.event.number(), &count, sizeof count) != sizeof count)
      return std::nullopt;
    const auto bytes = static_cast<int64_t>(static_cast<double>(count) * counter.bytes);
    (counter.is_read ? sum.read : sum.written) += bytes;
  }
  return sum;
}

}  // namespace perfprobe
