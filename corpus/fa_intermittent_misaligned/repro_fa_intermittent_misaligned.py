import torch

kernel = torch.cuda._compile_kernel(r"""
struct SharedMemory {
  union {
    float S[1][1];
  };
};
__global__ void fa_forward_kernel() {
  extern __shared__ unsigned char smem_raw[];
  *reinterpret_cast<uint4*>(smem_raw + smem_raw[0]) = make_uint4(0, 0, 0, 0);
  reinterpret_cast<SharedMemory*>(smem_raw)->S[0][0] = -1e30f;
}
""", "fa_forward_kernel")
for _ in range(2):
    kernel(shared_mem=129)
torch.cuda.synchronize()
