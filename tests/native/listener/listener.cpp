// A tool that listens to perfprobe's own ranges, for tests and benchmarks: NVTX's, by NVTX's own
// header, and ITT's; also as the observer's ports themselves. It writes one line for each event of
// the domain "perfprobe", and of resume and pause, to the file that PERFPROBE_LISTENER_LOG names,
// "pid thread event text"; without that it does nothing.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/emission_port.h"
#include "gpu/itt_abi.h"

#ifdef LISTEN_TO_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace {

int open_log(const char* path) {
  return path == nullptr ? -1 : ::open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
}

int file = open_log(std::getenv("PERFPROBE_LISTENER_LOG"));

int log_file() {
  return file;
}

void log(const char* event, const std::string& text) {
  if (log_file() < 0)
    return;
  const std::string line = std::to_string(::getpid()) + " " +
                           std::to_string(::syscall(SYS_gettid)) + " " + event + " " + text + "\n";
  if (::write(log_file(), line.data(), line.size()) < 0)
    std::perror("listener");
}

const char* kept(const char* text) {
  return ::strdup(text);  // for ever, as real tools do
}

uint64_t begin_range(const char* text) {
  static uint64_t ranges = 0;
  const uint64_t range = __atomic_add_fetch(&ranges, 1, __ATOMIC_RELAXED);
  log("begin", std::to_string(range) + " " + text);
  return range;
}

}  // namespace

#ifdef LISTEN_TO_NVTX

namespace {

nvtxDomainHandle_t create_domain(const char* name) {
  static char other;
  const bool ours = std::strcmp(name, "perfprobe") == 0;
  return ours ? reinterpret_cast<nvtxDomainHandle_t>(log_file)
              : reinterpret_cast<nvtxDomainHandle_t>(&other);
}

bool is_ours(nvtxDomainHandle_t domain) {
  return domain == reinterpret_cast<nvtxDomainHandle_t>(log_file);
}

nvtxStringHandle_t register_string(nvtxDomainHandle_t /*domain*/, const char* text) {
  log("text", text);
  return reinterpret_cast<nvtxStringHandle_t>(const_cast<char*>(kept(text)));
}

const char* text_of(const nvtxEventAttributes_t* event) {
  const bool registered = event->messageType == NVTX_MESSAGE_TYPE_REGISTERED;
  return registered ? reinterpret_cast<const char*>(event->message.registered) : "(not registered)";
}

int push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  if (is_ours(domain) && log_file() >= 0)
    log("push", text_of(event));
  return 0;
}

int pop(nvtxDomainHandle_t domain) {
  if (is_ours(domain) && log_file() >= 0)
    log("pop", "");
  return 0;
}

nvtxRangeId_t begin(nvtxDomainHandle_t /*domain*/, const nvtxEventAttributes_t* event) {
  return begin_range(text_of(event));
}

void end(nvtxDomainHandle_t /*domain*/, nvtxRangeId_t range) {
  log("end", std::to_string(range));
}

template <class Function>
void set(NvtxFunctionTable table, unsigned place, Function* function) {
  *table[place] = reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

EXPORTED int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get) {
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get(NVTX_ETID_CALLBACKS));
  NvtxFunctionTable table = nullptr;
  unsigned size = 0;
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size) == 0)
    return 0;
  set(table, NVTX_CBID_CORE2_DomainCreateA, create_domain);
  set(table, NVTX_CBID_CORE2_DomainRegisterStringA, register_string);
  set(table, NVTX_CBID_CORE2_DomainRangePushEx, push);
  set(table, NVTX_CBID_CORE2_DomainRangePop, pop);
  set(table, NVTX_CBID_CORE2_DomainRangeStartEx, begin);
  set(table, NVTX_CBID_CORE2_DomainRangeEnd, end);
  return 1;
}

#endif

namespace {

using namespace perfprobe::itt;

bool is_ours(const Domain* domain) {
  return std::strcmp(domain->name, "perfprobe") == 0 && log_file() >= 0;
}

Domain* itt_domain(const char* name) {
  auto* made = static_cast<Domain*>(std::calloc(1, sizeof(Domain)));
  made->flags = 1;
  made->name = kept(name);
  return made;
}

StringHandle* itt_string(const char* text) {
  auto* made = static_cast<StringHandle*>(std::calloc(1, sizeof(StringHandle)));
  made->text = kept(text);
  return made;
}

void itt_begin(const Domain* domain, Id /*id*/, Id /*parent*/, StringHandle* text) {
  if (is_ours(domain))
    log("push", text->text);
}

void itt_end(const Domain* domain) {
  if (is_ours(domain))
    log("pop", "");
}

void itt_begin_overlapped(const Domain* domain, Id id, Id /*parent*/, StringHandle* text) {
  if (is_ours(domain))
    log("begin", std::to_string(id.d2) + " " + text->text);
}

void itt_end_overlapped(const Domain* domain, Id id) {
  if (is_ours(domain))
    log("end", std::to_string(id.d2));
}

void itt_resume() {
  log("resume", "");
}

void itt_pause() {
  log("pause", "");
}

struct Entry {
  const char* name;
  void* function;
};

const Entry kEntries[] = {
    {"__itt_domain_create", reinterpret_cast<void*>(itt_domain)},
    {"__itt_string_handle_create", reinterpret_cast<void*>(itt_string)},
    {"__itt_task_begin", reinterpret_cast<void*>(itt_begin)},
    {"__itt_task_end", reinterpret_cast<void*>(itt_end)},
    {"__itt_task_begin_overlapped", reinterpret_cast<void*>(itt_begin_overlapped)},
    {"__itt_task_end_overlapped", reinterpret_cast<void*>(itt_end_overlapped)},
    {"__itt_resume", reinterpret_cast<void*>(itt_resume)},
    {"__itt_pause", reinterpret_cast<void*>(itt_pause)},
};

}  // namespace

// torch's own client is left alone: it asks for more functions than these.
EXPORTED void __itt_api_init(Client* client, int32_t /*groups*/) {
  for (ApiEntry* entry = client->entries; entry->name != nullptr; ++entry) {
    for (const Entry& known : kEntries) {
      if (std::strcmp(entry->name, known.name) == 0)
        *entry->function = known.function;
    }
    if (*entry->function != nullptr || entry->null_function == nullptr)
      continue;
    *entry->function = entry->null_function;
  }
}

// The observer's own ports: for recordings in a process that has looked for tools already.
EXPORTED const perfprobe::EmissionPort listener_port{
    [](const char* text) -> const void* {
      log("text", text);
      return kept(text);
    },
    [](const void* message) { log("push", static_cast<const char*>(message)); },
    [] { log("pop", ""); },
    [](const void* message) { return begin_range(static_cast<const char*>(message)); },
    [](uint64_t range) { log("end", std::to_string(range)); }};

EXPORTED const perfprobe::ExternalIdPort listener_ids{
    5,
    [](uint32_t kind, uint64_t id) -> uint32_t {
      if (log_file() >= 0)
        log("id", std::to_string(kind) + " " + std::to_string(id));
      return 0;
    },
    [](uint32_t kind, uint64_t* last) -> uint32_t {
      *last = 0;
      if (log_file() >= 0)
        log("unid", std::to_string(kind));
      return 0;
    }};

EXPORTED void listen_into(const char* path) {
  file = open_log(path);
}
