#include "gpu/cupti_fixture.h"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>

#include "gpu/cupti_walk.h"

namespace perfprobe {
namespace {

constexpr size_t kMostNameBytes = 16'384;

template <class T>
std::string_view bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof(T)};
}

}  // namespace

CuptiFixtureWriter::CuptiFixtureWriter(const std::string& path, std::string_view origin,
                                       uint32_t cupti_version, NextRecord next, CallbackName name)
    : file_(Descriptor::open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666)),
      next_(next),
      name_(name),
      strides_(probe_strides(next)) {
  if (!file_.is_open())
    throw std::system_error(errno, std::generic_category(), path);
  static_cast<void>(::write(file_.number(), kFixtureMagic.data(), kFixtureMagic.size()));
  put("ORGN", origin);
  put("VERS", bytes_of(cupti_version));
  put("STRD", bytes_of(strides_.bytes));
}

bool CuptiFixtureWriter::put(std::string_view tag, std::string_view bytes) {
  const auto size = static_cast<uint32_t>(bytes.size());
  if (bytes.size() > kMostBytes - std::min(kMostBytes, written_bytes_))
    return false;
  written_bytes_ += tag.size() + sizeof(size) + bytes.size();
  const std::string section = std::string(tag).append(bytes_of(size)).append(bytes);
  return ::write(file_.number(), section.data(), section.size()) ==
         static_cast<ssize_t>(section.size());
}

void CuptiFixtureWriter::add_clocks(const ClockTriple& clocks) {
  put("CLCK", bytes_of(clocks));
}

void CuptiFixtureWriter::take(uint8_t* buffer, size_t valid_bytes) {
  put_names(buffer, valid_bytes);
  if (!put("BUFR", {reinterpret_cast<const char*>(buffer), valid_bytes}))
    ++left_out_;
}

void CuptiFixtureWriter::put_names(uint8_t* buffer, size_t valid_bytes) {
  CuptiWalk walk(next_, strides_, buffer, valid_bytes);
  while (walk.step() == CuptiWalk::State::at_record) {
    const uint32_t kind = walk.kind();
    const CuptiRecord record = walk.record();
    if (kind == cupti::kKernel || kind == cupti::kConcurrentKernel)
      put_name(record.get(cupti::kernel::name));
    else if (kind == cupti::kRuntime)
      put_call(cupti::kRuntimeDomain, record.get(cupti::api::callback));
    else if (kind == cupti::kDriver)
      put_call(cupti::kDriverDomain, record.get(cupti::api::callback));
  }
}

void CuptiFixtureWriter::put_name(const char* address) {
  const auto known = names_.find(address);
  std::string text;
  if (!memory_.read_text(address, kMostNameBytes, text) ||
      (known != names_.end() && known->second == text))
    return;
  put("NAME", std::string(bytes_of(address)) + text);
  names_[address] = text;
}

void CuptiFixtureWriter::put_call(uint32_t domain, uint32_t callback) {
  const char* address = nullptr;
  std::string text;
  if (!calls_.insert({domain, callback}).second ||
      name_(domain, callback, &address) != cupti::kSuccess ||
      !memory_.read_text(address, kMostNameBytes, text))
    return;
  put("CALL", std::string(bytes_of(domain)) + std::string(bytes_of(callback)) + text);
}

void CuptiFixtureWriter::close(uint64_t dropped_records) {
  put("LOST", bytes_of(std::array{dropped_records, left_out_}));
  file_.close();
}

}  // namespace perfprobe
