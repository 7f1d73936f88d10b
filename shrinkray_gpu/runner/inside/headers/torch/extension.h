// Stands in for torch's headers where a source is only compiled, so that nvcc needs a second instead of half a minute:
// what bindings of kernels say, well typed enough to compile, and nothing behind it.
#pragma once
#include <cuda.h>
#include <cuda_runtime.h>
#include <cstdint>
#include <string>
#include <vector>

struct CUstream_holder {
  cudaStream_t stream() const;
  operator cudaStream_t() const;
};

namespace c10 {
struct Half {};
struct BFloat16 {};
enum class ScalarType { Byte, Char, Short, Int, Long, Half, Float, Double, Bool, BFloat16 };
enum class DeviceType { CPU, CUDA };
struct Device {
  bool is_cuda() const;
  int index() const;
  bool operator==(const Device&) const;
  bool operator!=(const Device&) const;
};
template <class T> struct ArrayRef {
  ArrayRef(std::initializer_list<T>);
  template <class U> ArrayRef(const U&);
  int64_t size() const;
  T operator[](int64_t) const;
};
template <class T> struct optional_ {
  bool has_value() const;
  T value() const;
};
namespace cuda {
CUstream_holder getCurrentCUDAStream(int = 0);
struct CUDAGuard { template <class... A> CUDAGuard(A&&...); };
struct OptionalCUDAGuard { template <class... A> OptionalCUDAGuard(A&&...); };
}  // namespace cuda
}  // namespace c10

namespace at {
using c10::BFloat16;
using c10::Half;
using c10::ScalarType;
using IntArrayRef = c10::ArrayRef<int64_t>;
struct TensorOptions {
  template <class... A> TensorOptions dtype(A&&...) const;
  template <class... A> TensorOptions device(A&&...) const;
  template <class... A> TensorOptions requires_grad(A&&...) const;
};
struct Scalar { template <class T> Scalar(T); };
struct Tensor {
  Tensor();
  template <class T> T* data_ptr() const;
  template <class T> const T* const_data_ptr() const;
  template <class T> T* mutable_data_ptr() const;
  void* data_ptr() const;
  const void* const_data_ptr() const;
  void* mutable_data_ptr() const;
  int64_t size(int64_t) const;
  int64_t stride(int64_t) const;
  int64_t dim() const;
  int64_t numel() const;
  int64_t element_size() const;
  IntArrayRef sizes() const;
  IntArrayRef strides() const;
  ScalarType scalar_type() const;
  ScalarType dtype() const;
  c10::Device device() const;
  int get_device() const;
  TensorOptions options() const;
  bool is_cuda() const;
  bool is_contiguous() const;
  bool defined() const;
  Tensor contiguous() const;
  Tensor clone() const;
  template <class T> T item() const;
  template <class... A> Tensor to(A&&...) const;
  template <class... A> Tensor view(A&&...) const;
  Tensor view(IntArrayRef) const;
  Tensor reshape(IntArrayRef) const;
  template <class... A> Tensor transpose(A&&...) const;
  Tensor zero_();
  template <class T> Tensor fill_(T);
};
constexpr ScalarType kHalf = ScalarType::Half, kFloat = ScalarType::Float, kInt = ScalarType::Int;
constexpr ScalarType kLong = ScalarType::Long, kBFloat16 = ScalarType::BFloat16, kDouble = ScalarType::Double;
constexpr ScalarType kBool = ScalarType::Bool, kByte = ScalarType::Byte, kChar = ScalarType::Char;
constexpr ScalarType kFloat16 = ScalarType::Half, kFloat32 = ScalarType::Float, kInt32 = ScalarType::Int;
constexpr ScalarType kInt64 = ScalarType::Long;
constexpr c10::DeviceType kCUDA = c10::DeviceType::CUDA, kCPU = c10::DeviceType::CPU;
template <class... A> Tensor empty_like(A&&...);
template <class... A> Tensor zeros_like(A&&...);
template <class... A> Tensor ones_like(A&&...);
template <class... A> Tensor empty(IntArrayRef, A&&...);
template <class... A> Tensor zeros(IntArrayRef, A&&...);
template <class... A> Tensor ones(IntArrayRef, A&&...);
template <class T, class... A> Tensor full(IntArrayRef, T, A&&...);
namespace cuda { using c10::cuda::CUDAGuard; using c10::cuda::getCurrentCUDAStream; using c10::cuda::OptionalCUDAGuard; }
}  // namespace at

namespace torch {
using namespace at;
using c10::Device;
template <class... A> TensorOptions dtype(A&&...);
template <class... A> TensorOptions device(A&&...);
}  // namespace torch

#define TORCH_CHECK(...) ((void)0)
#define AT_ASSERTM(...) ((void)0)
#define AT_CUDA_CHECK(...) ((void)(__VA_ARGS__))
#define C10_CUDA_CHECK(...) ((void)(__VA_ARGS__))
#define C10_CUDA_KERNEL_LAUNCH_CHECK() ((void)cudaGetLastError())

namespace pybind11 {
struct module_ {
  template <class... A> module_& def(A&&...);
  const char*& doc();
};
struct arg {
  arg(const char*);
  template <class T> arg operator=(T&&) const;
};
}  // namespace pybind11
namespace py = pybind11;
#define SHRINK_JOIN_(a, b) a##b
#define SHRINK_JOIN(a, b) SHRINK_JOIN_(a, b)
#define PYBIND11_MODULE(name, var) static void SHRINK_JOIN(shrink_module_, __LINE__)(pybind11::module_ & var)
