// Times a part of a stream by CUDA events, and frees device memory.
#pragma once

#include <cstddef>

#include <cuda_runtime.h>

// After a step fails, all further steps are skipped. `error()` returns the first error.
class EventTimer {
 public:
  explicit EventTimer(cudaStream_t stream) : stream_(stream) {
    keep(cudaEventCreate(&start_));
    keep(cudaEventCreate(&end_));
  }
  ~EventTimer() {
    if (start_ != nullptr) {
      cudaEventDestroy(start_);
    }
    if (end_ != nullptr) {
      cudaEventDestroy(end_);
    }
  }
  EventTimer(const EventTimer&) = delete;
  EventTimer& operator=(const EventTimer&) = delete;

  void start() {
    if (error_ == cudaSuccess) {
      keep(cudaEventRecord(start_, stream_));
    }
  }

  // Waits for all work launched since start(). Includes errors of the launches.
  double stop_ns() {
    float elapsed_ms = 0;
    keep(cudaGetLastError());
    if (error_ == cudaSuccess) {
      keep(cudaEventRecord(end_, stream_));
    }
    if (error_ == cudaSuccess) {
      keep(cudaEventSynchronize(end_));
    }
    if (error_ == cudaSuccess) {
      keep(cudaEventElapsedTime(&elapsed_ms, start_, end_));
    }
    return static_cast<double>(elapsed_ms) * 1e6;
  }

  cudaError_t error() const { return error_; }

 private:
  void keep(cudaError_t result) {
    if (error_ == cudaSuccess) {
      error_ = result;
    }
  }

  cudaStream_t stream_;
  cudaEvent_t start_ = nullptr;
  cudaEvent_t end_ = nullptr;
  cudaError_t error_ = cudaSuccess;
};

template <typename Element>
class DeviceArray {
 public:
  explicit DeviceArray(size_t elements) { error_ = cudaMalloc(&data_, elements * sizeof(Element)); }
  ~DeviceArray() {
    if (error_ == cudaSuccess) {
      cudaFree(data_);
    }
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  Element* data() const { return static_cast<Element*>(data_); }
  cudaError_t error() const { return error_; }

 private:
  void* data_ = nullptr;
  cudaError_t error_ = cudaSuccess;
};
