// perfprobe as the collector that ITT loads. Each library of the program that contains ITT calls
// __itt_api_init once, at its first ITT call (torch when it is imported).
#include <array>
#include <cstdlib>
#include <cstring>

#include "core/records.h"
#include "gpu/injections/own_library.h"
#include "gpu/itt_abi.h"

namespace perfprobe::itt {
namespace {

constexpr RangeSource kSource = RangeSource::itt;
constexpr char kOurs = 0;  // its address marks objects made here

// Domains and strings by the number of their text. Made on first sight and kept, because programs
// keep pointers to them.
template <class Made>
class Kept {
 public:
  Made* find(int32_t name) {
    if (static_cast<size_t>(name) >= kMost)
      return nullptr;
    Made** place = &made_[static_cast<size_t>(name)];
    Made* known = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (known != nullptr)
      return known;
    auto* made = static_cast<Made*>(std::calloc(1, sizeof(Made)));
    if (made == nullptr)
      return nullptr;
    made->number = name;
    made->owner = &kOurs;
    fill(*made, sink()->text(name));
    if (__atomic_compare_exchange_n(place, &known, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
      return made;
    std::free(made);  // another thread was first
    return known;
  }

 private:
  static constexpr size_t kMost = 65'536;
  static void fill(Domain& domain, const char* name) {
    domain.flags = 1;
    domain.name = name;
  }
  static void fill(StringHandle& handle, const char* text) { handle.text = text; }

  Made* made_[kMost] = {};
};

Kept<Domain> domains;
Kept<StringHandle> strings;

// Returns the number of the domain's text. For a domain made before perfprobe was loaded, its text
// is looked up.
int32_t number_of(const Domain* domain) {
  if (domain == nullptr)
    return kNone;
  return domain->owner == &kOurs ? domain->number : sink()->name(domain->name);
}

int32_t number_of(const StringHandle* handle) {
  if (handle != nullptr && handle->owner == &kOurs)
    return handle->number;
  return sink()->name(handle == nullptr ? nullptr : handle->text);
}

// Clients choose their ids. Numbers of perfprobe are positive, so these become negative.
int64_t range_of(const Domain* domain, Id id) {
  uint64_t mixed = reinterpret_cast<uintptr_t>(domain);
  for (const uint64_t part : {id.d1, id.d2, id.d3})
    mixed = (mixed ^ part) * 0x9E3779B97F4A7C15ULL + (mixed >> 29);
  return static_cast<int64_t>(mixed | 1ULL << 63);
}

Domain* domain_create(const char* name) {
  return domains.find(sink()->name(name));
}

StringHandle* string_handle_create(const char* text) {
  return strings.find(sink()->name(text));
}

void task_begin(const Domain* domain, Id /*id*/, Id /*parent*/, StringHandle* name) {
  if (sink()->is_recording())
    sink()->push(kSource, number_of(domain), number_of(name));
}

// A task that is named by a function.
void task_begin_function(const Domain* domain, Id /*id*/, Id /*parent*/, void* function) {
  if (sink()->is_recording())
    sink()->push(kSource, number_of(domain), sink()->name(symbol_of(function)));
}

void task_end(const Domain* domain) {
  if (sink()->is_recording())
    sink()->pop(kSource, number_of(domain));
}

void task_begin_overlapped(const Domain* domain, Id id, Id /*parent*/, StringHandle* name) {
  if (sink()->is_recording())
    sink()->start_as(kSource, number_of(domain), number_of(name), range_of(domain, id));
}

void task_end_overlapped(const Domain* domain, Id id) {
  sink()->end(kSource, range_of(domain, id));
}

void marker(const Domain* domain, Id /*id*/, StringHandle* name, int /*scope*/) {
  if (sink()->is_recording())
    sink()->mark(kSource, number_of(domain), number_of(name));
}

void thread_set_name(const char* name) {
  sink()->name_thread(0, sink()->name(name));
}

template <class Function>
void* generic(Function* function) {
  return reinterpret_cast<void*>(function);
}

struct Offered {
  const char* name;
  void* function;
};

void* find(const char* name) {
  const std::array<Offered, 9> offered{{
      {"__itt_domain_create", generic(domain_create)},
      {"__itt_string_handle_create", generic(string_handle_create)},
      {"__itt_task_begin", generic(task_begin)},
      {"__itt_task_begin_fn", generic(task_begin_function)},
      {"__itt_task_end", generic(task_end)},
      {"__itt_task_begin_overlapped", generic(task_begin_overlapped)},
      {"__itt_task_end_overlapped", generic(task_end_overlapped)},
      {"__itt_marker", generic(marker)},
      {"__itt_thread_set_name", generic(thread_set_name)},
  }};
  for (const Offered& one : offered) {
    if (std::strcmp(one.name, name) == 0)
      return one.function;
  }
  return nullptr;
}

}  // namespace

// Functions that are not offered become null, as without a collector. So do all if nothing is
// recorded.
extern "C" __attribute__((visibility("default"))) void __itt_api_init(Client* client,
                                                                      int32_t /*groups*/) {
  const bool declines = sink() == nullptr || is_own_module(client);
  for (ApiEntry* entry = client->entries; entry != nullptr && entry->name != nullptr; ++entry) {
    void* function = declines ? nullptr : find(entry->name);
    *entry->function = function != nullptr ? function : entry->null_function;
  }
  if (!declines)
    sink()->attached(kSource, library_of(client));
}

}  // namespace perfprobe::itt
