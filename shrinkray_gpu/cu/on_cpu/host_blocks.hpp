// The blocks that the host's `new` gave, for a survey: a copy may not go past the end of the one that it begins in.
#ifndef SHRINK_HOST_BLOCKS
#define SHRINK_HOST_BLOCKS
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <new>
#include <utility>

namespace shrink_cpu {
// The list of blocks is in none of these blocks.
template <class T>
struct Untracked {
  using value_type = T;
  Untracked() = default;
  template <class U>
  Untracked(const Untracked<U>&) {}
  T* allocate(size_t count) { return (T*)std::malloc(count * sizeof(T)); }
  void deallocate(T* at, size_t) { std::free(at); }
  template <class U>
  bool operator==(const Untracked<U>&) const { return true; }
  template <class U>
  bool operator!=(const Untracked<U>&) const { return false; }
};

class HostBlocks {
 public:
  // Made by the first `new`, be it before `main`, and never ended: the last `delete` comes after all else.
  static HostBlocks& all() {
    alignas(HostBlocks) static char place[sizeof(HostBlocks)];
    static HostBlocks* made = new (place) HostBlocks;
    return *made;
  }

  void add(void* at, size_t size) {
    if (!on_) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    sizes_[(uintptr_t)at] = size;
  }

  void remove(void* at) {
    if (!on_) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    sizes_.erase((uintptr_t)at);
  }

  // Of memory that `new` did not give, nothing is known.
  bool left(const void* at, size_t size) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto next = sizes_.upper_bound((uintptr_t)at);
    if (next == sizes_.begin()) return false;
    const auto [first, whole] = *std::prev(next);
    const size_t in = (uintptr_t)at - first;
    return in < whole && whole - in < size;
  }

 private:
  const bool on_ = std::getenv("SHRINK_SURVEY");
  std::mutex mutex_;
  std::map<uintptr_t, size_t, std::less<uintptr_t>, Untracked<std::pair<const uintptr_t, size_t>>> sizes_;
};
}  // namespace shrink_cpu

void* operator new(size_t size) {
  void* const at = std::malloc(size ? size : 1);
  if (!at) throw std::bad_alloc();
  shrink_cpu::HostBlocks::all().add(at, size);
  return at;
}
void operator delete(void* at) noexcept {
  shrink_cpu::HostBlocks::all().remove(at);
  std::free(at);
}
void operator delete(void* at, size_t) noexcept { operator delete(at); }
#endif
