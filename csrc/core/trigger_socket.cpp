#include "core/trigger_socket.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <pthread.h>
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

// Nothing else ends a wait if the program closes `waker_` at the same moment as it is used.
constexpr int kLongestWaitMs = 1000;

std::atomic<TriggerSocket*> socket_here{nullptr};

bool is_own_user(const Descriptor& peer) {
  ucred found{};
  socklen_t size = sizeof(found);
  return ::getsockopt(peer.number(), SOL_SOCKET, SO_PEERCRED, &found, &size) == 0 &&
         found.uid == ::geteuid();
}

}  // namespace

// A child must not answer in its parent's place, nor keep the socket open behind its end.
void TriggerSocket::close_in_child() {
  TriggerSocket* const socket = socket_here.exchange(nullptr);
  if (socket != nullptr)
    socket->close();
}

void TriggerSocket::close() {
  for (Descriptor* descriptor : {&listening_, &waker_, &woken_})
    descriptor->close();
}

int TriggerSocket::start(const std::string& path) {
  static const int fork_handler = pthread_atfork(nullptr, nullptr, close_in_child);
  static_cast<void>(fork_handler);
  path_ = path;
  const int refusal = open();
  if (refusal != 0) {
    close();
    return refusal;
  }
  socket_here = this;
  const int error = thread_.start();
  if (error == 0)
    recorder_.join_forks(thread_);
  return error;
}

// The errno of what failed; else 0. A socket file with this name is of a killed program that had
// this PID, or of this one.
int TriggerSocket::open() {
  constexpr int kWaiting = 4;
  constexpr int kFlags = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
  const std::lock_guard lock(mutex_);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path_.size() >= sizeof(address.sun_path))
    return ENAMETOOLONG;
  std::memcpy(address.sun_path, path_.c_str(), path_.size() + 1);
  listening_ = Descriptor(::socket(AF_UNIX, kFlags, 0), Descriptor::Kind::socket);
  ::unlink(path_.c_str());
  std::array<int, 2> pair{-1, -1};
  if (!listening_.is_open() ||
      ::bind(listening_.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) !=
          0 ||
      ::listen(listening_.number(), kWaiting) != 0 ||
      ::socketpair(AF_UNIX, kFlags, 0, pair.data()) != 0)
    return errno;
  waker_ = Descriptor(pair[0], Descriptor::Kind::socket);
  woken_ = Descriptor(pair[1], Descriptor::Kind::socket);
  return 0;
}

void TriggerSocket::stop() {
  if (socket_here != this)
    return;
  recorder_.leave_forks(thread_);
  thread_.end();
  times_closed_ += is_lost() ? 1 : 0;
  ::unlink(path_.c_str());
  close_in_child();
}

void TriggerSocket::wake() {
  const std::lock_guard lock(mutex_);
  ::send(waker_.number(), "", 1, MSG_NOSIGNAL);
}

bool TriggerSocket::is_lost() const {
  return listening_.is_lost() || waker_.is_lost() || woken_.is_lost();
}

bool TriggerSocket::open_again() {
  ++times_closed_;
  error_ = open();
  return error_ == 0;
}

void TriggerSocket::serve() {
  while (!thread_.leaving()) {
    if (is_lost() && !open_again())
      return;
    std::array<pollfd, 2> watched{{{listening_.number(), POLLIN, 0}, {woken_.number(), POLLIN, 0}}};
    if (::poll(watched.data(), watched.size(), kLongestWaitMs) <= 0)
      continue;
    std::array<char, 16> taken;
    static_cast<void>(::recv(woken_.number(), taken.data(), taken.size(), 0));
    const Descriptor peer(::accept4(listening_.number(), nullptr, nullptr, SOCK_CLOEXEC),
                          Descriptor::Kind::socket);
    if (peer.is_open())
      answer(peer);
    else if (errno != EAGAIN)  // the program has no number left: the request waits
      ::poll(&watched[1], 1, kLongestWaitMs);
  }
}

// One that says nothing does not hold up the thread for long.
void TriggerSocket::answer(const Descriptor& peer) {
  const timeval patience{0, 500'000};
  ::setsockopt(peer.number(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  ::setsockopt(peer.number(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  std::array<char, kLongestRequest> text{};
  const ssize_t size = ::recv(peer.number(), text.data(), text.size(), 0);
  if (size <= 0)
    return;
  const std::string reply = reply_to(peer, {text.data(), static_cast<size_t>(size)});
  ::send(peer.number(), reply.data(), reply.size(), MSG_NOSIGNAL);
}

std::string TriggerSocket::reply_to(const Descriptor& peer, const std::string& request) {
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
  ++requests_;
  return "ok " + std::to_string(from) + " " + std::to_string(from + steps) + "\n";
}

}  // namespace perfprobe
