#include "core/user_code.h"

#include <algorithm>
#include <array>

namespace perfprobe {
namespace {

// Folders of libraries anywhere. Files in angle brackets are not the user's unless they were typed
// in.
constexpr std::array<std::string_view, 3> kLibraryParts = {"/site-packages/", "/dist-packages/",
                                                           "/torchinductor_"};
constexpr std::array<std::string_view, 2> kTyped = {"<stdin>", "<ipython-input"};

}  // namespace

bool UserCode::holds(std::string_view path) const {
  if (path.starts_with('<'))
    return std::ranges::any_of(kTyped, [&](auto typed) { return path.starts_with(typed); });
  size_t deepest = 0;
  bool found = true;
  for (const auto& [folder, is_user] : folders_) {
    const bool lies_in =
        path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
    if (lies_in && folder.size() + 1 > deepest) {
      deepest = folder.size() + 1;
      found = is_user;
    }
  }
  for (const std::string_view part : kLibraryParts) {
    const size_t place = path.rfind(part);
    if (place != std::string_view::npos && place + part.size() > deepest)
      return false;
  }
  return found;
}

}  // namespace perfprobe
