// Each function spends its CPU time on one known kind of work. For known_parts.py.
#define _GNU_SOURCE
#include <omp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int64_t cpu_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

__attribute__((noinline)) double plain_loop(double value, int64_t turns) {
  for (int64_t i = 0; i < turns; ++i)
    value = value * 1.0000001 + 0.1;
  return value;
}

double loop_for(int64_t time_ns) {
  double value = 1;
  for (const int64_t end = cpu_ns() + time_ns; cpu_ns() < end;)
    value = plain_loop(value, 200000);
  return value;
}

void copy_for(int64_t time_ns, char *to, const char *from, int64_t bytes) {
  for (const int64_t end = cpu_ns() + time_ns; cpu_ns() < end;)
    memcpy(to, from, (size_t)bytes);
}

// Sizes that change, so that the allocator has to search, merge and split.
void allocate_for(int64_t time_ns) {
  void *held[256] = {0};
  uint32_t random = 1;
  for (const int64_t end = cpu_ns() + time_ns; cpu_ns() < end;) {
    for (int i = 0; i < 4096; ++i) {
      random = random * 1664525 + 1013904223;
      free(held[random >> 24]);
      held[random >> 24] = malloc(1200 + (random >> 12) % 4000);
    }
  }
  for (int i = 0; i < 256; ++i)
    free(held[i]);
}

// One thread of two works; the other one waits for it. Returns the CPU time of the waiting one.
int64_t wait_for(int64_t time_ns) {
  int64_t begun[2] = {0}, ended[2] = {0};
#pragma omp parallel num_threads(2)
  {
    const int thread = omp_get_thread_num();
#pragma omp barrier
    begun[thread] = cpu_ns();
    if (thread == 0)
      loop_for(time_ns);
#pragma omp barrier
    ended[thread] = cpu_ns();
  }
  return ended[1] - begun[1];
}
