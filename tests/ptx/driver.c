/* A simulation of libcuda for the recorder of launches: device memory is the host's, and kernel "overrun" fails. A copy
 * to address 0 fails when the device is waited for. Stream 7 is recorded into a graph. A block has 600 bytes of shared
 * memory at most. A file end_in_launch ends one launch with its program. With OLD no kernel tells its parameters, as
 * before CUDA 12.4. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static struct { uint64_t base; size_t size; } memory[64];
static int memories, failed;
static const char *names[8];
static int kernels;
int cuInit(unsigned flags) { return 0; }
int cuDeviceGet(int *device, int ordinal) { return *device = 0; }
int cuCtxCreate_v2(void **context, unsigned flags, int device) { *context = (void *)1; return 0; }
int cuModuleLoadDataEx(void **module, const void *image, unsigned n, void *names, void *values) { *module = (void *)2; return 0; }
int cuModuleLoad(void **module, const char *path) { *module = (void *)4; return 0; }
int cuLibraryLoadData(void **library, const void *image, void *a, void *b, unsigned c, void *d, void *e, unsigned f) { *library = (void *)3; return 0; }
static void *named(const char *name) { names[kernels] = name; return (void *)(uint64_t)(100 + kernels++); }
int cuModuleGetFunction(void **function, void *module, const char *name) { *function = named(strdup(name)); return 0; }
int cuLibraryGetKernel(void **kernel, void *library, const char *name) { *kernel = named(strdup(name)); return 0; }
int cuMemAlloc_v2(uint64_t *place, size_t size) { if (size > 1 << 30) return 2; *place = (uint64_t)aligned_alloc(256, (size + 255) / 256 * 256); memory[memories].base = *place; memory[memories++].size = size; return 0; }
int cuMemGetAddressRange_v2(uint64_t *base, size_t *size, uint64_t at) {
  for (int i = 0; i < memories; ++i) if (at >= memory[i].base && at < memory[i].base + memory[i].size) { *base = memory[i].base; *size = memory[i].size; return 0; }
  return 500; }
int cuMemcpyHtoD_v2(uint64_t place, const void *from, size_t size) { if (!place) return failed = 700, 0; memcpy((void *)place, from, size); return 0; }
int cuMemcpyDtoH_v2(void *to, uint64_t place, size_t size) { if (failed) return failed; memcpy(to, (void *)place, size); return 0; }
#ifndef OLD
#define TOLD 3
#else
#define TOLD 0
#endif
static const int sizes[] = {8, 4, 16}, offsets[] = {0, 8, 16};
int cuFuncGetParamInfo(void *function, size_t at, size_t *offset, size_t *size) { if (!TOLD) return 999; if (at >= TOLD) return 1; *offset = offsets[at]; *size = sizes[at]; return 0; }
int cuKernelGetParamInfo(void *kernel, size_t at, size_t *offset, size_t *size) { return cuFuncGetParamInfo(kernel, at, offset, size); }
int cuStreamIsCapturing(void *stream, int *status) { *status = stream == (void *)7; return 0; }
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **parameters, void **extra) {
  if (!unlink("end_in_launch")) _exit(9);
  if (failed || shared > 600) return failed ? failed : 1;
  if (stream == (void *)7) return 0;
  const char *name = names[(uint64_t)function - 100];
  char packed[32];
  if (parameters) for (int i = 0; i < 3; ++i) memcpy(packed + offsets[i], parameters[i], sizes[i]);
  else memcpy(packed, extra[1], 32);
  float *x = *(float **)packed; uint64_t *pair = (uint64_t *)(packed + 16);
  printf("%s %u %u %u: x[0]=%g x[1]=%g n=%d pair=%d,%d\n", name, gx, bx, shared, x[0], x[1], *(int *)(packed + 8), *(int *)pair[0], (int)pair[1]);
  if (!strcmp(name, "overrun")) failed = 700;
  x[0] = 9; return 0; }
typedef struct { unsigned grid[3], block[3], shared; void *stream, *attributes; unsigned count; } Config;
int cuLaunchKernelEx(const Config *c, void *function, void **parameters, void **extra) {
  if (!c) return 1;
  return cuLaunchKernel(function, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1], c->block[2], c->shared, c->stream, parameters, extra); }
int cuCtxSynchronize(void) { return failed; }
int cuGetErrorName(int code, const char **name) { *name = code == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_UNKNOWN"; return 0; }
#include <dlfcn.h>
int cuGetProcAddress_v2(const char *name, void **found, int version, uint64_t flags, int *status) {
  char full[128]; void *self = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  snprintf(full, sizeof full, "%s_v2", name); *found = dlsym(self, full);
  if (!*found) *found = dlsym(self, name);
  return *found ? 0 : 500; }
