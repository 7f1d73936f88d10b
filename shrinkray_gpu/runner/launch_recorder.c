// Records what any program launches on NVIDIA's driver. Preloaded (LD_PRELOAD), it stands before the driver's functions:
// by their names, by dlsym and by cuGetProcAddress, through which the CUDA runtime finds them, the static one too.
//
// SHRINK_RECORD names a folder. It gets launches.jsonl (a line a module, a launch, and the end of a launch), the images
// of modules, and the contents of the memory that the arguments point to: of a launch that fails, and of the one with the
// number in SHRINK_RECORD_KEEP. After each launch the device is waited for, so that an error is that of its launch.
// Compiled by launch_recorder.py.
//
// Room, for a control: with SHRINK_ROOM_MEMORY=4 each allocation is 4 times as large as asked for, and with
// SHRINK_ROOM_SHARED=2 each launch has twice its dynamic shared memory.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HANDLES 65536
#define POINTERS 64
#define PARAMETERS 256
#define READ_MOST ((size_t)256 << 20)  // bytes of an allocation that are copied to the host
#define KEPT_MOST ((size_t)64 << 20)   // bytes of contents that are kept as they are, for one launch
#define PERIOD 16                      // contents that repeat after so many bytes are kept as these
#define END ((void*)0)
#define BUFFER ((void*)1)
#define BUFFER_SIZE ((void*)2)
#define FATBIN_WRAPPER 0x466243b1u
#define FATBIN 0xba55ed50u
#define UNASKED_SHARED 49152   // bytes of dynamic shared memory that a launch has without an attribute
#define MAX_DYNAMIC_SHARED 8   // that attribute
#define PER_THREAD 2  // a flag of cuGetProcAddress
#define EXPORTED __attribute__((visibility("default")))

typedef int (*Any)();
typedef struct { unsigned grid[3], block[3], shared; void* stream; void* attributes; unsigned count; } Config;
typedef struct { const void* key; char* name; int module, is_kernel; } Handle;  // is_kernel: a CUkernel

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static Handle handles[HANDLES];
static int handle_count, modules, launches, owner;
static char* folder;
static FILE* lines;
static __thread int inside;  // calls of our own are not recorded

typedef void* (*Finder)(void*, const char*);

static Finder finder(void) {
  static Finder real;
  if (!real) real = (Finder)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
  if (!real) real = (Finder)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
  if (!real) real = (Finder)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.17");
  return real;
}

static Any driver(const char* name) {  // the driver's own function; 0 where it has none
  static void* library;
  if (!library) library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  return library ? (Any)finder()(library, name) : 0;
}

#define CALL(name, ...) (driver(name) ? driver(name)(__VA_ARGS__) : 999)

static FILE* record(void) {  // of this process; a forked child makes no record in its parent's
  if (!lines) {
    folder = getenv("SHRINK_RECORD");
    if (!folder) return 0;
    char path[4096];
    snprintf(path, sizeof path, "%s/launches.%d.jsonl", folder, (int)getpid());
    lines = fopen(path, "w");
    owner = (int)getpid();
  }
  return lines && owner == (int)getpid() ? lines : 0;
}

static void text(const char* value) {  // as JSON
  fputc('"', lines);
  for (; *value; ++value) {
    if (*value == '"' || *value == '\\') fprintf(lines, "\\%c", *value);
    else if ((unsigned char)*value < 32) fprintf(lines, "\\u%04x", *value);
    else fputc(*value, lines);
  }
  fputc('"', lines);
}

static void hex(const unsigned char* data, size_t size) {
  fputc('"', lines);
  for (size_t at = 0; at < size; ++at) fprintf(lines, "%02x", data[at]);
  fputc('"', lines);
}

static int blob(const char* name, const void* data, size_t size) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE* out = fopen(path, "wb");
  if (!out) return 0;
  int whole = fwrite(data, 1, size, out) == size;
  return fclose(out) == 0 && whole;
}

static Handle* known(const void* key) {
  for (int at = handle_count; at-- > 0;)
    if (handles[at].key == key) return &handles[at];
  return 0;
}

static void know(const void* key, const char* name, int module, int is_kernel) {  // a module where name is 0
  if (!key) return;
  Handle* found = known(key);
  if (!found) {
    if (handle_count == HANDLES) return;
    found = &handles[handle_count++];
  }
  *found = (Handle){key, name ? strdup(name) : 0, module, is_kernel};
}

// Images

