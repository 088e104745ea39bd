#include "core/kept_file.h"

#include <fcntl.h>
#include <unistd.h>

namespace perfprobe {

std::string_view KeptFile::read() {
  int number = file_.number();
  if (number < 0 && !path_.empty()) {
    file_ = Descriptor::open(path_, O_RDONLY);
    number = file_.number();
    if (number < 0)
      path_.clear();
  }
  const ssize_t got = number < 0 ? -1 : ::pread(number, bytes_.data(), bytes_.size(), 0);
  return {bytes_.data(), got <= 0 ? 0 : static_cast<size_t>(got)};
}

}  // namespace perfprobe
