// The CUDA runtime where no GPU is: memory is the host's, a launch is checked and written down, nothing is launched.
// Compiled once a reduction, with a line for each further function of the toolkit's header (they answer "success"), and
// linked to the host code of extensions. See host_code.py.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUCCESS 0
#define INVALID_VALUE 1
#define INVALID_CONFIGURATION 9
#define MOST 4096
#define LARGEST_SHARED 232448  // bytes a block, as on sm_90
#define FREE_SHARED 49152      // bytes without cudaFuncSetAttribute
#define ATTRIBUTE_SHARED 8

typedef struct { unsigned x, y, z; } Dim;
#define PARAMETERS 64

typedef struct {
  const char* kernel;
  unsigned grid[3], block[3];
  uint64_t shared;
  uint64_t args[PARAMETERS];  // as many as sizes are known of: each in the low bytes, or the address of a copy
} Launch;
typedef struct {
  const void* function;
  const char* name;
  uint64_t shared;
  int parameters;
  int sizes[PARAMETERS];
} Kernel;

static Launch launches[MOST];
static Kernel kernels[MOST];
static int launched, known, last;
static struct { Dim grid, block; size_t shared; void* stream; } pushed[16];
static int depth;

int shrink_launches(void) { return launched; }
const Launch* shrink_launch(int at) { return &launches[at]; }
int shrink_kernels(void) { return known; }
const char* shrink_kernel(int at) { return kernels[at].name; }
void shrink_parameters(int at, int count, const int* sizes) {  // bytes each
  kernels[at].parameters = count;
  memcpy(kernels[at].sizes, sizes, count * sizeof(int));
}
void shrink_forget(void) { launched = 0, last = SUCCESS; }

static Kernel* kernel(const void* function) {
  for (int at = known; at-- > 0;)
    if (kernels[at].function == function) return &kernels[at];
  return 0;
}
static int told(int error) {
  if (error) last = error;
  return error;
}

void** __cudaRegisterFatBinary(void* binary) { return calloc(1, sizeof(void*)); }
void __cudaRegisterFatBinaryEnd(void** handle) {}
void __cudaUnregisterFatBinary(void** handle) {}
char __cudaInitModule(void** handle) { return 1; }
void __cudaRegisterFunction(void** handle, const char* function, char* device, const char* name, int limit, void* tid,
                            void* bid, void* block, void* grid, int* size) {
  if (known < MOST) kernels[known++] = (Kernel){.function = function, .name = name, .shared = FREE_SHARED};
}
void __cudaRegisterVar(void** handle, char* host, char* address, const char* name, int ext, size_t size, int constant,
                       int global) {}
