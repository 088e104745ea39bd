// Finds the libcupti to use. The program's own copy takes precedence: a second copy in the process
// would be a second client and record nothing.
#pragma once

#include <string>
#include <vector>

namespace perfprobe {

// Where else CUPTI may be.
struct LibraryHints {
  int cuda_major = 0;  // of the CUDA that torch was built for, 0 if not known
  std::vector<std::string> site_packages;
};

struct VendorLibrary {
  void* handle = nullptr;  // never closed
  std::string path;
  std::string how;    // how it was found
  std::string tried;  // the names that were tried, if none was found
};

VendorLibrary find_cupti(const LibraryHints& hints);

// Returns the mapped library whose name begins with this (libcudart.so.13); null if there is none.
void* find_mapped(const std::string& name);

// Set by tests through PERFPROBE_ASSUME_DRIVER: the library named by PERFPROBE_CUPTI is then the
// driver too.
bool is_driver_assumed();

}  // namespace perfprobe
