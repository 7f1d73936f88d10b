/* nvcc -O3 -arch=sm_90 ring_window.cu -o ring_window
 *
 * Frames of a sensor arrive one by one and are kept in a ring on the device. After each frame a kernel takes the
 * weighted mean of the last few frames, and another one finds the largest change against the frame before.
 * Old C-like host code: macros, goto, plain structs.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAME_W 320
#define FRAME_H 200
#define RING_SLOTS 48
#define WINDOW 5
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define DIV_UP(a, b) (((a) + (b)-1) / (b))

#define TRY(expr)                                                                       \
  do {                                                                                  \
    cudaError_t rc_ = (expr);                                                           \
    if (rc_ != cudaSuccess) {                                                           \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #expr, cudaGetErrorString(rc_)); \
      goto fail;                                                                        \
    }                                                                                   \
  } while (0)

typedef struct frame_ring {
  float *frames;
  size_t frame_len;
  int slots;
  int newest; /* index of the frame that came last, -1 before the first */
  long long seen;
} frame_ring;

typedef struct stats {
  float largest;
  unsigned int changed;
} stats;

__constant__ float c_weights[WINDOW];
__device__ stats d_stats;

static const float weights[WINDOW] = {0.4f, 0.25f, 0.15f, 0.12f, 0.08f};

static void ring_init(frame_ring *ring, int slots) {
  memset(ring, 0, sizeof(*ring));
  ring->frame_len = (size_t)FRAME_W * FRAME_H;
  ring->slots = slots;
  ring->newest = -1;
}

static cudaError_t ring_alloc(frame_ring *ring) {
  cudaError_t rc = cudaMalloc((void **)&ring->frames, ring->slots * ring->frame_len * sizeof(float));
  if (rc != cudaSuccess) return rc;
  return cudaMemset(ring->frames, 0, ring->slots * ring->frame_len * sizeof(float));
}

static cudaError_t ring_push(frame_ring *ring, const float *host) {
  ring->newest = (ring->newest + 1) % ring->slots;
  ring->seen++;
  return cudaMemcpy(ring->frames + ring->newest * ring->frame_len, host, ring->frame_len * sizeof(float),
                    cudaMemcpyHostToDevice);
}

/* oldest frame of the window first, so that rounding is the same from run to run */
__global__ void window_mean(const float *frames, float *mean, int oldest, int slots, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  size_t frame_len = (size_t)width * height;
  float sum = 0.0f;
  int k;
  if (x >= width || y >= height) return;
  for (k = 0; k < WINDOW; k++) {
    int slot = oldest + k;
    sum += c_weights[WINDOW - 1 - k] * frames[slot * frame_len + (size_t)y * width + x];
  }
  mean[(size_t)y * width + x] = sum;
}

__global__ void reset_stats(void) {
  d_stats.largest = 0.0f;
  d_stats.changed = 0u;
}

__global__ void compare_frames(const float *a, const float *b, int len, float limit) {
  __shared__ float tile[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int step;
  tile[threadIdx.x] = i < len ? fabsf(a[i] - b[i]) : 0.0f;
  if (i < len && tile[threadIdx.x] > limit) atomicAdd(&d_stats.changed, 1u);
  __syncthreads();
  for (step = 128; step > 0; step >>= 1) {
    if ((int)threadIdx.x < step) tile[threadIdx.x] = fmaxf(tile[threadIdx.x], tile[threadIdx.x + step]);
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicMax((int *)&d_stats.largest, __float_as_int(tile[0]));
}

static void make_frame(float *host, int number) {
  int x, y;
  for (y = 0; y < FRAME_H; y++)
    for (x = 0; x < FRAME_W; x++) host[y * FRAME_W + x] = (float)((x * 7 + y * 3 + number * 11) % 97) / 97.0f;
}

static int run(int count, int quiet) {
  frame_ring ring;
  stats result;
  float *host = NULL, *mean = NULL;
  int number, status = 1;
  dim3 block(32, 8);
  dim3 grid(DIV_UP(FRAME_W, block.x), DIV_UP(FRAME_H, block.y));

  ring_init(&ring, RING_SLOTS);
  host = (float *)malloc(ring.frame_len * sizeof(float));
  if (host == NULL) goto fail;
  TRY(ring_alloc(&ring));
  TRY(cudaMalloc((void **)&mean, ring.frame_len * sizeof(float)));
  TRY(cudaMemcpyToSymbol(c_weights, weights, sizeof(weights)));

  for (number = 0; number < count; number++) {
    make_frame(host, number);
    TRY(ring_push(&ring, host));
    if (ring.seen < WINDOW) continue;
    int oldest = (ring.newest + ring.slots - (WINDOW - 1)) % ring.slots;
    window_mean<<<grid, block>>>(ring.frames, mean, oldest, ring.slots, FRAME_W, FRAME_H);
    TRY(cudaGetLastError());
    reset_stats<<<1, 1>>>();
    compare_frames<<<DIV_UP((int)ring.frame_len, 256), 256>>>(mean, ring.frames + ring.newest * ring.frame_len,
                                                              (int)ring.frame_len, 0.5f);
    TRY(cudaGetLastError());
    TRY(cudaMemcpyFromSymbol(&result, d_stats, sizeof(result)));
    if (!quiet) printf("frame %d: largest change %.3f, %u pixels\n", number, result.largest, result.changed);
  }
  status = 0;
fail:
  cudaFree(mean);
  cudaFree(ring.frames);
  free(host);
  return status;
}

int main(int argc, char **argv) {
  static const char *const quiet_flags[] = {"-q", "--quiet"};
  int quiet = 0, count = 60, i;
  size_t j;
  for (i = 1; i < argc; i++) {
    for (j = 0; j < ARRAY_SIZE(quiet_flags); j++)
      if (!strcmp(argv[i], quiet_flags[j])) quiet = 1;
    if (argv[i][0] != '-') count = atoi(argv[i]);
  }
  if (count < 1) {
    fprintf(stderr, "usage: ring_window [-q] [frames]\n");
    return 2;
  }
  return run(count, quiet);
}
