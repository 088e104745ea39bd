// Memory from mmap instead of the heap.
//
// Small long-lived blocks between the large short-lived tensors of a training step keep glibc from
// returning pages. With buffers on the heap a program grows by up to 190 MB a step.
#pragma once

#include <cstddef>
#include <memory_resource>
#include <new>
#include <sys/mman.h>
#include <type_traits>
#include <utility>
#include <vector>

namespace perfprobe {

inline void* map_bytes(size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    throw std::bad_alloc();
  return memory;
}

template <class T>
struct MappedAllocator {
  using value_type = T;

  MappedAllocator() = default;
  template <class U>
  MappedAllocator(const MappedAllocator<U>& /*other*/) {}

  T* allocate(size_t count) { return static_cast<T*>(map_bytes(count * sizeof(T))); }
  void deallocate(T* memory, size_t count) noexcept { munmap(memory, count * sizeof(T)); }

  template <class U>
  bool operator==(const MappedAllocator<U>& /*other*/) const {
    return true;
  }
};

// Its first element makes room for a page of them: growing from one element on would map and
// release a page at each doubling, and each release interrupts the other processors.
template <class T>
class MappedVector : public std::vector<T, MappedAllocator<T>> {
  using Base = std::vector<T, MappedAllocator<T>>;

 public:
  using Base::Base;

  void push_back(const T& value) {
    make_room();
    Base::push_back(value);
  }
  template <class... Values>
  T& emplace_back(Values&&... values) {
    make_room();
    return Base::emplace_back(std::forward<Values>(values)...);
  }

 private:
  void make_room() {
    constexpr size_t kPage = 4096;
    if (this->capacity() == 0)
      this->reserve(kPage / sizeof(T));
  }
};

// An array that takes memory for the pages that are used. Its elements are not constructed: all are
// zero bytes at first.
template <class T, size_t kCount>
class MappedArray {
 public:
  MappedArray() = default;
  ~MappedArray() { munmap(values_, kBytes); }
  MappedArray(const MappedArray&) = delete;
  MappedArray& operator=(const MappedArray&) = delete;

  T& operator[](size_t place) { return values_[place]; }
  const T& operator[](size_t place) const { return values_[place]; }

 private:
  static_assert(std::is_trivially_copyable_v<T>);
  static constexpr size_t kBytes = kCount * sizeof(T);

  T* values_ = static_cast<T*>(map_bytes(kBytes));
};

// A pool over mapped pages for containers of many small nodes. Not thread-safe.
class MappedPool {
 public:
  [[nodiscard]] std::pmr::memory_resource* resource() { return &pool_; }

 private:
  static constexpr size_t kLargestPooled = size_t{32} << 10;

  // A system call for each chunk of the pool would cost more than what it holds. So chunks are cut
  // from large regions; the pool keeps them to its end anyway. Larger blocks have their own pages.
  class Pages final : public std::pmr::memory_resource {
   public:
    Pages() = default;
    Pages(const Pages&) = delete;
    Pages& operator=(const Pages&) = delete;
    ~Pages() override {
      while (region_ != nullptr)
        munmap(std::exchange(region_, region_->previous), kRegion);
    }

   private:
    struct alignas(std::max_align_t) Region {
      Region* previous;
    };
    static constexpr size_t kRegion = 16 * kLargestPooled;

    void* do_allocate(size_t bytes, size_t /*alignment*/) override {
      if (bytes > kLargestPooled)
        return map_bytes(bytes);
      const size_t aligned = (bytes + alignof(Region) - 1) / alignof(Region) * alignof(Region);
      if (aligned > kRegion - used_) {
        region_ = new (map_bytes(kRegion)) Region{region_};
        used_ = sizeof(Region);
      }
      return reinterpret_cast<std::byte*>(region_) + std::exchange(used_, used_ + aligned);
    }
    void do_deallocate(void* memory, size_t bytes, size_t /*alignment*/) override {
      if (bytes > kLargestPooled)
        munmap(memory, bytes);
    }
    [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
      return this == &other;
    }

    Region* region_ = nullptr;
    size_t used_ = kRegion;  // of the region; at first there is none
  };

  Pages pages_;
  std::pmr::unsynchronized_pool_resource pool_{{0, kLargestPooled}, &pages_};
};

}  // namespace perfprobe
