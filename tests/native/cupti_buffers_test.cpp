// The buffers that CUPTI requests and returns, from several threads at once.
#include "gpu/cupti_buffers.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "check.h"
#include "core/clock.h"

namespace {

using perfprobe::CuptiBuffers;

void no_more_buffers_than_the_limit_are_given() {
  CuptiBuffers buffers;
  buffers.limit(3);
  buffers.keep_spares();
  std::vector<uint8_t*> given;
  for (int i = 0; i < 5; ++i) {
    if (uint8_t* memory = buffers.request(); memory != nullptr)
      given.push_back(memory);
  }
  CHECK_EQUAL(given.size(), size_t{3});
  CHECK_EQUAL(buffers.figures().refused, 2);
  CHECK(std::ranges::all_of(
      given, [](uint8_t* memory) { return reinterpret_cast<uintptr_t>(memory) % 8 == 0; }));
  buffers.complete(given[0], 1);
  CHECK(buffers.request() == nullptr);  // full buffers count until they are read
  buffers.give_back(buffers.take());
  CHECK(buffers.request() != nullptr);
  CHECK_EQUAL(buffers.figures().most_used, 3);
}

void buffers_come_in_the_order_of_completion_and_zeroed() {
  CuptiBuffers buffers;
  uint8_t* first = buffers.request();
  uint8_t* second = buffers.request();
  std::memset(second, 7, 10'000);  // more than it reports as valid
  buffers.complete(second, 100);
  buffers.complete(first, 0);
  const CuptiBuffers::Full full = buffers.take();
  CHECK(full.memory == second);
  CHECK_EQUAL(full.valid_bytes, size_t{100});
  CHECK(buffers.take().memory == first);
  CHECK(buffers.take().memory == nullptr);
  buffers.give_back(full);
  CHECK(std::all_of(second, second + CuptiBuffers::kBytes, [](uint8_t byte) { return byte == 0; }));
}

void foreign_buffers_are_refused() {
  CuptiBuffers buffers;
  std::vector<uint8_t> foreign(100);
  buffers.complete(foreign.data(), 100);
  buffers.complete(nullptr, 0);
  uint8_t* memory = buffers.request();
  buffers.complete(memory, 1);
  buffers.complete(memory, 1);  // returned twice
  CHECK_EQUAL(buffers.figures().foreign, 3);
  CHECK_EQUAL(buffers.figures().completed, 1);
  buffers.complete(nullptr, 0);
  CHECK(buffers.take().memory == memory);
  CHECK(buffers.take().memory == nullptr);
}

// Every written byte arrives once.
void threads_share_buffers() {
  constexpr int kThreads = 4;
  constexpr int kEach = 300;
  CuptiBuffers buffers;
  buffers.limit(8);
  std::atomic<int> running = kThreads;
  std::atomic<int64_t> written = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < kEach; ++round) {
        uint8_t* memory = buffers.request();
        if (memory == nullptr)
          continue;
        std::memset(memory, 1, 64);
        written += 64;
        buffers.complete(memory, 64);
      }
      --running;
    });
  }
  int64_t read = 0;
  bool last_round = false;
  while (!last_round) {
    last_round = running == 0;
    buffers.wait(perfprobe::monotonic_ns() + 1'000'000);
    for (auto full = buffers.take(); full.memory != nullptr; full = buffers.take()) {
      read += std::count(full.memory, full.memory + full.valid_bytes, 1);
      buffers.give_back(full);
    }
    buffers.keep_spares();
  }
  for (std::thread& thread : threads)
    thread.join();
  CHECK_EQUAL(read, written.load());
}

}  // namespace

int main() {
  no_more_buffers_than_the_limit_are_given();
  buffers_come_in_the_order_of_completion_and_zeroed();
  foreign_buffers_are_refused();
  threads_share_buffers();
  return perfprobe::test::report();
}