void __cudaRegisterManagedVar(void** handle, void** host, char* address, const char* name, int ext, size_t size,
                              int constant, int global) {
  *host = calloc(1, size);
}
unsigned __cudaPushCallConfiguration(Dim grid, Dim block, size_t shared, void* stream) {
  if (depth == 16) return 1;
  pushed[depth].grid = grid, pushed[depth].block = block, pushed[depth].shared = shared, pushed[depth].stream = stream;
  return depth++, 0;
}
int __cudaPopCallConfiguration(Dim* grid, Dim* block, size_t* shared, void** stream) {
  if (depth == 0) return INVALID_CONFIGURATION;
  depth--;
  *grid = pushed[depth].grid, *block = pushed[depth].block, *shared = pushed[depth].shared;
  *stream = pushed[depth].stream;
  return SUCCESS;
}
// Of a program whose process is not ours: a line for each launch, with its error, to the file of this name.
static int written(const Kernel* found, int error) {
  const char* path = getenv("SHRINK_LAUNCHES");
  FILE* file = path ? fopen(path, "a") : 0;
  if (file) fprintf(file, "%d %s\n", error, found ? found->name : ""), fclose(file);
  return error;
}
static int checked(Kernel* found, Dim grid, Dim block, size_t shared, void** args) {
  uint64_t threads = (uint64_t)block.x * block.y * block.z;
  if (!found) return told(98);  // invalid device function
  if (!grid.x || !grid.y || !grid.z || grid.x > 2147483647u || grid.y > 65535 || grid.z > 65535 || !threads ||
      threads > 1024 || block.z > 64)
    return told(INVALID_CONFIGURATION);
  if (shared > found->shared) return told(INVALID_VALUE);
  if (launched == MOST) return SUCCESS;
  Launch* seen = &launches[launched++];
  *seen = (Launch){found->name, {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared};
  for (int at = 0; at < found->parameters; at++) {
    size_t size = found->sizes[at];
    if (size > sizeof(uint64_t)) seen->args[at] = (uint64_t)malloc(size);
    memcpy(size > sizeof(uint64_t) ? (void*)seen->args[at] : &seen->args[at], args[at], size);
  }
  return SUCCESS;
}
static int launch(Kernel* found, Dim grid, Dim block, size_t shared, void** args) {
  return written(found, checked(found, grid, block, shared, args));
}
int cudaLaunchKernel(const void* function, Dim grid, Dim block, void** args, size_t shared, void* stream) {
  return launch(kernel(function), grid, block, shared, args);
}
// From CUDA 12.8 on what nvcc writes for <<<>>> asks for a handle first.
int __cudaGetKernel(Kernel** out, const void* function) {
  *out = kernel(function);
  return *out ? SUCCESS : told(98);
}
int __cudaLaunchKernel(Kernel* found, Dim grid, Dim block, void** args, size_t shared, void* stream) {
  return launch(found, grid, block, shared, args);
}
int __cudaLaunchKernel_ptsz(Kernel* found, Dim grid, Dim block, void** args, size_t shared, void* stream) {
  return launch(found, grid, block, shared, args);
}
int cudaLaunchCooperativeKernel(const void* function, Dim grid, Dim block, void** args, size_t shared, void* stream) {
  return cudaLaunchKernel(function, grid, block, args, shared, stream);
}
typedef struct { Dim grid, block; size_t shared; void *stream, *attributes; unsigned count; } Configuration;
int cudaLaunchKernelExC(const Configuration* given, const void* function, void** args) {
  return cudaLaunchKernel(function, given->grid, given->block, args, given->shared, given->stream);
}
int cudaFuncSetAttribute(const void* function, int attribute, int value) {
  Kernel* found = kernel(function);
  if (!found) return told(98);
  if (attribute == ATTRIBUTE_SHARED) {
    if (value < 0 || value > LARGEST_SHARED) return told(INVALID_VALUE);
    found->shared = (uint64_t)value > FREE_SHARED ? (uint64_t)value : FREE_SHARED;
  }
  return SUCCESS;
}
int cudaGetLastError(void) {
  int error = last;
  last = SUCCESS;
  return error;
}
int cudaPeekAtLastError(void) { return last; }
const char* cudaGetErrorString(int error) {
  return error == SUCCESS ? "no error" : error == INVALID_CONFIGURATION ? "invalid configuration argument"
       : error == INVALID_VALUE ? "invalid argument" : "invalid device function";
}
const char* cudaGetErrorName(int error) {
  return error == SUCCESS ? "cudaSuccess" : error == INVALID_CONFIGURATION ? "cudaErrorInvalidConfiguration"
       : error == INVALID_VALUE ? "cudaErrorInvalidValue" : "cudaErrorInvalidDeviceFunction";
}
static int given(void** out, size_t size) {
  *out = calloc(1, size ? size : 1);
  return SUCCESS;
}
int cudaMalloc(void** out, size_t size) { return given(out, size); }
int cudaMallocManaged(void** out, size_t size, unsigned flags) { return given(out, size); }
int cudaMallocHost(void** out, size_t size) { return given(out, size); }
int cudaHostAlloc(void** out, size_t size, unsigned flags) { return given(out, size); }
int cudaMallocAsync(void** out, size_t size, void* stream) { return given(out, size); }
int cudaFree(void* memory) { return free(memory), SUCCESS; }
int cudaFreeHost(void* memory) { return free(memory), SUCCESS; }
int cudaFreeAsync(void* memory, void* stream) { return free(memory), SUCCESS; }
int cudaMemcpy(void* to, const void* from, size_t size, int kind) { return memmove(to, from, size), SUCCESS; }
int cudaMemcpyAsync(void* to, const void* from, size_t size, int kind, void* stream) {
  return cudaMemcpy(to, from, size, kind);
}
int cudaMemset(void* to, int value, size_t size) { return memset(to, value, size), SUCCESS; }
int cudaMemsetAsync(void* to, int value, size_t size, void* stream) { return cudaMemset(to, value, size); }
static int told_one(int* out) { return *out = 1, SUCCESS; }
int cudaGetDeviceCount(int* out) { return told_one(out); }
int cudaGetDevice(int* out) { return *out = 0, SUCCESS; }
int cudaDeviceGetAttribute(int* out, int attribute, int device) { return told_one(out); }
int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* out, const void* function, int size, size_t shared) {
  return told_one(out);
}
int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* out, const void* function, int size, size_t shared,
                                                           unsigned flags) {
  return told_one(out);
}
int cudaStreamCreate(void** out) { return *out = 0, SUCCESS; }
int cudaStreamCreateWithFlags(void** out, unsigned flags) { return *out = 0, SUCCESS; }
int cudaEventCreate(void** out) { return *out = 0, SUCCESS; }
int cudaEventCreateWithFlags(void** out, unsigned flags) { return *out = 0, SUCCESS; }
int cudaEventElapsedTime(float* out, void* from, void* to) { return *out = 1.0f, SUCCESS; }
