// Records what any program launches on NVIDIA's driver. Preloaded (LD_PRELOAD), it stands before the driver's functions:
// by their names, by dlsym and by cuGetProcAddress, through which the CUDA runtime finds them, the static one too.
//
// SHRINK_RECORD names a folder. It gets launches.PROCESS.jsonl (a line a module, a launch, and the end of a launch), the
// images of modules, and the contents of the memory that the arguments point to: of a launch that fails, and of the one
// with the number in SHRINK_RECORD_KEEP. After each launch the device is waited for, so that an error is that of its
// launch. Compiled by launch_recorder.py.
//
// Room, for a control: with SHRINK_ROOM_MEMORY=4 each allocation is 4 times as large as asked for, and with
// SHRINK_ROOM_SHARED=2 each launch has twice its dynamic shared memory.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HANDLES 65536
#define POINTERS 4096  // the parameters of a kernel have 32764 bytes at most
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
#define STREAM_PER_THREAD ((void*)2)  // what stream 0 is to functions that end in _ptsz
#define NO_PARAMETER 1  // CUDA_ERROR_INVALID_VALUE: a kernel has no parameter of that number
#define IMPLICIT 906    // CUDA_ERROR_STREAM_CAPTURE_IMPLICIT: another stream is recorded into a graph
#define EXPORTED __attribute__((visibility("default")))

typedef int (*Any)();
typedef struct { unsigned grid[3], block[3], shared; void* stream; void* attributes; unsigned count; } Config;
typedef struct { const void* key; char* name; int module, is_kernel; } Handle;  // is_kernel: a CUkernel

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;  // who has it may use what is below, but for the settings
static Handle handles[HANDLES];
static int handle_count, modules, launches, owner, file = -1;
static char process[48];
static struct { uint64_t base; size_t size; } memory[POINTERS];
static int before;  // the error that was there when a launch began: of a copy, a graph, what nobody records
static char* line;  // the event that is being written
static size_t line_size;
static FILE* lines;
static __thread int inside;  // calls of our own are not recorded

// Settings, read once: a program may change its environment, or overwrite it where it stands

static char* folder;
static int keep = -1;
static size_t more_memory = 1, more_shared_memory = 1;
static pthread_once_t started = PTHREAD_ONCE_INIT;

static size_t factor(const char* name) {
  const char* told = getenv(name);
  return told && atoi(told) > 1 ? (size_t)atoi(told) : 1;
}

static void child(void) {  // has one thread, whoever had the turn in its parent
  if (!inside) pthread_mutex_init(&turn, 0);
}

static void start(void) {
  const char *place = getenv("SHRINK_RECORD"), *number = getenv("SHRINK_RECORD_KEEP");
  folder = place ? strdup(place) : 0;
  keep = number ? atoi(number) : -1;
  more_memory = factor("SHRINK_ROOM_MEMORY");
  more_shared_memory = factor("SHRINK_ROOM_SHARED");
  pthread_atfork(0, 0, child);
}

__attribute__((constructor)) static void settings(void) { pthread_once(&started, start); }

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
  if (!library) library = dlopen("libcuda.so.1", RTLD_NOW);
  return library ? (Any)finder()(library, name) : 0;
}

#define CALL(name, ...) (driver(name) ? driver(name)(__VA_ARGS__) : 999)

static int record(void) {  // whether this process has one; a forked child makes no record in its parent's
  if (file < 0) {
    if (!folder) return 0;
    owner = (int)getpid();
    for (int at = 0; file < 0 && at < 1000; ++at) {  // a process that became another program keeps its number
      char path[4096];
      snprintf(process, sizeof process, at ? "%d_%d" : "%d", owner, at);
      snprintf(path, sizeof path, "%s/launches.%s.jsonl", folder, process);
      file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (file < 0 && errno != EEXIST) return 0;
    }
  }
  return file >= 0 && owner == (int)getpid();
}

static int open_line(void) {
  lines = open_memstream(&line, &line_size);
  return lines != 0;
}

static void close_line(void) {  // whole, so that neither another thread nor a fork leaves half of one
  fputc('\n', lines);
  fclose(lines);
  for (size_t at = 0; at < line_size;) {
    ssize_t done = write(file, line + at, line_size - at);
    if (done < 0 && errno != EINTR) break;
    if (done > 0) at += (size_t)done;
  }
  free(line);
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
    found->name = 0;
  }
  char* old = found->name;
  *found = (Handle){key, name ? strdup(name) : 0, module, is_kernel};
  free(old);  // now: the new name may be the old one
}

// Images

static uint64_t number_at(const unsigned char* place, size_t bytes) {
  uint64_t value = 0;
  memcpy(&value, place, bytes);
  return value;
}

