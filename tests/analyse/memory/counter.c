/* Counts the bytes of malloc, for a process that preloads it. */
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>

extern void *__libc_malloc(size_t);
extern void __libc_free(void *);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static atomic_long held, peak;

static void *add(void *memory) {
  if (memory == NULL)
    return memory;
  const long bytes = (long)malloc_usable_size(memory);
  const long now = atomic_fetch_add(&held, bytes) + bytes;
  long most = peak;
  while (now > most && !atomic_compare_exchange_weak(&peak, &most, now)) {
  }
  return memory;
}

static void subtract(void *memory) {
  if (memory != NULL)
    atomic_fetch_sub(&held, (long)malloc_usable_size(memory));
}

void *malloc(size_t bytes) { return add(__libc_malloc(bytes)); }
void *calloc(size_t count, size_t bytes) { return add(__libc_calloc(count, bytes)); }
void *memalign(size_t alignment, size_t bytes) { return add(__libc_memalign(alignment, bytes)); }
void *aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }

void free(void *memory) {
  subtract(memory);
  __libc_free(memory);
}

void *realloc(void *memory, size_t bytes) {
  subtract(memory);
  return add(__libc_realloc(memory, bytes));
}

int posix_memalign(void **to, size_t alignment, size_t bytes) {
  void *memory = memalign(alignment, bytes);
  if (memory == NULL)
    return ENOMEM;
  *to = memory;
  return 0;
}

long counter_held(void) { return held; }
long counter_peak(void) { return peak; }
void counter_reset(void) { peak = held; }
