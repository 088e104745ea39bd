// Counters of code whose counts are known, compared with getrusage, and with kernels that refuse.
#include "cpu/perf/perf_counters.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "check.h"

using perfprobe::allowed_events;
using perfprobe::AllowedEvent;
using perfprobe::counter_events;
using perfprobe::CounterValues;
using perfprobe::Descriptor;
using perfprobe::kCounterEvents;
using perfprobe::MemoryTraffic;
using perfprobe::RefusedEvent;
using perfprobe::ThreadCounters;

namespace {

constexpr size_t kFaults = 0, kSwitches = 1, kInstructions = 4;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

struct Counted {
  CounterValues before{}, after{};
  int64_t since(size_t counter) const { return after.count[counter] - before.count[counter]; }
};

template <class Work>
Counted counted(Work work) {
  ThreadCounters counters;
  Counted found;
  CHECK_EQUAL(counters.open(static_cast<pid_t>(::syscall(SYS_gettid)), allowed_events()), 0);
  CHECK(counters.read(found.before));
  work();
  CHECK(counters.read(found.after));
  return found;
}

bool is_counted(size_t counter) {
  const AllowedEvent event = allowed_events().at(counter);
  if (!event.is_allowed)
    std::fprintf(stderr, "not tested: %s; %s\n", event.refusal.reason.c_str(),
                 event.refusal.remedy.c_str());
  return event.is_allowed;
}

void page_faults_are_counted_exactly() {
  if (!is_counted(kFaults))
    return;
  constexpr size_t kPages = 1000;
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  void* memory =
      ::mmap(nullptr, kPages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ::madvise(memory, kPages * page, MADV_NOHUGEPAGE);
  const auto touch = [&] {
    for (size_t i = 0; i < kPages; ++i)
      static_cast<volatile char*>(memory)[i * page] = 1;
  };
  CHECK_EQUAL(counted(touch).since(kFaults), static_cast<int64_t>(kPages));
  CHECK_EQUAL(counted(touch).since(kFaults), 0);  // the pages are mapped now
  ::munmap(memory, kPages * page);
}

int64_t switches() {
  rusage used{};
  ::getrusage(RUSAGE_THREAD, &used);
  return used.ru_nvcsw + used.ru_nivcsw;
}

void switches_are_those_of_getrusage() {
  if (!is_counted(kSwitches))
    return;
  int64_t known = 0;
  const Counted found = counted([&] {
    const int64_t before = switches();
    for (int i = 0; i < 50; ++i)
      ::usleep(200);
    known = switches() - before;
  });
  CHECK(known >= 50);
  // One may come between two of the readings on a busy machine.
  CHECK(found.since(kSwitches) - known >= 0 && found.since(kSwitches) - known <= 2);
}

// Two instructions in each turn, whatever the compiler does with the rest.
void instructions_of_a_loop_are_counted() {
  if (!is_counted(kInstructions))
    return;
  constexpr int64_t kTurns = 50'000'000;
  const Counted found = counted([] {
    int64_t turns = kTurns;
    __asm__ volatile("1:\n\tdec %0\n\tjnz 1b" : "+r"(turns) : : "cc");
  });
  const auto group = static_cast<size_t>(counter_events()[kInstructions].group);
  const double ran = static_cast<double>(found.after.running_ns[group]) /
                     static_cast<double>(found.after.enabled_ns[group]);
  const double error = static_cast<double>(found.since(kInstructions)) / ran / (2.0 * kTurns) - 1;
  std::fprintf(stderr, "instructions of a counted loop: off by %.3f %%\n", 100 * error);
  CHECK(error > -0.01 && error < 0.01);
}

template <int kError>
Descriptor refuse(perf_event_attr*, pid_t, int, int, unsigned long) {
  errno = kError;
  return {};
}

// Nothing is counted, and each event has a reason.
template <int kError>
void all_are_refused(const std::string& reason) {
  const auto allowed = allowed_events(&refuse<kError>);
  for (size_t i = 0; i < kCounterEvents; ++i) {
    CHECK(!allowed[i].is_allowed);
    CHECK(allowed[i].refusal.reason.starts_with(counter_events()[i].name));
    CHECK(has(allowed[i].refusal.reason, reason));
    CHECK(!allowed[i].refusal.remedy.empty());
  }
  ThreadCounters none;
  CHECK_EQUAL(none.open(0, allowed, &refuse<kError>), 0);
  CounterValues values;
  CHECK(!none.read(values));
  CHECK_EQUAL(values.count[kFaults], -1);
}

// As in a virtual machine: only events of the kernel are available.
Descriptor software_only(perf_event_attr* event, pid_t, int, int, unsigned long) {
  if (event->type == PERF_TYPE_SOFTWARE)
    return Descriptor::open("/dev/null", O_RDONLY);
  errno = ENOENT;
  return {};
}

// As at perf_event_paranoid 2.
Descriptor user_only(perf_event_attr* event, pid_t, int, int, unsigned long) {
  if (event->exclude_kernel == 1)
    return Descriptor::open("/dev/null", O_RDONLY);
  errno = EACCES;
  return {};
}

void what_is_there_is_counted_and_the_rest_said() {
  const auto allowed = allowed_events(&software_only);
  CHECK(allowed[kFaults].is_allowed && allowed[kSwitches].is_allowed);
  CHECK(!allowed[kInstructions].is_allowed);
  CHECK(has(allowed[kInstructions].refusal.reason, "instructions is not available"));
}

// Without the kernel the counter of switches opens but stays 0: it must not be shown.
void switches_are_left_out_without_the_kernel() {
  const auto allowed = allowed_events(&user_only);
  CHECK(allowed[kFaults].is_allowed && allowed[kFaults].is_user_only);
  CHECK(!allowed[kSwitches].is_allowed);
  CHECK(has(allowed[kSwitches].refusal.remedy, "kernel.perf_event_paranoid=1"));
}

Descriptor without_files(perf_event_attr*, pid_t, int, int, unsigned long) {
  errno = EMFILE;
  return {};
}

void a_thread_without_files_is_left_out() {
  ThreadCounters counters;
  CHECK_EQUAL(counters.open(0, allowed_events(&software_only), &without_files), EMFILE);
  CounterValues values;
  CHECK(!counters.read(values));
}

// The numbers of the descriptors whose link has this part.
std::vector<int> numbers_of(const std::string& part) {
  std::vector<int> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (has(std::filesystem::read_symlink(entry.path(), gone), part))
      found.push_back(std::stoi(entry.path().filename()));
  }
  std::sort(found.begin(), found.end());
  return found;
}

// The program closes the event of switches and puts a file of its own in the place of another. The
// others' counts must not be taken for those of an event that has left its group.
void a_closed_event_is_noticed_and_its_number_left_alone() {
  if (!is_counted(kSwitches))
    return;
  const int file = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  std::vector<int> events;
  {
    ThreadCounters counters;
    CHECK_EQUAL(counters.open(0, allowed_events()), 0);
    CounterValues values;
    CHECK(counters.read(values));
    events = numbers_of("perf_event");
    ::close(events.at(1));
    CHECK(!counters.read(values) && counters.is_open());
    ::dup2(file, events.at(0));
    CHECK(!counters.read(values) && counters.is_open());
  }
  CHECK_EQUAL(::close(events.at(0)), 0);  // it was still open
  CHECK(numbers_of("perf_event").empty());
  ::close(file);
}

// A machine with two memory controllers, of which each socket's first processor reads the counters.
std::string made_root() {
  char pattern[] = "/tmp/perfprobe-uncore-XXXXXX";
  const std::string root = std::string(::mkdtemp(pattern)) + "/";
  for (const char* name : {"uncore_imc_0", "uncore_imc_1"}) {
    const std::string folder = root + "sys/bus/event_source/devices/" + name;
    std::filesystem::create_directories(folder + "/events");
    std::ofstream(folder + "/type") << "14\n";
    std::ofstream(folder + "/cpumask") << "0,24\n";
    std::ofstream(folder + "/events/cas_count_read") << "event=0x04,umask=0x03\n";
    std::ofstream(folder + "/events/cas_count_read.scale") << "6.103515625e-5\n";
    std::ofstream(folder + "/events/cas_count_write") << "event=0x04,umask=0x0c\n";
    std::ofstream(folder + "/events/cas_count_write.scale") << "6.103515625e-5\n";
  }
  return root;
}

std::vector<std::pair<uint64_t, int>> asked;
std::string count_file;

// Each counter reads 1000 from a file.
Descriptor counting(perf_event_attr* event, pid_t thread, int processor, int, unsigned long) {
  CHECK_EQUAL(thread, -1);
  CHECK_EQUAL(event->type, 14u);
  asked.emplace_back(event->config, processor);
  return Descriptor::open(count_file, O_RDONLY);
}

void memory_bandwidth_is_that_of_all_controllers() {
  const std::string root = made_root();
  count_file = root + "count";
  const uint64_t count = 1000;
  std::ofstream(count_file, std::ios::binary)
      .write(reinterpret_cast<const char*>(&count), sizeof count);
  MemoryTraffic traffic(root, &counting);
  traffic.start();
  CHECK_EQUAL(asked.size(), 8u);  // two controllers, two sockets, reads and writes
  CHECK_EQUAL(asked.at(0).first, 0x304u);
  CHECK_EQUAL(asked.at(2).first, 0xc04u);
  CHECK_EQUAL(asked.at(1).second, 24);
  const auto bytes = traffic.read();
  CHECK(bytes.has_value());
  CHECK_EQUAL(bytes->read, 4 * 1000 * 64);  // a cache line a count
  CHECK_EQUAL(bytes->written, 4 * 1000 * 64);
  const int file = ::open("/dev/zero", O_RDONLY | O_CLOEXEC);
  const int number = numbers_of(count_file).at(0);
  ::dup2(file, number);
  CHECK(!traffic.read().has_value());  // a part would be taken for the sum of all
  traffic.start();
  CHECK_EQUAL(traffic.read()->read, 4 * 1000 * 64);
  CHECK_EQUAL(::close(number), 0);  // it was still open
  ::close(file);
  std::filesystem::remove_all(root);
}

template <int kError>
void bandwidth_is_refused(const std::string& root, const std::string& reason) {
  std::string said;
  try {
    MemoryTraffic(root, &refuse<kError>).start();
  } catch (const RefusedEvent& refused) {
    said = refused.refusal.reason + "; " + refused.refusal.remedy;
  }
  CHECK(has(said, reason));
}

void refused_bandwidth_says_why() {
  const std::string root = made_root();
  bandwidth_is_refused<EACCES>(root, "sudo sysctl kernel.perf_event_paranoid=0");
  bandwidth_is_refused<EPERM>(root, "--cap-add PERFMON");
  bandwidth_is_refused<EACCES>("/no/such/root/", "no such counter");
  std::filesystem::remove_all(root);
}

}  // namespace

int main() {
  page_faults_are_counted_exactly();
  switches_are_those_of_getrusage();
  instructions_of_a_loop_are_counted();
  all_are_refused<EACCES>("is not permitted: ");
  all_are_refused<EPERM>("is not permitted: a sandbox");
  all_are_refused<ENOENT>("is not available: this processor");
  all_are_refused<EOPNOTSUPP>("is not available: this processor");
  all_are_refused<ENOSYS>("no perf_event_open");
  all_are_refused<EINVAL>("is not known to this kernel");
  all_are_refused<EMFILE>("too many open files");
  all_are_refused<EBUSY>("is in use");
  what_is_there_is_counted_and_the_rest_said();
  switches_are_left_out_without_the_kernel();
  a_thread_without_files_is_left_out();
  a_closed_event_is_noticed_and_its_number_left_alone();
  memory_bandwidth_is_that_of_all_controllers();
  refused_bandwidth_says_why();
  return perfprobe::test::report();
}
