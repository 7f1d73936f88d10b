/* A program that launches by the driver. FOUND: how it finds the driver's functions, as the static CUDA runtime does
 * (PROC), by dlsym (SYMBOL), or by the linker (LINKED). */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
typedef int (*Any)();
#ifdef LINKED
#define DECLARED(name) int name(); static Any f_##name = name;
#else
#define DECLARED(name) static Any f_##name;
#endif
DECLARED(cuInit) DECLARED(cuModuleLoadDataEx) DECLARED(cuModuleGetFunction) DECLARED(cuLibraryLoadData)
DECLARED(cuLibraryGetKernel) DECLARED(cuMemAlloc_v2) DECLARED(cuMemcpyHtoD_v2) DECLARED(cuLaunchKernel)
DECLARED(cuLaunchKernelEx) DECLARED(cuCtxSynchronize)
static Any find(void *library, const char *name) {
#ifdef PROC
  int (*get)(const char *, void **, int, uint64_t, int *) = dlsym(library, "cuGetProcAddress_v2");
  int (*again)(const char *, void **, int, uint64_t, int *); void *found = 0; int told;
  char plain[64]; strcpy(plain, name); char *end = strstr(plain, "_v2"); if (end) *end = 0;
  get("cuGetProcAddress", (void **)&again, 13000, 0, &told);
  again(plain, &found, 13000, 0, &told);
  return (Any)found;
#else
  return (Any)dlsym(library, name);
#endif
}
int main(void) {
#ifndef LINKED
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
#define FIND(name) f_##name = find(library, #name);
  FIND(cuInit) FIND(cuModuleLoadDataEx) FIND(cuModuleGetFunction) FIND(cuLibraryLoadData) FIND(cuLibraryGetKernel)
  FIND(cuMemAlloc_v2) FIND(cuMemcpyHtoD_v2) FIND(cuLaunchKernel) FIND(cuLaunchKernelEx) FIND(cuCtxSynchronize)
#endif
  struct { uint32_t magic; uint16_t version, header; uint64_t size; char data[8]; } fatbin = {0xba55ed50, 1, 16, 8, "kernels"};
  struct { uint32_t magic, version; void *data, *unused; } wrapper = {0x466243b1, 1, &fatbin, 0};
  void *module, *function, *lib, *kernel;
  uint64_t x, numbers; float values[64]; int n = 5, counts[4] = {3, 3, 3, 3};
  for (int i = 0; i < 64; ++i) values[i] = i / 2.0f;
  f_cuInit(0);
  f_cuModuleLoadDataEx(&module, ".version 8.0 // PTX", 0, (void *)0, (void *)0);
  f_cuModuleGetFunction(&function, module, "fill");
  f_cuLibraryLoadData(&lib, &wrapper, (void *)0, (void *)0, 0, (void *)0, (void *)0, 0);
  f_cuLibraryGetKernel(&kernel, lib, "overrun");
  f_cuMemAlloc_v2(&x, sizeof values); f_cuMemAlloc_v2(&numbers, sizeof counts);
  f_cuMemcpyHtoD_v2(x, values, sizeof values); f_cuMemcpyHtoD_v2(numbers, counts, sizeof counts);
  uint64_t at = x + 8, pair[2] = {numbers + 4, 77};
  char packed[32]; memcpy(packed, &at, 8); memcpy(packed + 8, &n, 4); memcpy(packed + 16, pair, 16);
  size_t size = 32; void *extra[] = {(void *)1, packed, (void *)2, &size, 0};
  f_cuLaunchKernel(function, 2, 1, 1, 64, 1, 1, 0, (void *)0, (void *)0, extra);
  at = x;
  void *parameters[] = {&at, &n, pair};
  struct { unsigned grid[3], block[3], shared; void *stream, *attributes; unsigned count; } config = {{7, 1, 1}, {32, 1, 1}, 256, 0, 0, 0};
  f_cuLaunchKernelEx(&config, kernel, parameters, (void *)0);
  return f_cuCtxSynchronize() == 700;
}
