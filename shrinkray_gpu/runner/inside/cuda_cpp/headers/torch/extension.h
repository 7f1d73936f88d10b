// Stands in for torch's headers, which cost nvcc half a minute: what bindings of kernels say, in a second. A tensor is
// what it is on the way to a kernel, a pointer with sizes; new ones are made by Python (shrink::made). What is declared
// and not defined here does not link on a GPU: then torch's own headers do the work. See plain_library.py.
//
// Of the standard library come the few headers that are small: <vector> and <string> cost each pass of nvcc as much as
// all the rest. SHRINK_STD, for a source that says `std`, brings what torch's headers would.
#pragma once
#include <cuda.h>
#include <cuda_runtime.h>
#include <cstdint>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <type_traits>
#include <utility>
#ifdef SHRINK_STD
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>
#endif

namespace shrink {
struct Error : std::exception {
  char text[256] = {};
  Error(const char* first, const char* second = "") {
    std::strncpy(text, first, sizeof(text) - 1);
    std::strncat(text, second, sizeof(text) - 1 - std::strlen(text));
  }
  const char* what() const noexcept override { return text; }
};
struct Raw {
  void* data;
  int64_t key, dim, dtype, cuda;
  int64_t sizes[8], strides[8];
};
struct Value {
  int64_t kind;  // 0 nothing, 1 whole number, 2 number, 3 tensor
  int64_t whole;
  double number;
  Raw tensor;
};
using Make = void (*)(Raw*, double fill);  // NaN: leave it as it is
// Static, not inline: what an inline function keeps is one for all libraries of a process, and lanes load many.
static Make& make() {
  static Make made = nullptr;
  return made;
}
}  // namespace shrink

namespace c10 {
struct Half { uint16_t x; };
struct BFloat16 { uint16_t x; };
enum class ScalarType : int64_t { Byte, Char, Short, Int, Long, Half, Float, Double, Bool = 11, BFloat16 = 15 };
enum class DeviceType { CPU, CUDA };
struct Device {
  bool cuda;
  bool is_cuda() const { return cuda; }
  int index() const { return 0; }
  bool operator==(const Device& other) const { return cuda == other.cuda; }
  bool operator!=(const Device& other) const { return cuda != other.cuda; }
};
template <class T> struct ArrayRef {
  T items[8] = {};
  int64_t count = 0;
  ArrayRef(const T* given, size_t many) {
    if (many > 8) throw shrink::Error("the stand-in for torch knows eight dimensions");
    for (; count < int64_t(many); ++count) items[count] = given[count];
  }
  ArrayRef(std::initializer_list<T> given) : ArrayRef(given.begin(), given.size()) {}
#ifdef SHRINK_STD
  ArrayRef(const std::vector<T>& given) : ArrayRef(given.data(), given.size()) {}
  std::vector<T> vec() const { return {begin(), end()}; }
#endif
  size_t size() const { return count; }
  T operator[](int64_t at) const { return items[at < 0 ? at + count : at]; }
  const T* begin() const { return items; }
  const T* end() const { return items + count; }
};
struct Stream {
  cudaStream_t stream() const { return nullptr; }
  operator cudaStream_t() const { return nullptr; }
};
namespace cuda {
inline Stream getCurrentCUDAStream(int = 0) { return {}; }
struct CUDAGuard { template <class... A> CUDAGuard(A&&...) {} };
struct OptionalCUDAGuard { template <class... A> OptionalCUDAGuard(A&&...) {} };
}  // namespace cuda
}  // namespace c10

