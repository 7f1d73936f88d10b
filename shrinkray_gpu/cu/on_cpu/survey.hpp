// What a survey of a run notes: of which sorts accesses are wrong, at how many places, and reads of what nobody wrote.
#ifndef SHRINK_SURVEY
#define SHRINK_SURVEY
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <sys/mman.h>

#include "pages.hpp"

namespace shrink_cpu {
struct Access {
  const char* space;
  const char* how;
  size_t size;
  const char* place;
  Reach reach;
  bool operator==(const Access& other) const {
    return space == other.space && how == other.how && size == other.size && place == other.place;
  }
};

class Survey {
 public:
  explicit operator bool() const { return on_; }

  // `from`: where in the program's code the access is. `ends`: whether it may end a kernel on a GPU.
  void note(const Access& access, const void* from, bool ends = true) {
    if (!on_) return;
    auto sort = std::find_if(sorts_.begin(), sorts_.end(), [&](const Sort& each) { return each.access == access; });
    if (sort == sorts_.end()) sort = sorts_.insert(sort, {access, ends, {}, {}});
    sort->reached[access.reach] = true;
    if (std::find(sort->places.begin(), sort->places.end(), from) == sort->places.end()) sort->places.push_back(from);
  }

  // Of memory of the device, by its offset. A store counts for the words that it lies in, and a read of none of these
  // is noted: a field that a struct has for its alignment alone is read with the others.
  void touch(size_t at, size_t size, const char* how, const void* from) {
    if (!on_) return;
    char* const first = words_ + at / WORD;
    const size_t count = (at + size - 1) / WORD - at / WORD + 1;
    const bool written = std::memchr(first, 1, count);
    if (*how != 'w' && !written) note({"global", how, size, "that nobody wrote", MAPPED}, from, false);
    if (*how != 'r') std::memset(first, 1, count);
  }

  void open(size_t span) {
    if (!on_) return;
    words_ = (char*)mmap(nullptr, span / WORD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    on_ = words_ != MAP_FAILED;
  }

  void write(FILE* file, Reach least) const {
    for (const Sort& each : sorts_) {
      const auto [space, how, size, place, _] = each.access;
      for (int reach = MAPPED; reach <= UNMAPPED; ++reach)
        if (each.reached[reach])
          std::fprintf(file, "%d\t%s %s of %zu bytes %s\n", each.ends ? std::max<int>(reach, least) : reach, space, how,
                       size, place);
      for (size_t i = 2; i <= each.places.size(); ++i)
        std::fprintf(file, "%d\t%s %s of %zu bytes %s at %zu places\n", MAPPED, space, how, size, place, i);
    }
  }

 private:
  static constexpr size_t WORD = 4;
  struct Sort {
    Access access;
    bool ends;
    bool reached[3];
    std::vector<const void*> places;
  };

  bool on_ = std::getenv("SHRINK_SURVEY");
  std::vector<Sort> sorts_;
  char* words_ = nullptr;
};
}  // namespace shrink_cpu
#endif