static size_t elf_size(const unsigned char* image) {
  uint64_t programs = number_at(image + 32, 8), sections = number_at(image + 40, 8);
  uint64_t section = number_at(image + 58, 2), count = number_at(image + 60, 2);
  if (!count && sections) count = number_at(image + sections + 32, 8);  // more than 65279 of them
  uint64_t end = sections + section * count;
  uint64_t other = programs + number_at(image + 54, 2) * number_at(image + 56, 2);
  if (other > end) end = other;
  for (uint64_t at = 0; at < count; ++at) {
    const unsigned char* header = image + sections + at * section;
    uint64_t last = number_at(header + 24, 8) + (number_at(header + 4, 4) == 8 ? 0 : number_at(header + 32, 8));
    if (last > end) end = last;
  }
  return end;
}

static void image(const void* handle, const void* data, size_t size) {  // 0: its own header tells the size
  if (!record() || !open_line()) return;
  int module = modules++;
  const unsigned char* first = data;
  const char* kind = "none";
  char name[96] = "";
  if (first && !size && (uint32_t)number_at(first, 4) == FATBIN_WRAPPER)
    first = (const unsigned char*)(uintptr_t)number_at(first + 8, 8);
  if (first) {
    if (number_at(first, 4) == FATBIN) {
      kind = "fatbin";
      if (!size) size = number_at(first + 6, 2) + number_at(first + 8, 8);
    } else if (!memcmp(first, "\177ELF", 4)) {
      kind = "cubin";
      if (!size) size = elf_size(first);
    } else {
      kind = "ptx";
      if (!size) size = strlen((const char*)first);
    }
    snprintf(name, sizeof name, "module_%s_%d.%s", process, module, kind);
    if (!blob(name, first, size)) name[0] = 0;
  }
  know(handle, 0, module, 0);
  fprintf(lines, "{\"event\": \"module\", \"module\": %d, \"kind\": \"%s\", \"bytes\": %zu, \"file\": ", module, kind, size);
  text(name);
  fputc('}', lines);
  close_line();
}

static void image_file(const void* handle, const char* path) {  // a copy: the program may remove its own
  FILE* in = fopen(path, "rb");
  char* data = 0;
  size_t size = 0;
  long end = in && !fseek(in, 0, SEEK_END) ? ftell(in) : -1;
  if (end > 3 && !fseek(in, 0, SEEK_SET) && (data = malloc((size_t)end))) size = fread(data, 1, (size_t)end, in);
  if (in) fclose(in);
  image(handle, size > 3 ? data : 0, size);
  free(data);
}

// Room

static size_t larger(size_t size) { return size > SIZE_MAX / more_memory ? SIZE_MAX : size * more_memory; }

#define ALLOCATED(larger, plain)               \
  settings();                                  \
  if (!inside && more_memory > 1) {            \
    int status = larger;                       \
    if (!status) return status;                \
  }                                            \
  return plain;

