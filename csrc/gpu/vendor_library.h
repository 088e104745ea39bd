// Finds the libcupti to talk to. The program's own copy comes first: a second one in the process
// would be a second client, and record nothing.
#pragma once

#include <string>
#include <vector>

namespace perfprobe {

// Where CUPTI may lie besides.
struct LibraryHints {
  int cuda_major = 0;  // of the CUDA that torch was built for, 0 not known
  std::vector<std::string> site_packages;
};

struct VendorLibrary {
  void* handle = nullptr;  // never closed
  std::string path;
  std::string how;    // in what way it was found
  std::string tried;  // what was looked for, when none was found
};

VendorLibrary find_cupti(const LibraryHints& hints);

// The library that is mapped under a name that begins so (libcudart.so.13); null when none is.
void* find_mapped(const std::string& name);

// Tests set PERFPROBE_ASSUME_DRIVER: the library named by PERFPROBE_CUPTI then is the driver too.
bool is_driver_assumed();

}  // namespace perfprobe
