// Prints what cuda_occupancy.h of CUDA says of blocks that fit on a multiprocessor: the table that
// test_occupancy.py holds. Build and run: g++ -I CUDA/include occupancy.cpp -o occupancy && ./occupancy
#include <climits>
#include <cstddef>
#include <cstdio>

#include "cuda_occupancy.h"

namespace {

struct Gpu {
  int major, minor, multiprocessors, threads, shared_kb, reserved_bytes;
};

constexpr Gpu kGpus[] = {{6, 0, 56, 2048, 64, 0},      {7, 0, 80, 2048, 96, 0},     {7, 5, 40, 1024, 64, 0},
                         {8, 0, 108, 2048, 164, 1024}, {8, 6, 84, 1536, 100, 1024}, {8, 9, 142, 1536, 100, 1024},
                         {9, 0, 132, 2048, 228, 1024}, {10, 0, 148, 2048, 228, 1024}, {12, 0, 188, 1536, 100, 1024}};
constexpr int kLaunches[][3] = {{32, 16, 0},      {33, 255, 4096},  {64, 126, 8448},  {96, 40, 20000},
                                {128, 168, 49152}, {256, 64, 16384}, {384, 168, 1024}, {544, 96, 30000},
                                {1024, 64, 48000}, {1024, 65, 0},    {992, 0, 100}};

int fitting(const Gpu& gpu, const int (&launch)[3]) {
  cudaOccDeviceProp device;
  device.computeMajor = gpu.major;
  device.computeMinor = gpu.minor;
  device.maxThreadsPerBlock = 1024;
  device.maxThreadsPerMultiprocessor = gpu.threads;
  device.regsPerBlock = device.regsPerMultiprocessor = 65536;
  device.warpSize = 32;
  device.sharedMemPerBlock = 49152;
  device.sharedMemPerMultiprocessor = static_cast<size_t>(gpu.shared_kb) * 1024;
  device.sharedMemPerBlockOptin = device.sharedMemPerMultiprocessor - gpu.reserved_bytes;
  device.reservedSharedMemPerBlock = gpu.reserved_bytes;
  device.numSms = gpu.multiprocessors;
  cudaOccFuncAttributes kernel;
  kernel.maxThreadsPerBlock = INT_MAX;
  kernel.numRegs = launch[1];
  kernel.sharedSizeBytes = 0;
  kernel.partitionedGCConfig = PARTITIONED_GC_OFF;
  kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  kernel.maxDynamicSharedSizeBytes = launch[2];
  cudaOccDeviceState state;
  cudaOccResult result;
  const auto status =
      cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel, &state, launch[0], launch[2]);
  return status == CUDA_OCC_SUCCESS ? result.activeBlocksPerMultiprocessor : -1;
}

}  // namespace

int main() {
  for (const Gpu& gpu : kGpus) {
    std::printf("    (%d, %d, %d, %d): (", gpu.major, gpu.minor, gpu.multiprocessors, gpu.threads);
    for (const auto& launch : kLaunches)
      std::printf("%d, ", fitting(gpu, launch));
    std::printf("),\n");
  }
}
