#include "gpu/vendor_library.h"

#include <cstdlib>
#include <dlfcn.h>
#include <string_view>

#include <link.h>

namespace perfprobe {
namespace {

struct Mapped {
  std::string name;
  std::string path;
};

int note_mapped(dl_phdr_info* info, size_t /*size*/, void* argument) {
  auto& mapped = *static_cast<Mapped*>(argument);
  const std::string_view path = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (!name.starts_with(mapped.name))
    return 0;
  mapped.path = path;
  return 1;  // stops the search
}

std::string mapped_path(const std::string& name) {
  Mapped mapped{name, {}};
  dl_iterate_phdr(note_mapped, &mapped);
  return mapped.path;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

class Search {
 public:
  explicit Search(const LibraryHints& hints) : hints_(hints) {
    soname_ = "libcupti.so";
    if (hints.cuda_major > 0)
      soname_ += "." + std::to_string(hints.cuda_major);
  }

  VendorLibrary run() {
    const std::string named = environment("PERFPROBE_CUPTI");
    if (is_driver_assumed()) {
      open(named, "named by PERFPROBE_CUPTI", RTLD_NOW);
      return std::move(found_);
    }
    for (const std::string& name : {soname_, std::string("libcupti.so")})
      open(mapped_path(name), "mapped by the program", RTLD_NOW | RTLD_NOLOAD);
    open(named, "named by PERFPROBE_CUPTI", RTLD_NOW);
    look_in_packages();
    look_in_toolkit();
    open(soname_, "found by the loader", RTLD_NOW);
    return std::move(found_);
  }

 private:
  void open(const std::string& path, const char* how, int flags) {
    if (found_.handle != nullptr || path.empty())
      return;
    found_.handle = dlopen(path.c_str(), flags);
    if (found_.handle == nullptr) {
      found_.tried += (found_.tried.empty() ? "" : ", ") + path;
      return;
    }
    found_.how = how;
    found_.path = path;
    link_map* map = nullptr;
    if (dlinfo(found_.handle, RTLD_DI_LINKMAP, &map) == 0 && map->l_name[0] != '\0')
      found_.path = map->l_name;
  }

  void look_in_packages() {
    const std::string folder =
        hints_.cuda_major >= 13 ? "cu" + std::to_string(hints_.cuda_major) : "cuda_cupti";
    for (const std::string& site : hints_.site_packages)
      open(site + "/nvidia/" + folder + "/lib/" + soname_, "in the environment's packages",
           RTLD_NOW);
  }

  void look_in_toolkit() {
    for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
      const std::string home = environment(variable);
      if (home.empty())
        continue;
      for (const char* folder : {"/extras/CUPTI/lib64/", "/lib64/", "/targets/x86_64-linux/lib/"})
        open(home + folder + soname_, "in the CUDA toolkit", RTLD_NOW);
    }
  }

  const LibraryHints& hints_;
  std::string soname_;
  VendorLibrary found_;
};

}  // namespace

bool is_driver_assumed() {
  return environment("PERFPROBE_ASSUME_DRIVER") == "1" && !environment("PERFPROBE_CUPTI").empty();
}

void* find_mapped(const std::string& name) {
  const std::string path = mapped_path(name);
  return path.empty() ? nullptr : dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
}

VendorLibrary find_cupti(const LibraryHints& hints) {
  return Search(hints).run();
}

}  // namespace perfprobe
