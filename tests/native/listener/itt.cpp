// A collector for ITT.

#include <cstring>

#include "gpu/itt_abi.h"
#include "heard.h"

namespace {

using namespace perfprobe::itt;
using namespace perfprobe::listener;

bool is_heard(const Domain* domain) {
  return is_own_domain(domain->name) && is_logging();
}

Domain* create_domain(const char* name) {
  if (is_own_domain(name))
    log("domain", name);
  Domain made{};
  made.flags = 1;
  made.name = kept(name);
  return &keep(made);
}

StringHandle* create_string(const char* text) {
  StringHandle made{};
  made.text = kept(text);
  return &keep(made);
}

void push(const Domain* domain, Id /*id*/, Id /*parent*/, StringHandle* text) {
  if (is_heard(domain))
    log("push", text->text);
}

void pop(const Domain* domain) {
  if (is_heard(domain))
    log("pop");
}

void begin(const Domain* domain, Id id, Id /*parent*/, StringHandle* text) {
  if (is_heard(domain))
    log("begin", std::to_string(id.d2) + " " + text->text);
}

void end(const Domain* domain, Id id) {
  if (is_heard(domain))
    end_range(id.d2);
}

void mark(const Domain* domain, Id /*id*/, StringHandle* text, int /*scope*/) {
  if (is_heard(domain))
    log("mark", text->text);
}

void resume() {
  log("resume");
}

void pause() {
  log("pause");
}

template <class Function>
void offer(const ApiEntry& entry, const char* name, Function* function) {
  if (std::strcmp(entry.name, name) == 0)
    *entry.function = reinterpret_cast<void*>(function);
}

void offer_all(const ApiEntry& entry) {
  offer(entry, "__itt_domain_create", create_domain);
  offer(entry, "__itt_string_handle_create", create_string);
  offer(entry, "__itt_task_begin", push);
  offer(entry, "__itt_task_end", pop);
  offer(entry, "__itt_task_begin_overlapped", begin);
  offer(entry, "__itt_task_end_overlapped", end);
  offer(entry, "__itt_marker", mark);
  offer(entry, "__itt_resume", resume);
  offer(entry, "__itt_pause", pause);
}

}  // namespace

// A client that asks for more functions, as torch's does, keeps its own for them, which do nothing.
EXPORTED void __itt_api_init(Client* client, int32_t /*groups*/) {
  for (ApiEntry* entry = client->entries; entry->name != nullptr; ++entry) {
    offer_all(*entry);
    if (*entry->function == nullptr && entry->null_function != nullptr)
      *entry->function = entry->null_function;
  }
}