static size_t elf_size(const unsigned char* image) {
  uint64_t sections = *(uint64_t*)(image + 40), programs = *(uint64_t*)(image + 32);
  uint16_t section = *(uint16_t*)(image + 58), count = *(uint16_t*)(image + 60);
  uint64_t end = sections + (uint64_t)section * count;
  uint64_t other = programs + (uint64_t) * (uint16_t*)(image + 54) * *(uint16_t*)(image + 56);
  if (other > end) end = other;
  for (int at = 0; at < count; ++at) {
    const unsigned char* header = image + sections + (size_t)at * section;
    uint64_t last = *(uint64_t*)(header + 24) + (*(uint32_t*)(header + 4) == 8 ? 0 : *(uint64_t*)(header + 32));
    if (last > end) end = last;
  }
  return end;
}

static void image(const void* handle, const void* data, const char* path) {
  if (!record()) return;
  int module = modules++;
  const unsigned char* start = data;
  const char* kind = "none";
  size_t size = 0;
  char name[64] = "";
  if (start && *(uint32_t*)start == FATBIN_WRAPPER) start = *(const unsigned char**)(start + 8);
  if (start) {
    uint32_t magic = *(uint32_t*)start;
    if (magic == FATBIN) kind = "fatbin", size = *(uint16_t*)(start + 6) + *(uint64_t*)(start + 8);
    else if (!memcmp(start, "\177ELF", 4)) kind = "cubin", size = elf_size(start);
    else kind = "ptx", size = strlen((const char*)start);
    snprintf(name, sizeof name, "module_%d_%d.%s", owner, module, kind);
    if (!blob(name, start, size)) name[0] = 0;
  }
  know(handle, 0, module, 0);
  fprintf(lines, "{\"event\": \"module\", \"module\": %d, \"kind\": \"%s\", \"bytes\": %zu, \"file\": ", module, kind, size);
  text(path ? path : name);
  fprintf(lines, "}\n");
  fflush(lines);
}

// Room

static size_t room(const char* name) {
  const char* told = getenv(name);
  return told && atoi(told) > 1 ? atoi(told) : 1;
}

#define MORE(size) ((size) * room("SHRINK_ROOM_MEMORY"))
#define ALLOCATED(larger, plain)                                  \
  if (!inside && room("SHRINK_ROOM_MEMORY") > 1) {                \
    int status = larger;                                          \
    if (!status) return status;                                   \
  }                                                               \
  return plain;