namespace at {
using c10::BFloat16;
using c10::Half;
using c10::ScalarType;
using IntArrayRef = c10::ArrayRef<int64_t>;
constexpr ScalarType kHalf = ScalarType::Half, kFloat = ScalarType::Float, kInt = ScalarType::Int;
constexpr ScalarType kLong = ScalarType::Long, kBFloat16 = ScalarType::BFloat16, kDouble = ScalarType::Double;
constexpr ScalarType kBool = ScalarType::Bool, kByte = ScalarType::Byte, kChar = ScalarType::Char;
constexpr ScalarType kFloat16 = kHalf, kFloat32 = kFloat, kInt32 = kInt, kInt64 = kLong, kUInt8 = kByte;
constexpr c10::DeviceType kCUDA = c10::DeviceType::CUDA, kCPU = c10::DeviceType::CPU;

struct TensorOptions {
  int64_t type = int64_t(ScalarType::Float), on = 0;
  TensorOptions() {}
  TensorOptions(ScalarType given) : type(int64_t(given)) {}
  TensorOptions(c10::DeviceType given) : on(given == c10::DeviceType::CUDA) {}
  TensorOptions dtype(ScalarType given) const { auto made = *this; made.type = int64_t(given); return made; }
  TensorOptions device(c10::DeviceType given) const {
    auto made = *this; made.on = given == c10::DeviceType::CUDA; return made;
  }
  TensorOptions device(c10::DeviceType given, int) const { return device(given); }
  TensorOptions device(c10::Device given) const { auto made = *this; made.on = given.cuda; return made; }
  TensorOptions requires_grad(bool) const { return *this; }
};

struct Tensor {
  shrink::Raw raw{};
  template <class T> T* data_ptr() const { return static_cast<T*>(raw.data); }
  template <class T> const T* const_data_ptr() const { return static_cast<const T*>(raw.data); }
  template <class T> T* mutable_data_ptr() const { return static_cast<T*>(raw.data); }
  void* data_ptr() const { return raw.data; }
  const void* const_data_ptr() const { return raw.data; }
  void* mutable_data_ptr() const { return raw.data; }
  int64_t size(int64_t at) const { return raw.sizes[at < 0 ? at + raw.dim : at]; }
  int64_t stride(int64_t at) const { return raw.strides[at < 0 ? at + raw.dim : at]; }
  int64_t dim() const { return raw.dim; }
  int64_t numel() const {
    int64_t all = 1;
    for (int64_t at = 0; at < raw.dim; ++at) all *= raw.sizes[at];
    return all;
  }
  int64_t element_size() const {
    constexpr int64_t bytes[] = {1, 1, 2, 4, 8, 2, 4, 8, 0, 0, 0, 1, 0, 0, 0, 2};
    return bytes[raw.dtype & 15];
  }
  IntArrayRef sizes() const { return {raw.sizes, size_t(raw.dim)}; }
  IntArrayRef strides() const { return {raw.strides, size_t(raw.dim)}; }
  ScalarType scalar_type() const { return ScalarType(raw.dtype); }
  ScalarType dtype() const { return ScalarType(raw.dtype); }
  c10::Device device() const { return {raw.cuda != 0}; }
  int get_device() const { return 0; }
  bool is_cuda() const { return raw.cuda != 0; }
  bool defined() const { return raw.data != nullptr; }
  TensorOptions options() const {
    TensorOptions made;
    made.type = raw.dtype, made.on = raw.cuda;
    return made;
  }
  bool is_contiguous() const {
    int64_t step = 1;
    for (int64_t at = raw.dim; at-- > 0; step *= raw.sizes[at])
      if (raw.sizes[at] != 1 && raw.strides[at] != step) return false;
    return true;
  }
  Tensor contiguous() const {
    if (!is_contiguous()) throw shrink::Error("the stand-in for torch copies no tensors");
    return *this;
  }
  Tensor clone() const;
  template <class T> T item() const;
  template <class... A> Tensor to(A&&...) const;
  template <class... A> Tensor transpose(A&&...) const;
  Tensor view(IntArrayRef) const;
  Tensor reshape(IntArrayRef) const;
  Tensor zero_() const;
};

inline Tensor made(const IntArrayRef& sizes, const TensorOptions& options, double fill) {
  Tensor out;
  out.raw.dim = sizes.size(), out.raw.dtype = options.type, out.raw.cuda = options.on;
  for (size_t at = 0; at < sizes.size(); ++at) out.raw.sizes[at] = sizes[at];
  shrink::make()(&out.raw, fill);
  return out;
}
#define SHRINK_FACTORY(name, fill)                                                                                 \
  inline Tensor name(IntArrayRef sizes, TensorOptions options = {}) { return made(sizes, options, fill); }          \
  inline Tensor name##_like(const Tensor& like) { return made(like.sizes(), like.options(), fill); }                \
  inline Tensor name##_like(const Tensor& like, TensorOptions options) { return made(like.sizes(), options, fill); }
SHRINK_FACTORY(empty, __builtin_nan(""))
SHRINK_FACTORY(zeros, 0.0)
SHRINK_FACTORY(ones, 1.0)
inline Tensor full(IntArrayRef sizes, double fill, TensorOptions options = {}) { return made(sizes, options, fill); }
namespace cuda {
using c10::cuda::CUDAGuard;
using c10::cuda::getCurrentCUDAStream;
using c10::cuda::OptionalCUDAGuard;
}  // namespace cuda
}  // namespace at

namespace torch {
using namespace at;
using c10::Device;
inline TensorOptions dtype(ScalarType given) { return TensorOptions(given); }
inline TensorOptions device(c10::DeviceType given) { return TensorOptions(given); }
}  // namespace torch

