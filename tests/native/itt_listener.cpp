// A collector as small as ITT allows: writes down what it is told, for a test to ask.
#include <cstring>
#include <list>
#include <string>
#include <vector>

#include "gpu/itt_abi.h"

using perfprobe::itt::ApiEntry;
using perfprobe::itt::Client;
using perfprobe::itt::Domain;
using perfprobe::itt::Id;
using perfprobe::itt::StringHandle;

namespace {

std::vector<std::string> heard;
std::list<std::string> texts;
std::list<Domain> domains;
std::list<StringHandle> strings;

Domain* domain_create(const char* name) {
  heard.push_back(std::string("domain ") + name);
  const char* kept = texts.emplace_back(name).c_str();
  return &domains.emplace_back(Domain{1, kept, nullptr, 0, nullptr, nullptr});
}

StringHandle* string_handle_create(const char* text) {
  const char* kept = texts.emplace_back(text).c_str();
  return &strings.emplace_back(StringHandle{kept, nullptr, 0, nullptr, nullptr});
}

void task_begin(const Domain* /*domain*/, Id /*id*/, Id /*parent*/, StringHandle* name) {
  heard.push_back(std::string("push ") + name->text);
}

void task_end(const Domain* /*domain*/) {
  heard.emplace_back("pop");
}

void begin_overlapped(const Domain* /*domain*/, Id id, Id /*parent*/, StringHandle* name) {
  heard.push_back(std::string("start ") + name->text + " " + std::to_string(id.d2));
}

void end_overlapped(const Domain* /*domain*/, Id id) {
  heard.push_back("end " + std::to_string(id.d2));
}

void marker(const Domain* /*domain*/, Id /*id*/, StringHandle* name, int /*scope*/) {
  heard.push_back(std::string("mark ") + name->text);
}

template <class Called>
void offer(const ApiEntry& entry, const char* name, Called* function) {
  if (std::strcmp(entry.name, name) == 0)
    *entry.function = reinterpret_cast<void*>(function);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void __itt_api_init(Client* client,
                                                                      int /*groups*/) {
  for (ApiEntry* entry = client->entries; entry->name != nullptr; ++entry) {
    offer(*entry, "__itt_domain_create", domain_create);
    offer(*entry, "__itt_string_handle_create", string_handle_create);
    offer(*entry, "__itt_task_begin", task_begin);
    offer(*entry, "__itt_task_end", task_end);
    offer(*entry, "__itt_task_begin_overlapped", begin_overlapped);
    offer(*entry, "__itt_task_end_overlapped", end_overlapped);
    offer(*entry, "__itt_marker", marker);
  }
}

extern "C" __attribute__((visibility("default"))) const char* take_heard() {
  static std::string lines;
  lines.clear();
  for (const std::string& line : heard)
    lines += line + "\n";
  heard.clear();
  return lines.c_str();
}
