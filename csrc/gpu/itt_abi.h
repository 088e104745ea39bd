// The interface between a program and an ITT collector, declared after the public structures in
// ittnotify.h and ittnotify_config.h of github.com/intel/ittapi (version 3.x, 64-bit Linux).
#pragma once

#include <cstddef>
#include <cstdint>
#include <pthread.h>

namespace perfprobe::itt {

struct Domain {
  volatile int flags;  // 0: disabled; clients check it before each call
  const char* name;
  const void* wide_name;
  int number;  // this and `owner` belong to the collector
  const void* owner;
  Domain* next;
};
static_assert(sizeof(Domain) == 48);

struct StringHandle {
  const char* text;
  const void* wide_text;
  int number;
  const void* owner;
  StringHandle* next;
};
static_assert(sizeof(StringHandle) == 40);

struct Id {
  uint64_t d1, d2, d3;
};

// One function of the interface. The collector fills `*function`.
struct ApiEntry {
  const char* name;  // nullptr ends the list
  void** function;
  void* init_function;
  void* null_function;
  int32_t group;
};
static_assert(sizeof(ApiEntry) == 40);

// The state of one client. Each library with ITT in it is one.
struct Client {
  uint8_t magic[8];
  unsigned long version_major;
  unsigned long version_minor;
  unsigned long version_build;
  volatile long api_initialized;
  volatile long mutex_initialized;
  volatile long atomic_counter;
  pthread_mutex_t mutex;
  void* collector;
  void* error_handler;
  const char** collector_path;
  ApiEntry* entries;
  Client* next;
  void* threads;
  Domain* domains;
  StringHandle* strings;
  int32_t collection_state;
  void* counters;
  uint32_t collect_events;
  void* histograms;
};
static_assert(offsetof(Client, entries) == 120);
static_assert(offsetof(Client, domains) == 144);

constexpr int32_t kAllGroups = -1;

// Every collector exports this function as __itt_api_init.
using ApiInit = void (*)(Client*, int32_t groups);

}  // namespace perfprobe::itt
