// The recorder with threads, a tiny buffer, a full disk, and a descriptor reused by the program.
#include "core/recorder.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

#include "check.h"
#include "core/clock.h"

using perfprobe::Chunk;
using perfprobe::Fate;
using perfprobe::Recorder;

namespace {

constexpr int64_t kFlushNs = 10'000'000;

std::string temporary_path(const std::string& name) {
  static const std::string folder = [] {
    char pattern[] = "/tmp/perfprobe-test-XXXXXX";
    return std::string(mkdtemp(pattern));
  }();
  return folder + "/" + name;
}

int64_t file_bytes(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 ? status.st_size : -1;
}

// Recorders are never destroyed. Kept here, so that the leak checker accepts that.
Recorder* make_recorder(const std::string& name, int64_t flush_ns = kFlushNs) {
  static auto* const kept = new std::vector<Recorder*>();
  return kept->emplace_back(new Recorder(temporary_path(name), 1, flush_ns));
}

// Does what an observer does for `rows` operators of one thread.
void record_rows(Recorder& recorder, int rows) {
  const int32_t thread = recorder.define(
      [](perfprobe::Definitions& definitions) { return definitions.add_thread({1, 1, -1}); });
  Chunk* chunk = recorder.exchange_chunk(nullptr, thread);
  for (int i = 0; i < rows; ++i) {
    const uint32_t count = chunk->count.load();
    chunk->rows[count] = {};
    chunk->rows[count].start_ticks = i;
    chunk->count.store(count + 1);
    if (count + 1 == Chunk::kCapacity)
      chunk = recorder.exchange_chunk(chunk, thread);
  }
  recorder.return_chunk(chunk);
}

// The smallest buffer has two chunks, so four threads must write their own. No row may be lost.
void no_row_is_lost_when_the_writer_lags() {
  auto* recorder = make_recorder("threads");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] { record_rows(*recorder, 50'000); });
  for (std::thread& thread : threads)
    thread.join();
  recorder->close();
  recorder->close();  // a second time does nothing
  CHECK_EQUAL(recorder->operator_rows(), 200'000);
  CHECK_EQUAL(recorder->dropped_rows(), 0);
  CHECK_EQUAL(recorder->written_bytes(), file_bytes(temporary_path("threads")));
}

void an_unfinished_chunk_reaches_the_disk() {
  auto* recorder = make_recorder("unfinished");
  Chunk* chunk = recorder->exchange_chunk(nullptr, 0);
  chunk->rows[0] = {};
  chunk->count.store(1, std::memory_order_release);
  recorder->close();
  CHECK_EQUAL(recorder->operator_rows(), 1);
}

// RLIMIT_FSIZE makes writes fail like a full disk, without filling one.
void a_full_disk_drops_rows_and_keeps_whole_blocks() {
  signal(SIGXFSZ, SIG_IGN);
  auto* recorder = make_recorder("full");
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{100'000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  record_rows(*recorder, 100'000);
  recorder->close();
  setrlimit(RLIMIT_FSIZE, &before);
  CHECK(recorder->dropped_rows() > 0);
  CHECK_EQUAL(recorder->operator_rows() + recorder->dropped_rows(), 100'000);
  CHECK(file_bytes(temporary_path("full")) <= 100'000);
  CHECK_EQUAL(recorder->written_bytes(), file_bytes(temporary_path("full")));
}

// The descriptor of this process for a file.
int descriptor_of(const std::string& path) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (std::filesystem::read_symlink(entry.path(), gone) == path)
      return std::stoi(entry.path().filename());
  }
  return -1;
}

// A daemon closes every descriptor and opens its own files under the same numbers.
void a_descriptor_that_was_closed_and_reused_is_never_written_to() {
  const std::string victim_path = temporary_path("victim");
  Recorder* recorder = make_recorder("stolen", int64_t{3'600'000'000'000});
  const int recording = descriptor_of(temporary_path("stolen"));
  CHECK(recording >= 100);  // the low numbers belong to the program
  const int victim = ::open(victim_path.c_str(), O_WRONLY | O_CREAT, 0600);
  ::dup2(victim, recording);
  record_rows(*recorder, 10);
  recorder->close();
  CHECK_EQUAL(recorder->operator_rows(), 10);  // the file was opened again
  CHECK_EQUAL(recorder->dropped_rows(), 0);
  CHECK_EQUAL(recorder->written_bytes(), file_bytes(temporary_path("stolen")));
  CHECK_EQUAL(file_bytes(victim_path), 0);
  CHECK_EQUAL(::close(recording), 0);  // still belongs to the program
}

// The same after rows were written, and with another file in the recording's place. Making room for
// the losses must not truncate it.
void a_descriptor_that_was_closed_and_reused_is_never_truncated() {
  const std::string victim_path = temporary_path("victim2");
  Recorder* recorder = make_recorder("stolen2");
  record_rows(*recorder, 10);
  while (recorder->operator_rows() < 10)
    ::usleep(1000);
  const int victim = ::open(victim_path.c_str(), O_WRONLY | O_CREAT, 0600);
  CHECK_EQUAL(::write(victim, victim_path.data(), 10), 10);
  ::dup2(victim, descriptor_of(temporary_path("stolen2")));
  std::filesystem::remove(temporary_path("stolen2"));
  std::filesystem::create_hard_link(victim_path, temporary_path("stolen2"));
  record_rows(*recorder, 10);
  recorder->close();
  CHECK_EQUAL(file_bytes(victim_path), 10);
  CHECK_EQUAL(recorder->operator_rows(), 10);
  CHECK_EQUAL(recorder->dropped_rows(), 10);
}

void overlapping_pauses_leave_one_writer() {
  Recorder* recorder = make_recorder("overlap");
  recorder->pause();
  recorder->pause();
  recorder->resume();
  record_rows(*recorder, 20'000);
  recorder->resume();
  recorder->resume();  // one too many: does nothing
  recorder->close();
  CHECK_EQUAL(recorder->operator_rows(), 20'000);
}

void rows_survive_a_pause() {
  Recorder* recorder = make_recorder("pause");
  recorder->pause();
  record_rows(*recorder, 20'000);
  recorder->resume();
  record_rows(*recorder, 20'000);
  recorder->pause();
  recorder->close();
  recorder->resume();  // too late: does nothing
  CHECK_EQUAL(recorder->operator_rows(), 40'000);
}

// Otherwise the report of a killed run does not know how far the recording reaches.
void a_busy_writer_still_writes_its_heartbeat() {
  Recorder* recorder = make_recorder("heartbeat");
  const int64_t end_ns = perfprobe::monotonic_ns() + 10 * kFlushNs;
  while (perfprobe::monotonic_ns() < end_ns)
    record_rows(*recorder, 20'000);
  recorder->close();
  std::ifstream file(temporary_path("heartbeat"), std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  CHECK(bytes.find("\x08progress") != std::string::npos);
}

void an_existing_file_is_refused() {
  const std::string path = temporary_path("existing");
  ::close(::open(path.c_str(), O_WRONLY | O_CREAT, 0600));
  int error = 0;
  try {
    const Recorder recorder(path, 1, kFlushNs);
  } catch (const std::system_error& refused) {
    error = refused.code().value();
  }
  CHECK_EQUAL(error, EEXIST);
}

void rows_handed_over_whole_are_on_the_disk_at_once() {
  Recorder* recorder = make_recorder("whole");
  const int64_t start_ns[] = {5, 9};
  const int64_t depth[] = {1, 0};
  const perfprobe::ColumnView columns[] = {{"start_ns", start_ns}, {"depth", depth}};
  const int64_t before = recorder->written_bytes();
  recorder->add_rows("autograd_operators", columns);
  CHECK(recorder->written_bytes() > before);
  CHECK_EQUAL(recorder->operator_rows(), 0);
  recorder->add_rows("operators", columns);
  CHECK_EQUAL(recorder->operator_rows(), 2);
  recorder->close();
}

// The later call replaces the earlier one, and a distant heartbeat does not delay it.
void an_alarm_fires_once() {
  Recorder* recorder = make_recorder("alarm", int64_t{3600} * 1'000'000'000);
  static std::atomic<int> never{0};
  static std::atomic<int> rung{0};
  const auto ring = [](void* count) { ++*static_cast<std::atomic<int>*>(count); };
  const int64_t now_ns = perfprobe::monotonic_ns();
  recorder->set_alarm(now_ns + int64_t{3600} * 1'000'000'000, ring, &never);
  recorder->set_alarm(now_ns, ring, &rung);
  while (rung == 0)
    std::this_thread::yield();
  recorder->close();
  CHECK_EQUAL(rung.load(), 1);
  CHECK_EQUAL(never.load(), 0);
}

void a_companion_pauses_with_the_writer() {
  Recorder* recorder = make_recorder("companion");
  std::atomic<int> running{0};
  std::atomic<int> starts{0};
  perfprobe::NativeThread* thread = nullptr;
  perfprobe::NativeThread companion(
      [&] {
        ++running;
        ++starts;
        while (!thread->leaving())
          ::usleep(100);
        --running;
      },
      [] {});
  thread = &companion;
  CHECK_EQUAL(companion.start(), 0);
  recorder->join_forks(companion);
  recorder->pause();
  recorder->pause();
  CHECK_EQUAL(running.load(), 0);
  recorder->resume();
  CHECK_EQUAL(running.load(), 0);
  recorder->resume();
  while (running == 0)
    ::usleep(100);
  recorder->leave_forks(companion);
  recorder->pause();
  CHECK_EQUAL(running.load(), 1);
  recorder->resume();
  CHECK(companion.end());
  CHECK_EQUAL(starts.load(), 2);
  recorder->close();
}

void put_rows(Chunk* chunk, uint32_t rows) {
  for (uint32_t i = 0; i < rows; ++i) {
    const uint32_t count = chunk->count.load();
    chunk->rows[count] = {};
    chunk->count.store(count + 1);
  }
}

void held_rows_are_written_where_they_are_decided_to_be() {
  auto* recorder = make_recorder("held");
  recorder->hold_rows();
  Chunk* chunk = recorder->exchange_chunk(nullptr, 0);
  put_rows(chunk, 3);
  CHECK(!recorder->decide(Fate::ordinary));
  put_rows(chunk, 2);
  CHECK(!recorder->decide(Fate::slow));
  put_rows(chunk, 4);
  recorder->close();
  CHECK_EQUAL(recorder->operator_rows(), 2);
  CHECK_EQUAL(recorder->watched_rows(), 9);
}

// The smallest buffer has two chunks.
void of_a_step_larger_than_the_buffer_the_end_is_kept() {
  auto* recorder = make_recorder("larger");
  recorder->hold_rows();
  record_rows(*recorder, 50'000);
  CHECK(recorder->decide(Fate::slow));
  recorder->close();
  CHECK(recorder->operator_rows() > 0);
  CHECK(recorder->operator_rows() < 50'000);
  CHECK_EQUAL(recorder->watched_rows(), 50'000);
}

void a_recording_goes_on_in_files_that_have_all_definitions() {
  auto* recorder = make_recorder("rotating.perfprobe");
  recorder->rotate_at(4096);
  recorder->add_meta("fact", "1");
  const std::string second = temporary_path("rotating.2.perfprobe");
  for (int i = 0; i < 1'000 && file_bytes(second) < 0; ++i) {
    record_rows(*recorder, 2'000);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  recorder->close();
  std::ifstream file(second, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  CHECK(text.starts_with("PERFPROBE\n"));
  CHECK(text.find("fact") != std::string::npos);
  CHECK(text.find("threads") != std::string::npos);
}

}  // namespace

int main() {
  no_row_is_lost_when_the_writer_lags();
  an_unfinished_chunk_reaches_the_disk();
  a_full_disk_drops_rows_and_keeps_whole_blocks();
  a_descriptor_that_was_closed_and_reused_is_never_written_to();
  a_descriptor_that_was_closed_and_reused_is_never_truncated();
  overlapping_pauses_leave_one_writer();
  rows_survive_a_pause();
  a_companion_pauses_with_the_writer();
  a_busy_writer_still_writes_its_heartbeat();
  an_existing_file_is_refused();
  rows_handed_over_whole_are_on_the_disk_at_once();
  an_alarm_fires_once();
  held_rows_are_written_where_they_are_decided_to_be();
  of_a_step_larger_than_the_buffer_the_end_is_kept();
  a_recording_goes_on_in_files_that_have_all_definitions();
  return perfprobe::test::report();
}