EXPORTED int cuMemAlloc_v2(void* place, size_t size) {
  ALLOCATED(CALL("cuMemAlloc_v2", place, MORE(size)), CALL("cuMemAlloc_v2", place, size))
}
EXPORTED int cuMemAllocManaged(void* place, size_t size, unsigned flags) {
  ALLOCATED(CALL("cuMemAllocManaged", place, MORE(size), flags), CALL("cuMemAllocManaged", place, size, flags))
}
#define ALLOC_ASYNC(name)                                                                      \
  EXPORTED int name(void* place, size_t size, void* stream) {                                  \
    ALLOCATED(CALL(#name, place, MORE(size), stream), CALL(#name, place, size, stream))        \
  }
ALLOC_ASYNC(cuMemAllocAsync)
ALLOC_ASYNC(cuMemAllocAsync_ptsz)
#define ALLOC_POOL(name)                                                                             \
  EXPORTED int name(void* place, size_t size, void* pool, void* stream) {                            \
    ALLOCATED(CALL(#name, place, MORE(size), pool, stream), CALL(#name, place, size, pool, stream))  \
  }
ALLOC_POOL(cuMemAllocFromPoolAsync)
ALLOC_POOL(cuMemAllocFromPoolAsync_ptsz)

static unsigned more_shared(void* function, unsigned shared) {  // as much as asked for where there is no more
  size_t more = shared * room("SHRINK_ROOM_SHARED");
  if (inside || more == shared) return shared;
  if (more <= UNASKED_SHARED) return more;
  Handle* found = known(function);
  int device = 0, refused;
  CALL("cuCtxGetDevice", &device);
  if (found && found->is_kernel) refused = CALL("cuKernelSetAttribute", MAX_DYNAMIC_SHARED, (int)more, function, device);
  else refused = CALL("cuFuncSetAttribute", function, MAX_DYNAMIC_SHARED, (int)more);
  return refused ? shared : more;
}

// Launches

static int parameter_info(void* function, int is_kernel, int at, size_t* offset, size_t* size) {
  return CALL(is_kernel ? "cuKernelGetParamInfo" : "cuFuncGetParamInfo", function, (size_t)at, offset, size);
}

static void contents(uint64_t base, size_t size, int launch, int number, size_t* kept) {
  if (size > READ_MOST) {
    fprintf(lines, ", \"unread\": true");
    return;
  }
  unsigned char* data = malloc(size + PERIOD);
  if (!data || CALL("cuMemcpyDtoH_v2", data, base, size)) {
    fprintf(lines, ", \"unread\": true");
  } else if (size <= PERIOD || !memcmp(data, data + PERIOD, size - PERIOD)) {
    fprintf(lines, ", \"fill\": ");
    hex(data, size < PERIOD ? size : PERIOD);
  } else if (*kept + size > KEPT_MOST) {
    fprintf(lines, ", \"unread\": true");
  } else {
    char name[64];
    snprintf(name, sizeof name, "memory_%d_%d_%d.bin", owner, launch, number);
    *kept += size;
    if (blob(name, data, size)) fprintf(lines, ", \"file\": \"%s\"", name);
    else fprintf(lines, ", \"unread\": true");
  }
  free(data);
}

static void forget(int launch, int memories) {  // the contents of a launch that ended well
  for (int at = 0; at < memories; ++at) {
    char path[4096];
    snprintf(path, sizeof path, "%s/memory_%d_%d_%d.bin", folder, owner, launch, at);
    unlink(path);
  }
}

static int begin(void* function, const unsigned* grid, const unsigned* block, unsigned shared, void* stream,
                 void** parameters, void** extra, const char* how, int* number) {  // how many memories were kept
  const unsigned char* packed = 0;
  size_t bytes = 0;
  for (void** at = extra; at && *at != END; at += 2) {
    if (*at == BUFFER) packed = at[1];
    if (*at == BUFFER_SIZE) bytes = *(size_t*)at[1];
  }
  int capturing = 0;
  CALL("cuStreamIsCapturing", stream, &capturing);
  if (!capturing) CALL("cuCtxSynchronize");
  Handle* found = known(function);
  const char* name = found ? found->name : 0;
  if (!name) CALL("cuFuncGetName", &name, function);
  int module = found ? found->module : -1;
  void* holder = 0;
  if (module < 0 && !CALL("cuFuncGetModule", &holder, function) && known(holder)) module = known(holder)->module;
  *number = launches++;
  fprintf(lines, "{\"event\": \"launch\", \"launch\": %d, \"how\": \"%s\", \"kernel\": ", *number, how);
  text(name ? name : "");
  fprintf(lines, ", \"module\": %d, \"grid\": [%u, %u, %u], \"block\": [%u, %u, %u], \"shared\": %u, \"parameters\": [",
          module, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared);
  struct { uint64_t base; size_t size; } memory[POINTERS];
  int memories = 0, count = 0;
  size_t offset, size;
  for (; count < PARAMETERS && !parameter_info(function, found && found->is_kernel, count, &offset, &size); ++count) {
    const unsigned char* value = parameters ? parameters[count] : packed && offset + size <= bytes ? packed + offset : 0;
    fprintf(lines, "%s{\"offset\": %zu, \"size\": %zu", count ? ", " : "", offset, size);
    if (value) {
      fprintf(lines, ", \"data\": ");
      hex(value, size);
      fprintf(lines, ", \"pointers\": [");
      int some = 0;
      for (size_t at = 0; at + 8 <= size; at += 8) {
        uint64_t pointer, base = 0;
        size_t held = 0;
        memcpy(&pointer, value + at, 8);
        if (pointer < 65536 || CALL("cuMemGetAddressRange_v2", &base, &held, pointer) || !base) continue;
        int which = 0;
        while (which < memories && memory[which].base != base) ++which;
        if (which == POINTERS) continue;
        if (which == memories) memory[memories].base = base, memory[memories++].size = held;
        fprintf(lines, "%s{\"at\": %zu, \"memory\": %d, \"offset\": %llu}", some++ ? ", " : "", at, which,
                (unsigned long long)(pointer - base));
      }
      fputc(']', lines);
    }
    fputc('}', lines);
  }
  fprintf(lines, "], \"memory\": [");
  size_t kept = 0;
  for (int at = 0; at < memories; ++at) {
    fprintf(lines, "%s{\"bytes\": %zu", at ? ", " : "", memory[at].size);
    if (capturing) fprintf(lines, ", \"unread\": true");
    else contents(memory[at].base, memory[at].size, *number, at, &kept);
    fputc('}', lines);
  }
  fprintf(lines, "]}\n");
  fflush(lines);
  return capturing ? -1 : memories;
}

static void ended(int number, int status, int memories) {
  int device = status || memories < 0 ? 0 : CALL("cuCtxSynchronize");
  fprintf(lines, "{\"event\": \"end\", \"launch\": %d, \"status\": %d, \"device\": %d}\n", number, status, device);
  fflush(lines);
  const char* keep = getenv("SHRINK_RECORD_KEEP");
  if (!status && !device && !(keep && atoi(keep) == number)) forget(number, memories < 0 ? 0 : memories);
}

#define LAUNCHED(how, grid, block, shared, stream, call)                                             \
  if (inside || !record()) return call;                                                              \
  pthread_mutex_lock(&turn);                                                                         \
  ++inside;                                                                                          \
  int number, memories = begin(function, grid, block, shared, stream, parameters, extra, how, &number); \
  int status = call;                                                                                 \
  ended(number, status, memories);                                                                   \
  --inside;                                                                                          \
  pthread_mutex_unlock(&turn);                                                                       \
  return status;

#define SIZES unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared
#define LAUNCH(name)                                                                                 \
  EXPORTED int name(void* function, SIZES, void* stream, void** parameters, void** extra) {          \
    unsigned grid[3] = {gx, gy, gz}, block[3] = {bx, by, bz};                                        \
    shared = more_shared(function, shared);                                                          \
    LAUNCHED("plain", grid, block, shared, stream,                                                   \
             CALL(#name, function, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra))       \
  }
#define COOPERATIVE(name)                                                                            \
  EXPORTED int name(void* function, SIZES, void* stream, void** parameters) {                        \
    unsigned grid[3] = {gx, gy, gz}, block[3] = {bx, by, bz};                                        \
    shared = more_shared(function, shared);                                                          \
    void** extra = 0;                                                                                \
    LAUNCHED("cooperative", grid, block, shared, stream,                                             \
             CALL(#name, function, gx, gy, gz, bx, by, bz, shared, stream, parameters))              \
  }
#define LAUNCH_EX(name)                                                                              \
  EXPORTED int name(const Config* asked, void* function, void** parameters, void** extra) {          \
    Config copy = *asked, *config = &copy;                                                           \
    copy.shared = more_shared(function, asked->shared);                                              \
    LAUNCHED(config->count ? "attributes" : "plain", config->grid, config->block, config->shared,    \
             config->stream, CALL(#name, config, function, parameters, extra))                       \
  }
LAUNCH(cuLaunchKernel)
LAUNCH(cuLaunchKernel_ptsz)
COOPERATIVE(cuLaunchCooperativeKernel)
COOPERATIVE(cuLaunchCooperativeKernel_ptsz)
LAUNCH_EX(cuLaunchKernelEx)
LAUNCH_EX(cuLaunchKernelEx_ptsz)

// Modules, libraries and their kernels

#define KEEPING(call, keep)                                               \
  int status = call;                                                      \
  if (!status && !inside && (record() || getenv("SHRINK_ROOM_SHARED"))) { \
    pthread_mutex_lock(&turn);                                            \
    keep;                                                                 \
    pthread_mutex_unlock(&turn);                                          \
  }                                                                       \
  return status;

EXPORTED int cuModuleLoad(void** module, const char* path) {
  KEEPING(CALL("cuModuleLoad", module, path), image(*module, 0, path))
}
EXPORTED int cuModuleLoadData(void** module, const void* data) {
  KEEPING(CALL("cuModuleLoadData", module, data), image(*module, data, 0))
}
EXPORTED int cuModuleLoadDataEx(void** module, const void* data, unsigned count, void* options, void* values) {
  KEEPING(CALL("cuModuleLoadDataEx", module, data, count, options, values), image(*module, data, 0))
}
EXPORTED int cuModuleLoadFatBinary(void** module, const void* data) {
  KEEPING(CALL("cuModuleLoadFatBinary", module, data), image(*module, data, 0))
}
EXPORTED int cuLibraryLoadData(void** library, const void* data, void* jit, void* jit_values, unsigned jit_count,
                               void* options, void* values, unsigned count) {
  KEEPING(CALL("cuLibraryLoadData", library, data, jit, jit_values, jit_count, options, values, count),
          image(*library, data, 0))
}
EXPORTED int cuLibraryLoadFromFile(void** library, const char* path, void* jit, void* jit_values, unsigned jit_count,
                                   void* options, void* values, unsigned count) {
  KEEPING(CALL("cuLibraryLoadFromFile", library, path, jit, jit_values, jit_count, options, values, count),
          image(*library, 0, path))
}
static int module_of(const void* holder) { return known(holder) ? known(holder)->module : -1; }

EXPORTED int cuModuleGetFunction(void** function, void* module, const char* name) {
  KEEPING(CALL("cuModuleGetFunction", function, module, name), know(*function, name, module_of(module), 0))
}
EXPORTED int cuLibraryGetKernel(void** kernel, void* library, const char* name) {
  KEEPING(CALL("cuLibraryGetKernel", kernel, library, name), know(*kernel, name, module_of(library), 1))
}
EXPORTED int cuLibraryEnumerateKernels(void** kernels, unsigned count, void* library) {
  KEEPING(CALL("cuLibraryEnumerateKernels", kernels, count, library), {
    const char* name = 0;
    for (unsigned at = 0; at < count; ++at)
      if (!CALL("cuKernelGetName", &name, kernels[at])) know(kernels[at], name, module_of(library), 1);
  })
}
EXPORTED int cuLibraryGetModule(void** module, void* library) {
  KEEPING(CALL("cuLibraryGetModule", module, library), know(*module, 0, module_of(library), 0))
}
EXPORTED int cuKernelGetFunction(void** function, void* kernel) {
  KEEPING(CALL("cuKernelGetFunction", function, kernel), {
    Handle* found = known(kernel);
    if (found && found->name) know(*function, found->name, found->module, 0);
  })
}

// How the driver's functions are found

EXPORTED int cuGetProcAddress(const char* name, void** found, int version, uint64_t flags);
EXPORTED int cuGetProcAddress_v2(const char* name, void** found, int version, uint64_t flags, int* status);

#define OURS(name) {#name, (void*)name, 0}
#define STREAMED(name) {#name, (void*)name, (void*)name##_ptsz}, {#name "_ptsz", (void*)name##_ptsz, 0}
static const struct { const char* name; void* ours; void* per_thread; } ours[] = {
    STREAMED(cuLaunchKernel), STREAMED(cuLaunchKernelEx), STREAMED(cuLaunchCooperativeKernel),
    STREAMED(cuMemAllocAsync), STREAMED(cuMemAllocFromPoolAsync), OURS(cuMemAlloc_v2), OURS(cuMemAllocManaged),
    {"cuMemAlloc", (void*)cuMemAlloc_v2, 0}, OURS(cuModuleLoad), OURS(cuModuleLoadData), OURS(cuModuleLoadDataEx), OURS(cuModuleLoadFatBinary),
    OURS(cuLibraryLoadData), OURS(cuLibraryLoadFromFile), OURS(cuModuleGetFunction), OURS(cuLibraryGetKernel),
    OURS(cuLibraryEnumerateKernels), OURS(cuLibraryGetModule), OURS(cuKernelGetFunction), OURS(cuGetProcAddress), OURS(cuGetProcAddress_v2), {0, 0, 0}};

static void* stand_in(const char* name, int per_thread) {
  for (int at = 0; name && ours[at].name; ++at)
    if (!strcmp(ours[at].name, name)) return per_thread && ours[at].per_thread ? ours[at].per_thread : ours[at].ours;
  return 0;
}

EXPORTED int cuGetProcAddress(const char* name, void** found, int version, uint64_t flags) {
  int status = CALL("cuGetProcAddress", name, found, version, flags);
  void* own = stand_in(name, flags & PER_THREAD);
  if (own == (void*)cuGetProcAddress && version >= 12000) own = (void*)cuGetProcAddress_v2;
  if (!status && found && *found && own) *found = own;
  return status;
}
EXPORTED int cuGetProcAddress_v2(const char* name, void** found, int version, uint64_t flags, int* told) {
  int status = CALL("cuGetProcAddress_v2", name, found, version, flags, told);
  void* own = stand_in(name, flags & PER_THREAD);
  if (own == (void*)cuGetProcAddress && version >= 12000) own = (void*)cuGetProcAddress_v2;
  if (!status && found && *found && own) *found = own;
  return status;
}

EXPORTED void* dlsym(void* handle, const char* name) {
  if (name[0] == 'c' && name[1] == 'u') {
    void* own = strcmp(name, "cuMemAlloc") ? stand_in(name, 0) : 0;  // by this name, that of CUDA 2
    if (own && handle != RTLD_DEFAULT && handle != RTLD_NEXT) return finder()(handle, name) ? own : 0;
  }
  return finder()(handle, name);  // as a jump, so that RTLD_NEXT means what comes after the caller
}