namespace shrink {
template <class T> T taken(const Value& given) {
  using Bare = std::decay_t<T>;
  if constexpr (std::is_same_v<Bare, at::Tensor>) {
    if (given.kind != 3) throw shrink::Error("a tensor is wanted");
    return static_cast<T>(*new at::Tensor{given.tensor});  // kept: a reference parameter must outlive the call
  } else {
    static_assert(std::is_arithmetic_v<Bare>, "no such parameter here");
    if (given.kind != 1 && given.kind != 2) throw shrink::Error("a number is wanted");
    return given.kind == 1 ? static_cast<Bare>(given.whole) : static_cast<Bare>(given.number);
  }
}
template <class T> void given(Value* out, const T& value) {
  if constexpr (std::is_same_v<T, at::Tensor>) {
    out->kind = 3, out->tensor = value.raw;
  } else if constexpr (std::is_integral_v<T>) {
    out->kind = 1, out->whole = value;
  } else if constexpr (std::is_floating_point_v<T>) {
    out->kind = 2, out->number = value;
  }
}
template <class R, class... A, size_t... I>
void call(R (*function)(A...), const Value* values, Value* out, std::index_sequence<I...>) {
  if constexpr (std::is_void_v<R>) {
    function(taken<A>(values[I])...);
  } else {
    given(out, function(taken<A>(values[I])...));
  }
}
struct Entry;
static Entry*& first_entry() {
  static Entry* entry = nullptr;
  return entry;
}
struct Entry {
  const char* name;
  void (*function)();
  void (*run)(void (*)(), const Value*, Value*);
  size_t parameters;
  Entry* next;
  template <class R, class... A>
  Entry(const char* name_, R (*function_)(A...))
      : name(name_), function(reinterpret_cast<void (*)()>(function_)), parameters(sizeof...(A)), next(first_entry()) {
    run = [](void (*plain)(), const Value* values, Value* out) {
      call(reinterpret_cast<R (*)(A...)>(plain), values, out, std::index_sequence_for<A...>{});
    };
    first_entry() = this;
  }
};
}  // namespace shrink

extern "C" inline __attribute__((used, visibility("default"))) void shrink_use(shrink::Make make) {
  shrink::make() = make;
}
extern "C" inline __attribute__((used, visibility("default"))) int shrink_call(
    const char* name, const shrink::Value* values, int64_t count, shrink::Value* out, char* error, int64_t room) {
  for (auto* entry = shrink::first_entry(); entry != nullptr; entry = entry->next) {
    if (std::strcmp(entry->name, name) != 0) continue;
    try {
      if (entry->parameters != size_t(count)) throw shrink::Error("incompatible function arguments");
      entry->run(entry->function, values, out);
      return 0;
    } catch (const std::exception& failure) {
      std::strncpy(error, failure.what(), room - 1);
      return 1;
    }
  }
  return 2;
}
#define SHRINK_JOIN_(a, b) a##b
#define SHRINK_JOIN(a, b) SHRINK_JOIN_(a, b)
#define SHRINK_EXPORT(name) static shrink::Entry SHRINK_JOIN(shrink_entry_, __COUNTER__)(#name, &name)

#define TORCH_CHECK(condition, ...) \
  do { if (!(condition)) throw shrink::Error("check failed: " #condition); } while (0)
#define AT_ASSERTM TORCH_CHECK
#define C10_CUDA_CHECK(...)                                                                      \
  do {                                                                                           \
    const cudaError_t shrink_error = (__VA_ARGS__);                                              \
    if (shrink_error != cudaSuccess)                                                             \
      throw shrink::Error("CUDA error: ", cudaGetErrorString(shrink_error));                      \
  } while (0)
#define AT_CUDA_CHECK C10_CUDA_CHECK
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())

namespace pybind11 {
struct arg {
  arg(const char*) {}
};
struct module_ {
  template <class R, class... A, class... Rest> module_& def(const char* name, R (*function)(A...), Rest&&...) {
    new shrink::Entry(name, function);
    return *this;
  }
  const char*& doc() {
    static const char* text = "";
    return text;
  }
};
}  // namespace pybind11
namespace py = pybind11;
#define PYBIND11_MODULE(name, var)                                                    \
  static void shrink_module(pybind11::module_& var);                                  \
  static const bool shrink_module_made = [] {                                         \
    pybind11::module_ made;                                                           \
    shrink_module(made);                                                              \
    return true;                                                                      \
  }();                                                                                \
  static void shrink_module([[maybe_unused]] pybind11::module_& var)