EXPORTED int cuMemAlloc_v2(void* place, size_t size) {
  ALLOCATED(CALL("cuMemAlloc_v2", place, larger(size)), CALL("cuMemAlloc_v2", place, size))
}
EXPORTED int cuMemAllocManaged(void* place, size_t size, unsigned flags) {
  ALLOCATED(CALL("cuMemAllocManaged", place, larger(size), flags), CALL("cuMemAllocManaged", place, size, flags))
}
#define ALLOC_ASYNC(name)                                                                        \
  EXPORTED int name(void* place, size_t size, void* stream) {                                    \
    ALLOCATED(CALL(#name, place, larger(size), stream), CALL(#name, place, size, stream))        \
  }
ALLOC_ASYNC(cuMemAllocAsync)
ALLOC_ASYNC(cuMemAllocAsync_ptsz)
#define ALLOC_POOL(name)                                                                               \
  EXPORTED int name(void* place, size_t size, void* pool, void* stream) {                              \
    ALLOCATED(CALL(#name, place, larger(size), pool, stream), CALL(#name, place, size, pool, stream))  \
  }
ALLOC_POOL(cuMemAllocFromPoolAsync)
ALLOC_POOL(cuMemAllocFromPoolAsync_ptsz)

static unsigned more_shared(void* function, unsigned shared) {  // as much as asked for where there is no more
  size_t more = shared * more_shared_memory;
  if (inside || more == shared || more > INT32_MAX) return shared;
  if (more <= UNASKED_SHARED) return (unsigned)more;
  pthread_mutex_lock(&turn);
  Handle* found = known(function);
  int is_kernel = found && found->is_kernel;
  pthread_mutex_unlock(&turn);
  int device = 0, refused;
  CALL("cuCtxGetDevice", &device);
  if (is_kernel) refused = CALL("cuKernelSetAttribute", MAX_DYNAMIC_SHARED, (int)more, function, device);
  else refused = CALL("cuFuncSetAttribute", function, MAX_DYNAMIC_SHARED, (int)more);
  return refused ? shared : (unsigned)more;
}

// Launches

static int parameter_info(void* function, int is_kernel, int at, size_t* offset, size_t* size) {
  return CALL(is_kernel ? "cuKernelGetParamInfo" : "cuFuncGetParamInfo", function, (size_t)at, offset, size);
}

static int holds_pointers(const unsigned char* data, size_t size, uint64_t near) {  // into memory of the device
  uint64_t last = 0, base;
  size_t held;
  int asked = 0;
  for (size_t at = 0; at + 8 <= size && asked < 64; at += 8) {
    uint64_t word = number_at(data + at, 8);
    if (word >> 40 != near >> 40 || word == last) continue;
    last = word, ++asked;
    if (!CALL("cuMemGetAddressRange_v2", &base, &held, word)) return 1;
  }
  return 0;
}

static void contents(uint64_t base, size_t size, int launch, int at, size_t* kept) {
  if (size > READ_MOST) {
    fprintf(lines, ", \"unread\": true");
    return;
  }
  unsigned char* data = malloc(size + PERIOD);
  if (!data || CALL("cuMemcpyDtoH_v2", data, base, size)) {
    fprintf(lines, ", \"unread\": true");
    free(data);
    return;
  }
  if (holds_pointers(data, size, base)) fprintf(lines, ", \"pointers\": true");
  if (size <= PERIOD || !memcmp(data, data + PERIOD, size - PERIOD)) {
    fprintf(lines, ", \"fill\": ");
    hex(data, size < PERIOD ? size : PERIOD);
  } else if (*kept + size > KEPT_MOST) {
    fprintf(lines, ", \"unread\": true");
  } else {
    char name[96];
    snprintf(name, sizeof name, "memory_%s_%d_%d.bin", process, launch, at);
    *kept += size;
    if (blob(name, data, size)) fprintf(lines, ", \"file\": \"%s\"", name);
    else fprintf(lines, ", \"unread\": true");
  }
  free(data);
}

static void forget(int launch, int memories) {  // the contents of a launch that ended well
  for (int at = 0; at < memories; ++at) {
    char path[4096];
    snprintf(path, sizeof path, "%s/memory_%s_%d_%d.bin", folder, process, launch, at);
    unlink(path);
  }
}

static int is_capturing(void* stream) {  // whether a launch there goes into a graph, or may not be waited for
  int status = 0;
  return CALL("cuStreamIsCapturing", stream, &status) == IMPLICIT || status;
}

static int begin(void* function, const unsigned* grid, const unsigned* block, unsigned shared, void* stream,
                 void** parameters, void** extra, const char* how, int* number) {
  // Returns how many memories were kept; -1: the launch goes into a graph; -2: there is no room for a line.
  if (!open_line()) return -2;
  const unsigned char* packed = 0;
  size_t bytes = 0;
  for (void** at = extra; at && *at != END; at += 2) {
    if (*at == BUFFER) packed = at[1];
    if (*at == BUFFER_SIZE) bytes = *(size_t*)at[1];
  }
  int capturing = is_capturing(stream);
  before = capturing ? 0 : CALL("cuCtxSynchronize");
  Handle* found = known(function);
  const char* name = found ? found->name : 0;
  if (!name) CALL("cuFuncGetName", &name, function);
  int module = found ? found->module : -1;
  void* holder = 0;
  if (module < 0 && !CALL("cuFuncGetModule", &holder, function) && known(holder)) module = known(holder)->module;
  *number = launches++;
  fprintf(lines, "{\"event\": \"launch\", \"launch\": %d, \"how\": \"%s\", \"kernel\": ", *number, how);
  text(name ? name : "");
  fprintf(lines, ", \"captured\": %s, \"module\": %d", capturing ? "true" : "false", module);
  fprintf(lines, ", \"grid\": [%u, %u, %u], \"block\": [%u, %u, %u], \"shared\": %u, \"parameters\": [",
          grid[0], grid[1], grid[2], block[0], block[1], block[2], shared);
  int memories = 0, count = 0, status, is_kernel = found && found->is_kernel;
  size_t offset, size;
  for (; !(status = parameter_info(function, is_kernel, count, &offset, &size)); ++count) {
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
  // One that nobody knows anything of, where the driver does not tell which there are: before CUDA 12.4 none does.
  if (!count && status != NO_PARAMETER) fprintf(lines, "{\"offset\": 0, \"size\": 0}");
  fprintf(lines, "], \"memory\": [");
  size_t kept = 0;
  for (int at = 0; at < memories; ++at) {
    fprintf(lines, "%s{\"bytes\": %zu", at ? ", " : "", memory[at].size);
    if (capturing) fprintf(lines, ", \"unread\": true");
    else contents(memory[at].base, memory[at].size, *number, at, &kept);
    fputc('}', lines);
  }
  fprintf(lines, "]}");
  close_line();
  return capturing ? -1 : memories;
}

static void ended(int number, int status, int memories) {
  if (memories == -2) return;
  int device = status || memories < 0 ? 0 : CALL("cuCtxSynchronize");
  if (!status && !device && keep != number) forget(number, memories < 0 ? 0 : memories);
  if (!open_line()) return;
  fprintf(lines, "{\"event\": \"end\", \"launch\": %d, \"status\": %d, \"device\": %d, \"before\": %d}", number, status, device, before);
  close_line();
}

// `call` launches with `shared` bytes, as many as `asked`, or more; as asked for where more are refused.
#define LAUNCHED(how, grid, block, stream, call)                                                                  \
  if (inside || !folder) {                                                                                        \
    int status = call;                                                                                            \
    return status && shared != asked ? (shared = asked, call) : status;                                           \
  }                                                                                                               \
  pthread_mutex_lock(&turn);                                                                                      \
  ++inside;                                                                                                       \
  int number = -1, recorded = record();                                                                           \
  int memories = recorded ? begin(function, grid, block, shared, stream, parameters, extra, how, &number) : -2;   \
  int status = call;                                                                                              \
  if (status && shared != asked) status = (shared = asked, call);                                                 \
  ended(number, status, memories);                                                                                \
  --inside;                                                                                                       \
  pthread_mutex_unlock(&turn);                                                                                    \
  return status;

#define SIZES unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned asked
#define LAUNCH(name, stream_0)                                                                            \
  EXPORTED int name(void* function, SIZES, void* stream, void** parameters, void** extra) {               \
    settings();                                                                                           \
    unsigned grid[3] = {gx, gy, gz}, block[3] = {bx, by, bz}, shared = more_shared(function, asked);      \
    LAUNCHED("plain", grid, block, stream ? stream : stream_0,                                            \
             CALL(#name, function, gx, gy, gz, bx, by, bz, shared, stream, parameters, extra))            \
  }
#define COOPERATIVE(name, stream_0)                                                                       \
  EXPORTED int name(void* function, SIZES, void* stream, void** parameters) {                             \
    settings();                                                                                           \
    unsigned grid[3] = {gx, gy, gz}, block[3] = {bx, by, bz}, shared = more_shared(function, asked);      \
    void** extra = 0;                                                                                     \
    LAUNCHED("cooperative", grid, block, stream ? stream : stream_0,                                      \
             CALL(#name, function, gx, gy, gz, bx, by, bz, shared, stream, parameters))                   \
  }
#define LAUNCH_EX(name, stream_0)                                                                         \
  EXPORTED int name(const Config* given, void* function, void** parameters, void** extra) {               \
    settings();                                                                                           \
    if (!given) return CALL(#name, given, function, parameters, extra);                                   \
    Config config = *given;                                                                               \
    unsigned asked = given->shared, shared = more_shared(function, asked);                                \
    LAUNCHED(config.count ? "attributes" : "plain", config.grid, config.block,                            \
             config.stream ? config.stream : stream_0,                                                    \
             (config.shared = shared, CALL(#name, &config, function, parameters, extra)))                 \
  }
LAUNCH(cuLaunchKernel, 0)
LAUNCH(cuLaunchKernel_ptsz, STREAM_PER_THREAD)
COOPERATIVE(cuLaunchCooperativeKernel, 0)
COOPERATIVE(cuLaunchCooperativeKernel_ptsz, STREAM_PER_THREAD)
LAUNCH_EX(cuLaunchKernelEx, 0)
LAUNCH_EX(cuLaunchKernelEx_ptsz, STREAM_PER_THREAD)

// Modules, libraries and their kernels

#define KEEPING(call, keep)                                                 \
  settings();                                                               \
  int status = call;                                                        \
  if (!status && !inside && (folder || more_shared_memory > 1)) {           \
    pthread_mutex_lock(&turn);                                              \
    keep;                                                                   \
    pthread_mutex_unlock(&turn);                                            \
  }                                                                         \
  return status;

EXPORTED int cuModuleLoad(void** module, const char* path) {
  KEEPING(CALL("cuModuleLoad", module, path), image_file(*module, path))
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
          image_file(*library, path))
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
  if (handle != RTLD_NEXT && name[0] == 'c' && name[1] == 'u') {
    void* own = strcmp(name, "cuMemAlloc") ? stand_in(name, 0) : 0;  // by this name, that of CUDA 2
    if (own) {
      void* real = finder()(handle, name);
      if (real == own) real = finder()(RTLD_NEXT, name);  // there is a driver only where another has it too
      else if (handle == RTLD_DEFAULT) return real;       // the program's own
      return real ? own : 0;
    }
  }
  return finder()(handle, name);  // as a jump, so that RTLD_NEXT means what comes after the caller
}
