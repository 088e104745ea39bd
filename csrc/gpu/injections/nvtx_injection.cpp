// perfprobe as the tool that NVTX loads. Each library of the program that contains NVTX calls
// InitializeInjectionNvtx2 once, at its first NVTX call.
#include "core/records.h"
#include "gpu/injections/nvtx_abi.h"
#include "gpu/injections/own_library.h"

namespace perfprobe::nvtx {
namespace {

constexpr RangeSource kSource = RangeSource::nvtx;

// A handle is the number of a text, from 1 on. A null handle is the default domain, or no text.
Handle handle_of(int32_t name) {
  return reinterpret_cast<Handle>(static_cast<uintptr_t>(name) + 1);
}

int32_t name_of(Handle handle) {
  return static_cast<int32_t>(reinterpret_cast<uintptr_t>(handle)) - 1;
}

int32_t name_of(const Attributes* event) {
  const char* none = nullptr;
  if (event == nullptr || event->size < sizeof(Attributes))
    return sink()->name(none);
  switch (event->message_type) {
    case kAscii:
      return sink()->name(event->message.ascii);
    case kWide:
      return sink()->wide_name(event->message.wide);
    case kRegistered:
      if (event->message.registered != nullptr)
        return name_of(event->message.registered);
      [[fallthrough]];
    default:
      return sink()->name(none);
  }
}
int32_t name_of(const char* text) {
  return sink()->name(text);
}
int32_t name_of(const wchar_t* text) {
  return sink()->wide_name(text);
}

template <class Message>
int push(int32_t domain, Message message) {
  if (sink()->is_recording())
    sink()->push(kSource, domain, name_of(message));
  return kNoTracking;
}

template <class Message>
uint64_t start(int32_t domain, Message message) {
  const bool is_recording = sink()->is_recording();
  return is_recording ? static_cast<uint64_t>(sink()->start(kSource, domain, name_of(message))) : 0;
}

template <class Message>
void mark(int32_t domain, Message message) {
  if (sink()->is_recording())
    sink()->mark(kSource, domain, name_of(message));
}

int pop(int32_t domain) {
  sink()->pop(kSource, domain);
  return kNoTracking;
}

void end(uint64_t range) {
  if (range != 0)
    sink()->end(kSource, static_cast<int64_t>(range));
}

template <class Message>
void name_thread(uint32_t os_thread, Message name) {
  sink()->name_thread(os_thread, name_of(name));
}

void set(FunctionTable table, unsigned size, unsigned place, Function function) {
  if (place < size && table[place] != nullptr)
    *table[place] = function;
}

template <class Result, class... Arguments>
Function generic(Result (*function)(Arguments...)) {
  return reinterpret_cast<Function>(function);
}

void fill_core(FunctionTable table, unsigned size) {
  using Event = const Attributes*;
  using Text = const char*;
  using Wide = const wchar_t*;
  const auto put = [&](unsigned place, Function function) { set(table, size, place, function); };
  put(kMarkEx, generic(+[](Event event) { mark(kNone, event); }));
  put(kMarkA, generic(+[](Text text) { mark(kNone, text); }));
  put(kMarkW, generic(+[](Wide text) { mark(kNone, text); }));
  put(kRangeStartEx, generic(+[](Event event) { return start(kNone, event); }));
  put(kRangeStartA, generic(+[](Text text) { return start(kNone, text); }));
  put(kRangeStartW, generic(+[](Wide text) { return start(kNone, text); }));
  put(kRangeEnd, generic(+[](uint64_t range) { end(range); }));
  put(kRangePushEx, generic(+[](Event event) { return push(kNone, event); }));
  put(kRangePushA, generic(+[](Text text) { return push(kNone, text); }));
  put(kRangePushW, generic(+[](Wide text) { return push(kNone, text); }));
  put(kRangePop, generic(+[] { return pop(kNone); }));
  put(kNameOsThreadA, generic(+[](uint32_t thread, Text name) { name_thread(thread, name); }));
  put(kNameOsThreadW, generic(+[](uint32_t thread, Wide name) { name_thread(thread, name); }));
}

void fill_domains(FunctionTable table, unsigned size) {
  using Event = const Attributes*;
  using Text = const char*;
  using Wide = const wchar_t*;
  const auto put = [&](unsigned place, Function function) { set(table, size, place, function); };
  put(kDomainMarkEx, generic(+[](Handle domain, Event event) { mark(name_of(domain), event); }));
  put(kDomainRangeStartEx,
      generic(+[](Handle domain, Event event) { return start(name_of(domain), event); }));
  put(kDomainRangeEnd, generic(+[](Handle /*domain*/, uint64_t range) { end(range); }));
  put(kDomainRangePushEx,
      generic(+[](Handle domain, Event event) { return push(name_of(domain), event); }));
  put(kDomainRangePop, generic(+[](Handle domain) { return pop(name_of(domain)); }));
  put(kDomainRegisterStringA,
      generic(+[](Handle /*domain*/, Text text) { return handle_of(name_of(text)); }));
  put(kDomainRegisterStringW,
      generic(+[](Handle /*domain*/, Wide text) { return handle_of(name_of(text)); }));
  put(kDomainCreateA, generic(+[](Text name) { return handle_of(name_of(name)); }));
  put(kDomainCreateW, generic(+[](Wide name) { return handle_of(name_of(name)); }));
}

}  // namespace

// Returning 0 makes all NVTX calls of that library no-ops, as without a tool.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(GetExportTable get) {
  const void* client = reinterpret_cast<const void*>(get);
  if (sink() == nullptr || is_own_module(client))
    return 0;
  const auto* callbacks = static_cast<const Callbacks*>(get(kCallbacksId));
  if (callbacks == nullptr || callbacks->struct_size < sizeof(Callbacks))
    return 0;
  FunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks->table_of(kCore, &table, &size) == 0)
    return 0;
  fill_core(table, size);
  if (callbacks->table_of(kCore2, &table, &size) != 0)
    fill_domains(table, size);
  sink()->attached(kSource, library_of(client));
  return 1;
}

}  // namespace perfprobe::nvtx
