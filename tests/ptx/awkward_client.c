/* Programs that make it hard for the recorder of launches, by the first word: see test_awkward_programs.py. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int cuInit(), cuModuleLoad(), cuModuleLoadDataEx(), cuModuleGetFunction(), cuMemAlloc_v2(), cuMemcpyHtoD_v2(),
    cuCtxSynchronize(), cuLaunchKernel(), cuLaunchKernelEx();
static void *module, *function;
static uint64_t x;
static int launch(void *stream, unsigned shared) {
  uint64_t at = x, pair[2] = {x, 77};
  int n = 5;
  void *parameters[] = {&at, &n, pair};
  return cuLaunchKernel(function, 2, 1, 1, 64, 1, 1, shared, stream, parameters, (void *)0);
}
static void *many(void *barrier) {
  pthread_barrier_wait(barrier);
  for (int i = 0; i < 20; ++i) launch(0, 0);
  return 0;
}
static int is(char **argv, const char *word) { return !strcmp(argv[1], word); }
int main(int argc, char **argv) {
  float values[64] = {0};
  cuInit(0);
  if (is(argv, "room")) {  // more than there is, so that the double of it would be 2 bytes
    uint64_t place;
    printf("%d\n", cuMemAlloc_v2(&place, SIZE_MAX / 2 + 2));
  }
  if (is(argv, "file") || is(argv, "gone")) cuModuleLoad(&module, argv[2]);
  else cuModuleLoadDataEx(&module, ".version 8.0 // PTX", 0, (void *)0, (void *)0);
  if (is(argv, "gone")) unlink(argv[2]);
  cuModuleGetFunction(&function, module, is(argv, "bytes") ? "na\xffme" : "fill");
  cuMemAlloc_v2(&x, sizeof values);
  cuMemcpyHtoD_v2(x, values, sizeof values);
  if (is(argv, "nested")) cuMemcpyHtoD_v2(x, (uint64_t[]){7, x + 4, 9}, (size_t)24);
  if (is(argv, "threads")) {
    pthread_t threads[8];
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, 0, 8);
    for (int i = 0; i < 8; ++i) pthread_create(&threads[i], 0, many, &barrier);
    for (int i = 0; i < 8; ++i) pthread_join(threads[i], 0);
    return 0;
  }
  if (is(argv, "graph")) return launch((void *)7, 0);
  if (is(argv, "before")) return cuMemcpyHtoD_v2((uint64_t)0, values, (size_t)4), launch(0, 0) != 700;
  if (is(argv, "room")) return launch(0, 500);
  if (is(argv, "nothing")) return cuLaunchKernelEx((void *)0, function, (void *)0, (void *)0);
  launch(0, 0);
  if (is(argv, "fork") && !fork()) exit(launch(0, 0));
  if (is(argv, "fork")) wait(0);
  if (is(argv, "exec")) execl(argv[0], argv[0], "once", (char *)0);
  if (is(argv, "overwritten")) memset(getenv("SHRINK_RECORD"), 'x', 3), setenv("SHRINK_RECORD_KEEP", "0", 1);
  return launch(0, 0);
}
