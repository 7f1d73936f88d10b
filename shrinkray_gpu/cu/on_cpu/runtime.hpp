// The calls of CUDA's runtime, by what machine.cpp knows: a part of it, which includes this once.
#ifndef SHRINK_RUNTIME
#define SHRINK_RUNTIME
extern "C" {
// An allocation, a memset and a copy within the device wait for nothing that runs, as an H200 has it.
cudaError_t cudaMalloc(void** out, size_t size) {
  if (seen) return seen;
  if (!arena) {
    arena = (char*)mmap(nullptr, SPAN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (arena == MAP_FAILED) give_up("no room for memory");
    survey.open(SPAN);
  }
  *out = nullptr;
  if (!size) return cudaSuccess;
  if (size > SPAN) return told(cudaErrorMemoryAllocation);  // as on any GPU
  if ((allocated += size) > MOST_MEMORY) give_up("more memory than a CPU should be asked for");
  const size_t whole = size * number("SHRINK_ROOM_MEMORY", 1);
  if (whole > SPAN || used + whole + GAP > SPAN) {
    if (whole != size) give_up("no room for so many times the memory");
    return told(cudaErrorMemoryAllocation);
  }
  live[(uintptr_t)arena + used] = whole;
  pages.add((uintptr_t)arena + used, whole);
  *out = arena + used;
  if (survey) {  // what nobody wrote is no address
    const Opened opened;
    std::memset(*out, 0x5f, std::min(whole, MOST_FILLED));
  }
  used += (whole + GAP + 511) / 512 * 512;
  return cudaSuccess;
}
cudaError_t cudaFree(void* at) {
  if (!at) return seen;  // this waits for nothing
  if (synchronised()) return seen;
  const auto found = live.find((uintptr_t)at);
  if (found == live.end()) return told(cudaErrorInvalidValue);
  madvise(at, found->second, MADV_DONTNEED);
  latest_size = 0;
  pages.remove((uintptr_t)at);
  freed.insert(live.extract(found));
  return cudaSuccess;
}
static bool holds(const void* at, size_t size) {
  const uintptr_t address = (uintptr_t)at;
  if (address - (uintptr_t)arena >= SPAN) return at != nullptr;
  size_t in = 0;
  return inside(live, address, &in) && inside(live, address + size - 1, &in) && in + 1 >= size;
}
static void written(void* to, size_t size) {
  const size_t at = (uintptr_t)to - (uintptr_t)arena;
  if (at < SPAN) survey.touch(at, size, "write", nullptr);
}
static cudaError_t copy(void* to, const void* from, size_t size) {
  static const bool zeros = std::getenv("SHRINK_ZERO_COPIES");
  if (!size || seen) return seen;
  if (!holds(to, size) || !holds(from, size)) return told(cudaErrorInvalidValue);
  const Opened opened;
  if (pending != cudaSuccess) return cudaSuccess;
  if (HostBlocks::all().left(from, size)) survey.note({"host", "read", 0, "past its block", MAPPED}, nullptr, false);
  if (HostBlocks::all().left(to, size)) survey.note({"host", "write", 0, "past its block", MAPPED}, nullptr, false);
  if (zeros && (uintptr_t)to - (uintptr_t)arena < SPAN) std::memset(to, 0, size);
  else std::memmove(to, from, size);
  written(to, size);
  return cudaSuccess;
}
static cudaError_t fill(void* to, int value, size_t size) {
  if (!size || seen) return seen;
  if (!holds(to, size)) return told(cudaErrorInvalidValue);
  const Opened opened;
  if (pending == cudaSuccess) std::memset(to, value, size), written(to, size);
  return cudaSuccess;
}
// Nor does a copy of nothing.
cudaError_t cudaMemcpy(void* to, const void* from, size_t size, cudaMemcpyKind) {
  const bool within = (uintptr_t)to - (uintptr_t)arena < SPAN && (uintptr_t)from - (uintptr_t)arena < SPAN;
  if (within) use(nullptr);
  else if (size) synchronised();
  return copy(to, from, size);
}
}
cudaError_t shrink_cpu::copied_to_symbol(void* to, const void* from, size_t size) {
  const cudaError_t error = cudaMemcpy(to, from, size, cudaMemcpyHostToDevice);
  if (error == cudaSuccess && std::getenv("SHRINK_ZERO_COPIES")) std::memset(to, 0, size);
  return error;
}
extern "C" {
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, cudaMemcpyKind, cudaStream_t stream) {
  use(stream);
  return copy(to, from, size);
}
cudaError_t cudaMemset(void* to, int value, size_t size) {
  use(nullptr);
  return fill(to, value, size);
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t size, cudaStream_t stream) {
  use(stream);
  return fill(to, value, size);
}
cudaError_t cudaDeviceSynchronize() { return synchronised(); }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return synchronised(); }
cudaError_t cudaStreamCreate(cudaStream_t* out) {
  static uintptr_t streams = 0;
  return *out = (cudaStream_t)++streams, seen;
}
cudaError_t cudaStreamDestroy(cudaStream_t) { return seen; }
// An event is known by the work that there was when it was recorded. To wait for it is to wait for all of that.
struct CUevent_st {
  size_t works;
  cudaError_t error;
};
cudaError_t cudaEventCreate(cudaEvent_t* out) { return *out = new CUevent_st{SIZE_MAX, cudaSuccess}, seen; }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* out, unsigned) { return cudaEventCreate(out); }
cudaError_t cudaEventDestroy(cudaEvent_t) { return seen; }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  use(stream);
  if (!seen) *event = {works, pending};
  return seen;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (seen || event->works == works || event->error != cudaSuccess) return synchronised();
  if (event->works < works) ended = std::max(ended, event->works);
  return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float* out, cudaEvent_t from, cudaEvent_t to) {
  if (!seen && (from->works > ended || to->works > ended)) give_up("whether an event is over hangs on time");
  return *out = 1, seen;
}
cudaError_t cudaMallocHost(void** out, size_t size) { return *out = seen ? nullptr : std::calloc(size, 1), seen; }
cudaError_t cudaHostAlloc(void** out, size_t size, unsigned) { return cudaMallocHost(out, size); }
cudaError_t cudaFreeHost(void* at) { return std::free(at), synchronised(); }
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* out, unsigned) { return cudaStreamCreate(out); }
cudaError_t cudaGetDevice(int* out) { return *out = 0, seen; }
cudaError_t cudaSetDevice(int) { return seen; }
cudaError_t cudaDeviceReset() { return seen; }
cudaError_t cudaPeekAtLastError() { return seen ? seen : last; }
cudaError_t cudaGetLastError() {
  const cudaError_t error = seen ? seen : last;
  last = cudaSuccess;
  return error;
}
const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "cudaSuccess";
    case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorInvalidConfiguration: return "cudaErrorInvalidConfiguration";
    case cudaErrorIllegalAddress: return "cudaErrorIllegalAddress";
    case cudaErrorMisalignedAddress: return "cudaErrorMisalignedAddress";
    default: give_up("an error without a name here");
  }
}
const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInvalidConfiguration: return "invalid configuration argument";
    case cudaErrorIllegalAddress: return "an illegal memory access was encountered";
    case cudaErrorMisalignedAddress: return "misaligned address";
    default: give_up("an error without words here");
  }
}
}
#endif
