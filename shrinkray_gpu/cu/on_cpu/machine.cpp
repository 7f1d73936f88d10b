// A machine of one core that runs a program's kernels, and looks at each access as memcheck does.
//
// The threads of a block are fibers, run one after the other up to a barrier. Memory of the device lies in an arena of
// its own, with gaps. g++ calls __asan_* before each access (-fsanitize=kernel-address); one that is wrong ends its
// thread. After the launch with the first one the driver has its error, as on a GPU. A survey tells what a GPU sees.
#include <algorithm>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

#include <sys/mman.h>
#include <ucontext.h>

#include "host_blocks.hpp"
#include "pages.hpp"
#include "prelude.hpp"
#include "shared_words.hpp"
#include "survey.hpp"

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

extern char end;

namespace shrink_cpu {
constexpr size_t SPAN = size_t(1) << 38, GAP = size_t(1) << 28, MOST_SHARED = 48 * 1024, STACK = 128 * 1024;
constexpr size_t SHARED_WINDOW = 1 << 24, FAR = size_t(1) << 32;
constexpr size_t MOST_SURVEYED = 1 << 20, MOST_ENTERED = 1 << 21, MOST_FILLED = 1 << 26;
constexpr size_t MOST_MEMORY = size_t(1) << 31;  // of the host's, for each candidate that runs beside others
alignas(1024) char shared_memory[SHARED_WINDOW];
long long moves[16];

namespace {
enum State { READY, AT_BARRIER, AT_WARP, DONE };
struct Fiber {
  ucontext_t first;
  jmp_buf here, top;
  bool begun = false;
  State state = DONE;
  uint3 index;
  unsigned long long given;
};

bool on_device = false;
char* arena = nullptr;
size_t used = GAP, allocated = 0;  // before the first allocation is room too: below may lie a thread's stack
std::map<uintptr_t, size_t> live, freed;
PageMap pages;
uintptr_t latest = 0;  // the allocation that the last access was in
size_t latest_size = 0;
cudaStream_t busy = nullptr;
size_t shared_size = 0, works = 0, ended = 0;  // launches so far, and those that the host has waited for
std::vector<Fiber*> fibers;
char* stacks = nullptr;
Fiber* running = nullptr;
size_t current = 0, threads = 0;
jmp_buf scheduler;
void (*body)(void*);
void* body_data;
const char* kernel_name;
cudaError_t pending = cudaSuccess, seen = cudaSuccess, last = cudaSuccess;
bool recorded = false, leading = false, settled = false;
// A survey goes on behind an access that is wrong. Memory begins with garbage then.
Survey survey;
SharedWords shared_words;
const bool arrays = std::getenv("SHRINK_SHARED_ARRAYS");
size_t surveyed = 0, entered = 0;  // accesses that are wrong, and turns of threads behind the first of them
struct {
  const char* kernel;
  const char* space;
  const char* how;
  size_t size;
  bool misaligned;
  const char* place;
  size_t launch, block;
} first;

size_t number(const char* name, size_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}
// Where a run of which only so much is asked ends.
const size_t last_launch = number("SHRINK_LAST_LAUNCH", 0), last_block = number("SHRINK_LAST_BLOCK", 0);

// Accesses that are right, for a run that is asked for them at its end; and the comparison that is moved in it.
struct Rights {
  Rights() {
    if (const char* by = std::getenv("SHRINK_MOVED_BY")) moves[number("SHRINK_MOVED", 0) % 16] = std::atoll(by);
  }
  ~Rights() {
    const char* path = std::getenv("SHRINK_RIGHTS");
    if (FILE* file = path ? std::fopen(path, "w") : nullptr) std::fprintf(file, "%zu", count), std::fclose(file);
  }
  size_t count = 0;
} rights;

// Memory of the device is closed to the host: an access of the host's ends the program, as it does beside a GPU.
struct Opened {
  Opened() { open(PROT_READ | PROT_WRITE); }
  ~Opened() { open(PROT_NONE); }
  void open(int how) {
    if (arena) mprotect(arena, SPAN, how);
  }
};

// Whether an address lies in one of these, and how far in.
bool inside(const std::map<uintptr_t, size_t>& memory, uintptr_t at, size_t* in) {
  auto next = memory.upper_bound(at);
  if (next == memory.begin()) return false;
  --next;
  *in = at - next->first;
  return *in < next->second;
}

[[noreturn]] void give_up(const char* why) {
  std::fprintf(stderr, "shrink-cpu: %s\n", why);
  std::_Exit(97);
}

// Streams run one after the other here. Where two have work at a time, what a GPU does hangs on time.
void use(cudaStream_t stream) {
  if (busy && stream && busy != stream) give_up("two streams have work at a time");
  busy = stream;
}

void leave(State state) {
  Fiber* self = running;
  self->state = state;
  if (!_setjmp(self->here)) _longjmp(scheduler, 1);
}

void entry() {
  for (;;) {
    Fiber* self = running;
    if (!_setjmp(self->top)) body(body_data);
    leave(DONE);
  }
}

void enter(Fiber* fiber) {
  if (survey && recorded && ++entered > MOST_ENTERED) settled = true;
  running = fiber;
  threadIdx = fiber->index;
  if (_setjmp(scheduler)) return;
  if (fiber->begun) _longjmp(fiber->here, 1);
  fiber->begun = true;
  setcontext(&fiber->first);
}

void wrong(const Access& access, bool misaligned) {
  const auto [space, how, size, place, reach] = access;
  if (!recorded) {
    recorded = true;
    first = {kernel_name, space, how, size, misaligned, place, 0, 0};
  }
  if (misaligned && !(running->index.x | running->index.y | running->index.z)) leading = true;
  settled |= survey ? ++surveyed == MOST_SURVEYED : !first.misaligned || leading;  // what is left tells no more
  if (pending == cudaSuccess && !(survey && reach == MAPPED))
    pending = misaligned ? cudaErrorMisalignedAddress : cudaErrorIllegalAddress;
  const bool bearable = std::strcmp(place, "far");  // by the CPU that goes on
  if (!survey || !bearable) _longjmp(running->top, 1);
}

// Why an access is wrong: the space that it is in, and where it lies from what it should be in.
struct Judgement {
  const char* space;
  const char* place;
  Reach reach;
};

Judgement judge(uintptr_t at, size_t size, bool misaligned) {
  const uintptr_t base = (uintptr_t)arena, window = (uintptr_t)shared_memory;
  if (at - window < SHARED_WINDOW) {
    const bool bad = misaligned || at - window + size > shared_size;
    return {bad ? "shared" : nullptr, "", misaligned ? UNMAPPED : reach_shared(at - window + size, shared_size, arrays)};
  }
  if (at - (uintptr_t)stacks < 1024 * STACK) return {};
  if (at >= (uintptr_t)&__executable_start && at < (uintptr_t)&end) return {};
  const char* place = misaligned ? "" : "near";
  size_t away = at < base ? base - at : at - base, in = 0;
  if (at - base < SPAN) {
    away = SPAN;
    const auto next = live.upper_bound(at);
    if (next != live.end()) away = next->first - at;
    if (next != live.begin()) {
      const auto [first, length] = *std::prev(next);
      in = at - first;
      if (in + size <= length && !misaligned) return latest = first, latest_size = length, Judgement{};
      away = in < length ? 0 : std::min(away, in - length);
      if (misaligned && in + size > length) away = std::max<size_t>(away, 1);
      if (!misaligned && in < length) place = "inside";
    }
    if (!misaligned && inside(freed, at, &in)) place = "freed";
  }
  if (away >= FAR) return {"global", "far", UNMAPPED};
  if (survey && misaligned && away) place = "beyond";  // aligned it would be wrong as well
  return {"global", place, misaligned ? UNMAPPED : pages.reach(at, size)};
}

// `how`: read, write or atomic. What this calls may be the program's own instance of a template, which asks as well.
void check(uintptr_t at, size_t size, bool aligned, const char* how, const void* from) {
  if (!on_device) return;
  const bool misaligned = aligned && at % size;
  const auto right = [&] {
    if (at - (uintptr_t)arena < SPAN) ++rights.count, survey.touch(at - (uintptr_t)arena, size, how, from);
    else if (survey && *how != 'w' && shared_words.unwritten(at, size))
      survey.note({"shared", how, size, "that nobody wrote", MAPPED}, from, false);
  };
  if (!misaligned && at - latest + size <= latest_size && at >= latest) return right();
  on_device = false;
  const auto [space, place, reach] = judge(at, size, misaligned);
  const Access access{space, how, size, place, reach};
  space ? survey.note(access, from) : right();
  on_device = true;
  if (space) wrong(access, misaligned);
}

#ifdef __x86_64__
// A survey goes on behind a vector that is misaligned: the CPU's instruction for one that is not becomes the other.
void allow_misaligned(int, siginfo_t*, void* context) {
  auto* at = (unsigned char*)((ucontext_t*)context)->uc_mcontext.gregs[REG_RIP];
  unsigned char* code = at + (*at == 0x66);
  code += (*code & 0xf0) == 0x40;
  const bool moves = on_device && code[0] == 0x0f, words = code[1] == 0x28 || code[1] == 0x29;
  if (!moves || !(words || (*at == 0x66 && (code[1] == 0x6f || code[1] == 0x7f)))) {
    std::signal(SIGSEGV, SIG_DFL);
    return;
  }
  const uintptr_t page = (uintptr_t)at & ~uintptr_t(4095);
  mprotect((void*)page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC);
  words ? code[1] -= 0x18 : *at = 0xf3;  // movaps: movups, and movdqa: movdqu
}
#endif

void start_fibers() {
  if (stacks) return;
#ifdef __x86_64__
  struct sigaction action = {};
  action.sa_sigaction = allow_misaligned, action.sa_flags = SA_SIGINFO;
  if (survey) sigaction(SIGSEGV, &action, nullptr);
#endif
  stacks = (char*)mmap(nullptr, 1024 * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stacks == MAP_FAILED) give_up("no memory for threads");
  for (size_t i = 0; i < 1024; ++i) {
    Fiber* fiber = new Fiber;
    getcontext(&fiber->first);
    fiber->first.uc_stack.ss_sp = stacks + i * STACK;
    fiber->first.uc_stack.ss_size = STACK;
    fiber->first.uc_link = nullptr;
    makecontext(&fiber->first, entry, 0);
    fibers.push_back(fiber);
  }
}

void released(size_t from, size_t to, State waiting) {
  for (size_t i = from; i < to; ++i)
    if (fibers[i]->state == waiting) fibers[i]->state = READY;
}

bool all_wait(size_t from, size_t to, State waiting) {
  bool some = false;
  for (size_t i = from; i < to; ++i) {
    if (fibers[i]->state == waiting) some = true;
    else if (fibers[i]->state != DONE) return false;
  }
  return some;
}

void run_block() {
  if (survey) shared_words.begin_block(shared_memory, shared_size);
  for (size_t i = 0; i < threads; ++i) {
    fibers[i]->state = READY;
    fibers[i]->index = {unsigned(i % blockDim.x), unsigned(i / blockDim.x % blockDim.y),
                        unsigned(i / blockDim.x / blockDim.y)};
  }
  for (;;) {
    bool ran = false, left = false;
    for (current = 0; current < threads; ++current) {
      if (fibers[current]->state == READY) {
        ran = true;
        enter(fibers[current]);
        if (settled) return;
      }
      if (fibers[current]->state != DONE) left = true;
      if (current % 32 == 31 || current + 1 == threads) {
        const size_t from = current / 32 * 32;
        if (all_wait(from, current + 1, AT_WARP)) released(from, current + 1, AT_WARP), ran = true;
      }
    }
    if (!left) return;
    if (all_wait(0, threads, AT_BARRIER)) released(0, threads, AT_BARRIER), ran = true;
    if (!ran) give_up("the threads of a block wait for each other");
  }
}

cudaError_t synchronised() {
  busy = nullptr, ended = works;
  if (pending != cudaSuccess) seen = last = pending;
  return seen;
}

cudaError_t told(cudaError_t error) {
  if (error != cudaSuccess) last = error;
  return error;
}
}  // namespace

int lane() { return (int)(current % 32); }

unsigned long long exchange(unsigned long long value, int, int from) {
  const size_t self = current;
  fibers[self]->given = value;
  leave(AT_WARP);
  const size_t other = self / 32 * 32 + from;
  value = other < threads ? fibers[other]->given : value;
  leave(AT_WARP);
  return value;
}

int vote(int value, int which) {
  const size_t self = current, begin = self / 32 * 32;
  fibers[self]->given = value != 0;
  leave(AT_WARP);
  unsigned bits = 0;
  for (size_t i = begin; i < begin + 32 && i < threads; ++i)
    if (fibers[i]->state != DONE && fibers[i]->given) bits |= 1u << (i - begin);
  const bool all = bits == active();
  leave(AT_WARP);
  return which == 0 ? all : which == 1 ? bits != 0 : (int)bits;
}

unsigned active() {
  unsigned bits = 0;
  for (size_t i = current / 32 * 32, at = 0; at < 32 && i + at < threads; ++at)
    if (fibers[i + at]->state != DONE) bits |= 1u << at;
  return bits;
}

void atomic(const void* at, size_t size) {
  check((uintptr_t)at, size, true, "atomic", __builtin_return_address(0));
}

void Launch::point(const void* at) {
  size_t in;
  if (!inside(live, (uintptr_t)at, &in)) survey.note({"argument", kernel_, 0, "in no memory", MAPPED}, nullptr, false);
}

void Launch::start(void (*run)(void*), void* data) {
  const size_t count = (size_t)block_.x * block_.y * block_.z;
  if (seen != cudaSuccess || pending != cudaSuccess) return;
  if (!count || count > 1024 || block_.z > 64 || !grid_.x || !grid_.y || !grid_.z || grid_.y > 65535 || grid_.z > 65535)
    return void(told(cudaErrorInvalidConfiguration));
  if (shared_ > MOST_SHARED) return void(told(cudaErrorInvalidValue));
  start_fibers();
  blockDim = block_, gridDim = grid_, threads = count;
  shared_size = shared_ * number("SHRINK_ROOM_SHARED", 1);
  body = run, body_data = data, kernel_name = kernel_;
  use(stream_);
  ++works;
  const Opened opened;
  on_device = true;
  for (unsigned z = 0; z < grid_.z && !settled; ++z)
    for (unsigned y = 0; y < grid_.y && !settled; ++y)
      for (unsigned x = 0; x < grid_.x && !settled; ++x) {
        blockIdx = {x, y, z};
        run_block();
        const size_t block = ((size_t)z * grid_.y + y) * grid_.x + x;
        if (recorded && !first.launch) first.launch = works, first.block = block;
        if (!recorded && last_launch == works && last_block == block) std::_Exit(0);  // all that was asked
      }
  on_device = false;
  const char* path = std::getenv("SHRINK_CPU_RECORD");
  if (recorded && path)
    if (FILE* file = std::fopen(path, "w")) {
      survey.write(file, settled ? PERHAPS : MAPPED);
      if (!survey)
      std::fprintf(file, "%s\tInvalid __%s__ %s\t%zu\t%d\t%s\t%d\t%zu\t%zu\n", first.kernel, first.space,
                   first.how, first.size, first.misaligned, first.place, leading, first.launch, first.block);
      std::fclose(file);
    }
}
}  // namespace shrink_cpu

using namespace shrink_cpu;

void __syncthreads() { leave(AT_BARRIER); }
void __syncwarp(unsigned) { leave(AT_WARP); }

extern "C" {
#define HERE __builtin_return_address(0)
#define SIZED(n)                                                                        \
  void __asan_load##n##_noabort(uintptr_t at) { check(at, n, true, "read", HERE); }    \
  void __asan_store##n##_noabort(uintptr_t at) { check(at, n, true, "write", HERE); }
SIZED(1)
SIZED(2)
SIZED(4)
SIZED(8)
SIZED(16)
void __asan_loadN_noabort(uintptr_t at, size_t size) { check(at, size, false, "read", HERE); }
void __asan_storeN_noabort(uintptr_t at, size_t size) { check(at, size, false, "write", HERE); }
void __asan_handle_no_return() {}
void __asan_before_dynamic_init(const char*) {}
void __asan_after_dynamic_init() {}
}

#include "runtime.hpp"
