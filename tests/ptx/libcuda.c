/* Stands in for NVIDIA's libcuda: writes down each call, and reads the arguments as a kernel would. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static FILE *out(void) { static FILE *file; if (!file) { file = fopen(getenv("CALLS"), "w"); setbuf(file, 0); } return file; }
int cuInit(unsigned flags) { fprintf(out(), "init %u\n", flags); return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = 7; fprintf(out(), "device %d\n", ordinal); return 0; }
int cuCtxCreate_v2(void **context, unsigned flags, int device) { *context = (void *)1; fprintf(out(), "context %d\n", device); return 0; }
int cuModuleLoadDataEx(void **module, const char *image, unsigned n, int *names, void **values) {
  *module = (void *)2; fprintf(out(), "module %zu %u %d %zu\n", strlen(image), n, names[0], (size_t)values[1]);
  if (strstr(image, "broken")) { strcpy(values[0], "line 3; syntax error"); return 218; }
  return 0; }
int cuModuleGetFunction(void **function, void *module, const char *name) { *function = (void *)3; fprintf(out(), "function %s\n", name); return 0; }
int cuFuncSetAttribute(void *function, int name, int value) { fprintf(out(), "attribute %d %d\n", name, value); return 0; }
int cuMemAlloc_v2(uint64_t *place, size_t size) { *place = (uint64_t)calloc(size, 1); fprintf(out(), "alloc %zu\n", size); return 0; }
int cuMemcpyHtoD_v2(uint64_t place, const void *from, size_t size) { memcpy((void *)place, from, size); return 0; }
int cuMemcpyDtoH_v2(void *to, uint64_t place, size_t size) { memcpy(to, (void *)place, size); return 0; }
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **parameters, void **extra) {
  uint16_t *at = *(uint16_t **)parameters[0]; int n = *(int *)parameters[1]; float f = *(float *)parameters[2];
  void *scratch = *(void **)parameters[3];
  fprintf(out(), "launch %u %u %u %u %u %u %u: %04x %04x n=%d f=%g scratch=%d\n", gx, gy, gz, bx, by, bz, shared,
          at[-2], at[0], n, f, scratch != 0);
  at[0] = 1; return 0; }
int cuCtxSynchronize(void) { const char *code = getenv("CODE"); return code ? atoi(code) : 0; }
int cuGetErrorName(int code, const char **name) { *name = code == 716 ? "CUDA_ERROR_MISALIGNED_ADDRESS" : code == 218 ? "CUDA_ERROR_INVALID_PTX" : "CUDA_ERROR_UNKNOWN"; return 0; }
