// Replaces the observer's ports, for recordings in a process that has already searched for tools.
#include "core/emission_port.h"
#include "heard.h"

using namespace perfprobe::listener;

EXPORTED const perfprobe::EmissionPort listener_port{
    [](const char* text) -> const void* {
      log("text", text);
      return kept(text);
    },
    [](const void* message) { log("push", static_cast<const char*>(message)); }, [] { log("pop"); },
    [](const void* message) { return begin_range(static_cast<const char*>(message)); },
    [](uint64_t range) { end_range(range); }};

EXPORTED const perfprobe::ExternalIdPort listener_ids{
    5,
    [](uint32_t kind, uint64_t id) -> uint32_t {
      log("id", std::to_string(kind) + " " + std::to_string(id));
      return 0;
    },
    [](uint32_t kind, uint64_t* last) -> uint32_t {
      *last = 0;
      log("unid", std::to_string(kind));
      return 0;
    }};

EXPORTED void listen_into(const char* path) {
  log_into(path);
}
