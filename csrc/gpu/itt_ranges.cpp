#include "gpu/itt_ranges.h"

#include <atomic>
#include <cstdlib>
#include <dlfcn.h>
#include <type_traits>

#include "gpu/itt_abi.h"

namespace perfprobe::itt {
namespace {

// The collector fills these. A function that it does not have stays nullptr.
struct Functions {
  Domain* (*domain_create)(const char*) = nullptr;
  StringHandle* (*string_handle_create)(const char*) = nullptr;
  void (*task_begin)(const Domain*, Id, Id, StringHandle*) = nullptr;
  void (*task_end)(const Domain*) = nullptr;
  void (*task_begin_overlapped)(const Domain*, Id, Id, StringHandle*) = nullptr;
  void (*task_end_overlapped)(const Domain*, Id) = nullptr;
  void (*marker)(const Domain*, Id, StringHandle*, int) = nullptr;
};

class Collector {
 public:
  Collector() {
    const char* path = std::getenv("INTEL_LIBITTNOTIFY64");
    if (path == nullptr || *path == '\0')
      return;
    client_.collector = ::dlopen(path, RTLD_LAZY);
    if (client_.collector == nullptr)
      return;
    const auto init = reinterpret_cast<ApiInit>(::dlsym(client_.collector, "__itt_api_init"));
    if (init == nullptr)
      return;
    init(&client_, kAllGroups);
    client_.api_initialized = 1;
    if (use.domain_create != nullptr && use.task_begin != nullptr && use.task_end != nullptr &&
        use.string_handle_create != nullptr)
      domain = use.domain_create("perfprobe");
  }

  Functions use;
  const Domain* domain = nullptr;
  std::atomic<uint64_t> ranges{0};

 private:
  template <class Function>
  static ApiEntry entry(const char* name, Function*& function) {
    constexpr int32_t kStructure = 1 << 12;
    return {name, reinterpret_cast<void**>(&function), nullptr, nullptr, kStructure};
  }

  // Kept until the process ends: the collector has it in its list of clients.
  ApiEntry entries_[8] = {entry("__itt_domain_create", use.domain_create),
                          entry("__itt_string_handle_create", use.string_handle_create),
                          entry("__itt_task_begin", use.task_begin),
                          entry("__itt_task_end", use.task_end),
                          entry("__itt_task_begin_overlapped", use.task_begin_overlapped),
                          entry("__itt_task_end_overlapped", use.task_end_overlapped),
                          entry("__itt_marker", use.marker),
                          {}};
  Client client_{.magic = {0xED, 0xAB, 0xAB, 0xEC, 0x0D, 0xEE, 0xDA, 0x30},
                 .version_major = 3,
                 .version_minor = 0,
                 .version_build = 20180723,
                 .api_initialized = 0,
                 .mutex_initialized = 1,
                 .atomic_counter = 1,
                 .mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
                 .collector = nullptr,
                 .error_handler = nullptr,
                 .collector_path = nullptr,
                 .entries = entries_,
                 .next = nullptr,
                 .threads = nullptr,
                 .domains = nullptr,
                 .strings = nullptr,
                 .collection_state = 0,
                 .counters = nullptr,
                 .collect_events = 0,
                 .histograms = nullptr};
};

// In the data of this library, by whose address a collector recognizes the caller. Never destroyed.
static_assert(std::is_trivially_destructible_v<Collector>);
Collector& collector() {
  static Collector made;
  return made;
}

// Returns the domain while a tool listens to it. A collector may switch it off and on.
const Domain* listening() {
  const Domain* domain = collector().domain;
  return domain != nullptr && domain->flags != 0 ? domain : nullptr;
}

StringHandle* handle(Message message) {
  return static_cast<StringHandle*>(const_cast<void*>(message));
}

}  // namespace

const char* missing() {
  return collector().domain == nullptr ? "no tool listens through ITT" : nullptr;
}

Message message(const char* text) {
  Collector& to = collector();
  return to.domain == nullptr ? nullptr : to.use.string_handle_create(text);
}

void push(Message message, uint64_t /*payload*/) {
  if (const Domain* domain = listening())
    collector().use.task_begin(domain, {}, {}, handle(message));
}

void pop() {
  if (const Domain* domain = listening())
    collector().use.task_end(domain);
}

uint64_t start(Message message) {
  Collector& to = collector();
  const Domain* domain = listening();
  if (domain == nullptr || to.use.task_begin_overlapped == nullptr)
    return 0;
  const uint64_t number = ++to.ranges;
  to.use.task_begin_overlapped(domain, {reinterpret_cast<uintptr_t>(&to), number, 0}, {},
                               handle(message));
  return number;
}

void end(uint64_t range) {
  Collector& to = collector();
  const Domain* domain = listening();
  if (domain != nullptr && range != 0 && to.use.task_end_overlapped != nullptr)
    to.use.task_end_overlapped(domain, {reinterpret_cast<uintptr_t>(&to), range, 0});
}

void mark(Message message) {
  constexpr int kThreadScope = 4;
  const Domain* domain = listening();
  if (domain != nullptr && collector().use.marker != nullptr)
    collector().use.marker(domain, {}, handle(message), kThreadScope);
}

}  // namespace perfprobe::itt
