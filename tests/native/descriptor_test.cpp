// Descriptors that the program closes and whose numbers it reuses: by a file, a socket, an event.
#include "core/descriptor.h"

#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "check.h"
#include "cpu/perf/open_event.h"

using perfprobe::Descriptor;

namespace {

const std::string& folder() {
  static const std::string made = [] {
    char pattern[] = "/tmp/perfprobe-descriptor-XXXXXX";
    return std::string(::mkdtemp(pattern));
  }();
  return made;
}

Descriptor made_file(const std::string& name) {
  return Descriptor::open(folder() + "/" + name, O_RDWR | O_CREAT | O_EXCL, 0600);
}

Descriptor made_socket() {
  return Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), Descriptor::Kind::socket);
}

Descriptor made_event() {
  perf_event_attr event = perfprobe::plain_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
  event.exclude_kernel = 1;
  return perfprobe::open_event(&event, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

void low_numbers_are_the_programs() {
  const int before = ::dup(0);
  ::close(before);
  const Descriptor file = made_file("low"), socket = made_socket();
  CHECK(file.number() >= 100 && socket.number() >= 100);
  CHECK_EQUAL(::fcntl(file.number(), F_GETFD), FD_CLOEXEC);
  const int after = ::dup(0);
  CHECK_EQUAL(after, before);
  ::close(after);
}

// The other is of the same kind, so that only what makes ours unique tells them apart.
void a_reused_number_is_left_alone(Descriptor ours, const Descriptor& program) {
  const int number = ours.number();
  CHECK(number >= 0 && !ours.is_lost());
  ::dup2(program.number(), number);
  CHECK_EQUAL(ours.number(), -1);
  CHECK(ours.is_open() && ours.is_lost());
  ours.close();
  CHECK(!ours.is_open() && !ours.is_lost());
  CHECK_EQUAL(::close(number), 0);  // it was still open
}

void a_closed_number_is_noticed() {
  Descriptor ours = made_file("closed");
  ::close(ours.number());
  CHECK(ours.is_lost());
  Descriptor taken = std::move(ours);
  CHECK(taken.is_lost() && !ours.is_open());
}

// File systems give the inode of a removed file to the next one.
void a_file_that_gets_the_inode_is_another() {
  Descriptor ours = made_file("first");
  struct stat before{}, after{};
  ::fstat(ours.number(), &before);
  const int number = ours.number();
  ::close(number);
  ::unlink((folder() + "/first").c_str());
  ::usleep(20'000);  // times of birth are those of the kernel's ticks
  const Descriptor program = made_file("second");
  ::fstat(program.number(), &after);
  if (before.st_ino != after.st_ino)
    std::fprintf(stderr, "not tested: this file system gave another inode\n");
  ::dup2(program.number(), number);
  CHECK(ours.is_lost());
  CHECK(!ours.has_same_file(program));
  ::close(number);
}

void a_file_that_is_opened_again_is_the_same() {
  const Descriptor ours = made_file("again");
  const Descriptor again = Descriptor::open(folder() + "/again", O_RDONLY);
  CHECK(again.has_same_file(ours) && again.number() != ours.number());
  CHECK(!made_file("other").has_same_file(ours));
}

void one_that_replaces_a_lost_one_may_get_its_number() {
  Descriptor file = made_file("replaced");
  const int number = file.number();
  ::close(number);
  file = Descriptor::open(folder() + "/replaced", O_RDWR);
  CHECK_EQUAL(file.number(), number);
}

void a_failed_call_owns_nothing_and_keeps_its_error() {
  const Descriptor none = Descriptor::open(folder() + "/none/x", O_RDONLY);
  CHECK_EQUAL(errno, ENOENT);
  CHECK(!none.is_open() && !none.is_lost());
  CHECK_EQUAL(none.number(), -1);
}

void a_low_limit_only_lowers_the_number() {
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  for (const rlim_t limit : {rlim_t{64}, rlim_t{8}}) {
    const rlimit low{limit, before.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &low);
    const Descriptor file = made_file("limit" + std::to_string(limit));
    CHECK(file.number() >= 3 && file.number() < static_cast<int>(limit));
  }
  ::setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace

int main() {
  low_numbers_are_the_programs();
  a_reused_number_is_left_alone(made_file("ours"), made_file("theirs"));
  a_reused_number_is_left_alone(made_socket(), made_socket());
  if (made_event().is_open())
    a_reused_number_is_left_alone(made_event(), made_event());
  else
    std::fprintf(stderr, "not tested: the kernel allows no events\n");
  a_closed_number_is_noticed();
  a_file_that_gets_the_inode_is_another();
  a_file_that_is_opened_again_is_the_same();
  one_that_replaces_a_lost_one_may_get_its_number();
  a_failed_call_owns_nothing_and_keeps_its_error();
  a_low_limit_only_lowers_the_number();
  return perfprobe::test::report();
}
