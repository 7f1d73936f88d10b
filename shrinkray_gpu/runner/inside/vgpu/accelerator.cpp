// A CUDA device that torch's C++ can trace fake tensors on, and on which nothing is ever done.
//
// Indexing a fake tensor asks for the guard of its device, differentiating it for streams and for which accelerator there
// is. `exchange_accelerator` puts what answers here in the place of torch's own, and, called again, back.
//
// The autograd engine counts devices once, before the first gradient of a process. `start_autograd` has it count again
// where that was too early.

#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <unistd.h>

#include <utility>

// Members of torch::autograd::Engine, by their names in the library: its header takes six times as long as all of this.
void* default_engine() __asm__("_ZN5torch8autograd6Engine18get_default_engineEv") __attribute__((weak));
void start_once(void*) __asm__("_ZN5torch8autograd6Engine30initialize_device_threads_poolEv") __attribute__((weak));
void start_threads(void*) __asm__("_ZN5torch8autograd6Engine20start_device_threadsEv") __attribute__((weak));

namespace {
using c10::Device;
using c10::DeviceIndex;
using c10::Stream;
constexpr auto CUDA = c10::DeviceType::CUDA;

int counts = 0;  // how often somebody has counted the devices
pid_t started = 0;  // the process whose engine has a thread for this device; a fork has a new engine

struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const noexcept override { return CUDA; }
  Device exchangeDevice(Device) const noexcept override { return getDevice(); }
  Device getDevice() const noexcept override { return Device(CUDA, 0); }
  void setDevice(Device) const noexcept override {}
  void uncheckedSetDevice(Device) const noexcept override {}
  Stream getStream(Device) const noexcept override { return Stream(Stream::DEFAULT, getDevice()); }
  Stream exchangeStream(Stream) const noexcept override { return getStream(getDevice()); }
  DeviceIndex deviceCount() const noexcept override {
    ++counts;
    return 1;
  }
};

struct Hooks final : at::CUDAHooksInterface {
  bool hasCUDA() const noexcept override { return true; }
  bool hasPrimaryContext(DeviceIndex) const noexcept override { return true; }
  // Virtual in some releases of torch only.
  bool isBuilt() const { return true; }
  bool isAvailable() const { return true; }
};

const c10::impl::DeviceGuardImplInterface* other_guard = new Guard();
at::CUDAHooksInterface* other_hooks = new Hooks();
}  // namespace

extern "C" void exchange_accelerator() {
  auto& place = c10::impl::device_guard_impl_registry[static_cast<std::size_t>(CUDA)];
  other_guard = place.exchange(other_guard);
  // Torch keeps its hooks for good, and has no data in them: what they are is told by their first word.
  auto* hooks = const_cast<at::CUDAHooksInterface*>(&at::detail::getCUDAHooks());
  std::swap(*reinterpret_cast<void**>(hooks), *reinterpret_cast<void**>(other_hooks));
}

// To be called while the accelerator is exchanged.
extern "C" void start_autograd() {
  if (started == getpid() || !default_engine || !start_once || !start_threads) {
    return;
  }
  started = getpid();
  const int before = counts;
  start_once(default_engine());
  if (counts == before) {  // it was started without the device
    start_threads(default_engine());
  }
}
