// Where a GPU has memory: whether an access outside of all allocations ends its kernel there.
//
// The driver maps memory by pages of 2 MiB (what cuMemGetAllocationGranularity says), whatever of them is given out.
// Small allocations lie one behind the other in such a page, at multiples of 512 bytes; a large one has pages of its
// own. Where other pages lie from it, and what the driver has beside them, nobody says.
#ifndef SHRINK_PAGES
#define SHRINK_PAGES
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <vector>

namespace shrink_cpu {
enum Reach { MAPPED, PERHAPS, UNMAPPED };
constexpr size_t PAGE = 2 << 20, ALIGNMENT = 512, SHARED_UNIT = 128, SHARED_SURE = 1024, MOST_OF_A_BLOCK = 256 << 10;
constexpr size_t BESIDE = 16 << 20;  // what the driver may have beside them: on an H200 48 MiB behind 18 MiB of memory faulted

inline size_t rounded(size_t size, size_t unit) { return (size + unit - 1) / unit * unit; }

class PageMap {
 public:
  void add(uintptr_t at, size_t size) {
    const size_t whole = rounded(size, ALIGNMENT);
    size_t page = pages_.size();
    if (whole < PAGE)
      for (page = 0; page < pages_.size() && pages_[page].used + whole > PAGE;) ++page;
    if (page == pages_.size()) pages_.push_back({rounded(whole, PAGE)}), mapped_ += rounded(whole, PAGE);
    // What was freed may be given out again, so that nobody knows where in its page a small allocation lies.
    lying_[at] = {size, page, pages_[page].used, any_freed_ && whole < PAGE};
    pages_[page].used += whole < PAGE ? whole : pages_[page].size;
    ++pages_[page].live;
  }

  void remove(uintptr_t at) {
    any_freed_ = true;
    --pages_[lying_.at(at).page].live;
  }

  Reach reach(uintptr_t at, size_t size) const {
    size_t away = SIZE_MAX;  // from what is mapped
    const auto next = lying_.upper_bound(at);
    if (next != lying_.end()) {
      const Lying& it = next->second;
      const size_t before = next->first - at;
      if (before <= (it.anywhere ? 0 : it.offset)) return sure(it);
      away = before - (it.anywhere ? 0 : it.offset);
    }
    if (next != lying_.begin()) {
      const auto& [first, it] = *std::prev(next);
      const size_t last = at - first + size;
      const size_t room = it.anywhere ? rounded(it.size, ALIGNMENT) : pages_[it.page].size - it.offset;
      if (last <= room) return sure(it);
      away = std::min(away, last - room);
    }
    return away <= mapped_ + BESIDE ? PERHAPS : UNMAPPED;
  }

 private:
  struct Page {
    size_t size, used = 0, live = 0;
  };
  struct Lying {
    size_t size, page, offset;
    bool anywhere;
  };
  Reach sure(const Lying& it) const { return pages_[it.page].live ? MAPPED : PERHAPS; }

  std::vector<Page> pages_;
  std::map<uintptr_t, Lying> lying_;
  size_t mapped_ = 0;
  bool any_freed_ = false;
};

// Shared memory is given out by 128 bytes, and by 256 on older GPUs. Where in a block's memory the static arrays of a
// kernel lie is not known here.
inline Reach reach_shared(size_t last, size_t size, bool arrays) {
  if (last <= rounded(size, SHARED_UNIT)) return MAPPED;
  return last <= rounded(size, SHARED_SURE) + (arrays ? MOST_OF_A_BLOCK : 0) ? PERHAPS : UNMAPPED;
}
}  // namespace shrink_cpu
#endif
