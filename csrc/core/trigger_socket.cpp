#include "core/trigger_socket.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <poll.h>

namespace perfprobe {
namespace {

constexpr size_t kLongestRequest = 64;
constexpr const char* kRecord = "record ";
constexpr int64_t kMostSteps = 1'000'000'000;

std::atomic<int> listening_here{-1};
std::atomic<int> waker_here{-1};

// A child must not answer in its parent's place, nor keep the socket open behind its end.
void close_in_child() {
  for (std::atomic<int>* descriptor : {&listening_here, &waker_here}) {
    const int number = descriptor->exchange(-1);
    if (number >= 0)
      ::close(number);
  }
}

bool is_own_user(int peer) {
  ucred found{};
  socklen_t size = sizeof(found);
  return ::getsockopt(peer, SOL_SOCKET, SO_PEERCRED, &found, &size) == 0 &&
         found.uid == ::geteuid();
}

}  // namespace

int TriggerSocket::start(const std::string& path) {
  static const int fork_handler = pthread_atfork(nullptr, nullptr, close_in_child);
  static_cast<void>(fork_handler);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path))
    return ENAMETOOLONG;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  listening_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  waker_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  constexpr int kWaiting = 4;
  ::unlink(path.c_str());  // of a killed program that had this PID
  if (listening_ < 0 || waker_ < 0 ||
      ::bind(listening_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
      ::listen(listening_, kWaiting) != 0)
    return errno;
  path_ = path;
  listening_here = listening_;
  waker_here = waker_;
  const int error = thread_.start();
  if (error == 0)
    recorder_.join_forks(thread_);
  return error;
}

void TriggerSocket::stop() {
  if (path_.empty())
    return;
  recorder_.leave_forks(thread_);
  thread_.end();
  ::unlink(path_.c_str());
  close_in_child();
  path_.clear();
}

void TriggerSocket::wake() const {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(waker_, &one, sizeof(one));
}

void TriggerSocket::serve() {
  std::array<pollfd, 2> watched{{{listening_, POLLIN, 0}, {waker_, POLLIN, 0}}};
  while (!thread_.leaving()) {
    if (::poll(watched.data(), watched.size(), -1) < 0)
      continue;
    uint64_t woken = 0;
    [[maybe_unused]] const ssize_t taken = ::read(waker_, &woken, sizeof(woken));
    const int peer = ::accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
    if (peer < 0)
      continue;
    answer(peer);
    ::close(peer);
  }
}

// One that says nothing does not hold up the thread for long.
void TriggerSocket::answer(int peer) {
  const timeval patience{0, 500'000};
  ::setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  ::setsockopt(peer, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  std::array<char, kLongestRequest> text{};
  const ssize_t size = ::recv(peer, text.data(), text.size(), 0);
  if (size <= 0)
    return;
  const std::string reply = reply_to(peer, {text.data(), static_cast<size_t>(size)});
  ::send(peer, reply.data(), reply.size(), MSG_NOSIGNAL);
}

std::string TriggerSocket::reply_to(int peer, const std::string& request) {
  if (!is_own_user(peer))
    return "refused: the program belongs to another user\n";
  if (!request.starts_with(kRecord))
    return "refused: not a request\n";
  int64_t steps = 0;
  const char* first = request.data() + std::strlen(kRecord);
  std::from_chars(first, request.data() + request.size(), steps);
  if (steps < 1 || steps > kMostSteps)
    return "refused: not a number of steps\n";
  const int64_t from = log_.record_next(steps);
  return "ok " + std::to_string(from) + " " + std::to_string(from + steps) + "\n";
}

}  // namespace perfprobe
