// The driver is asked through its own library, before anything large is loaded: it says in a
// millisecond what is wrong, and libtorch's CUDA half has half a gigabyte.
#include "boinc_app/device/gpu.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <utility>

#include "boinc_app/device/kept_way.hpp"
#include "boinc_app/training/device_error.hpp"
#include "boinc_app/training/device_replica.hpp"
#include "boinc_app/training/host_layers.hpp"
#include "boinc_app/training/host_replica.hpp"
#include "boinc_app/training/torch_workers.hpp"
#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/base/text.hpp"
#include "peer/formats/task.hpp"
#include "peer/platform/cores.hpp"
#include "peer/platform/memory.hpp"

namespace dedloc::device {
namespace {

using training::DeviceError;
using training::DeviceFailure;

/// The CUDA version that the pinned libtorch is built for, as the driver counts: 13.0.
constexpr int kCudaVersion = 13'000;
constexpr const char* kProcessorsOnly = "this kind of network is trained on processors only";

/// A library that stays loaded. Errors: DeviceError.
class Library {
  public:
    Library(const std::string& name, int flags, DeviceFailure failure, const std::string& sentence)
        : name_(name), handle_(::dlopen(name.c_str(), RTLD_NOW | flags)) {
        if (handle_ != nullptr) return;
        const char* const reason = ::dlerror();
        throw DeviceError{failure, fmt::format("{}: {}", sentence,
                                               reason != nullptr ? reason : "unknown reason")};
    }
    template <class Function>
    Function* function(const char* symbol, DeviceFailure failure) const {
        void* const found = ::dlsym(handle_, symbol);
        if (found == nullptr) {
            throw DeviceError{failure, fmt::format("{} has no function {}", name_, symbol)};
        }
        return reinterpret_cast<Function*>(found);
    }

  private:
    const std::string name_;
    void* const handle_;
};

/// Asks the driver whether this GPU can be used. The numbers are those of cuda.h, which the driver
/// keeps.
void ask_driver(unsigned index, const std::string& library) {
    constexpr auto kFailure = DeviceFailure::kNoDriver;
    const Library driver{library, RTLD_LOCAL, kFailure,
                         "this machine has no NVIDIA driver that can be loaded"};
    int version = 0;
    if (const int code = driver.function<int(int*)>("cuDriverGetVersion", kFailure)(&version)) {
        throw DeviceError{kFailure,
                          fmt::format("the NVIDIA driver does not answer (error {})", code)};
    }
    if (version < kCudaVersion) {
        throw DeviceError{
            DeviceFailure::kDriverTooOld,
            fmt::format("the NVIDIA driver is too old: it supports CUDA {}.{}, and {}.{} is needed",
                        version / 1000, version % 1000 / 10, kCudaVersion / 1000,
                        kCudaVersion % 1000 / 10)};
    }
    constexpr int kNoDevice = 100;
    const int code = driver.function<int(unsigned)>("cuInit", kFailure)(0);
    int count = 0;
    if (code == 0) driver.function<int(int*)>("cuDeviceGetCount", kFailure)(&count);
    if (code != 0 && code != kNoDevice) {
        throw DeviceError{kFailure,
                          fmt::format("the NVIDIA driver does not start (error {})", code)};
    }
    if (count <= 0) {
        throw DeviceError{DeviceFailure::kNoDevice, "the NVIDIA driver finds no GPU"};
    }
    if (index >= static_cast<unsigned>(count)) {
        throw DeviceError{
            DeviceFailure::kNoDevice,
            fmt::format("there is no GPU {}: this machine has {}, counted from 0", index, count)};
    }
}

/// The way of the task on this processor, by a trial or as an earlier job has kept it.
training::ProcessorWay way_of(const training::Task& task, const formats::RunFile& run,
                              training::ProcessorOffer offer, const Share& share,
                              training::FusedLayers& layers) {
    if (offer.precision || share.shared_folder.empty()) return task.on_processor(offer, layers);
    const WayFile file{share.shared_folder, run, offer};
    std::optional<KeptWay> kept = file.read();
    if (!kept) {
        training::ProcessorWay tried = task.on_processor(offer, layers);
        if (tried.micro_batch == 0) return tried;
        const KeptWay way{.precision = tried.computation.precision,
                          .threads = tried.threads,
                          .micro_batch = tried.micro_batch,
                          .reason = tried.reason};
        kept = file.keep(way);
        if (*kept == way) return tried;
    }
    offer.precision = kept->precision;
    offer.is_tried = true;
    return {.computation = task.on_processor(offer, layers).computation,
            .threads = kept->threads,
            .micro_batch = kept->micro_batch,
            .reason = kept->reason};
}

Compute compute_on_processor(std::optional<training::Precision> precision,
                             const formats::RunFile& run, const training::Task& task,
                             const kernels::Workers& workers, const Share& share) {
    Compute compute;
    compute.layer_workers = std::make_unique<training::TorchWorkers>();
    compute.layers = std::make_unique<training::HostLayers>(*compute.layer_workers);
    const training::ProcessorOffer offer{.precision = precision,
                                         .threads = share.threads,
                                         .cores = platform::cores_for(share.threads),
                                         .memory_bytes = platform::physical_memory()};
    const training::ProcessorWay way = way_of(task, run, offer, share, *compute.layers);
    const unsigned threads = way.threads != 0 ? way.threads : share.threads;
    if (precision != training::Precision::kFp32) training::set_compute_threads(threads);
    compute.replica = std::make_unique<training::HostReplica>(run, task, workers, way.computation);
    compute.device = {.threads = threads,
                      .memory_bytes = offer.memory_bytes,
                      .computation = way.computation,
                      .micro_batch = way.micro_batch};
    compute.name = fmt::format("the processor, {} thread{}", threads, threads == 1 ? "" : "s");
    if (!way.reason.empty()) {
        compute.name +=
            fmt::format(", {} ({})", training::name_of(way.computation.precision), way.reason);
    }
    return compute;
}

Compute on_gpu(unsigned index, const formats::RunFile& run, const training::Task& task,
               const kernels::Workers& workers, const Share& share) {
    auto opened = open_gpu(index);
    training::Accelerator& gpu = *opened;
    Compute compute;
    compute.replica = std::make_unique<training::DeviceReplica>(
        run, task, workers, std::move(opened), gpu.computation());
    compute.device = {.threads = share.threads,
                      .memory_bytes = platform::physical_memory(),
                      .gpu = gpu.properties(),
                      .computation = gpu.computation()};
    const training::GpuProperties& is = *compute.device.gpu;
    compute.name = fmt::format("GPU {} ({}, {} of {} MB free), {}", index, is.name,
                               is.free_memory_bytes / 1'000'000, is.memory_bytes / 1'000'000,
                               training::name_of(compute.device.computation.precision));
    return compute;
}

}  // namespace

std::optional<Choice> parse_choice(std::string_view text) {
    using Kind = Choice::Kind;
    if (text == "cpu") return Choice{Kind::kProcessor, 0};
    if (text == "auto") return Choice{Kind::kAutomatic, 0};
    if (text == "cuda") return Choice{Kind::kGpu, 0};
    constexpr std::string_view kPrefix = "cuda:";
    if (!text.starts_with(kPrefix)) return std::nullopt;
    text.remove_prefix(kPrefix.size());
    constexpr unsigned kMaxIndex = 63;
    const auto index = parse_number<unsigned>(text);
    if (!index || *index > kMaxIndex) return std::nullopt;
    return Choice{Kind::kGpu, *index};
}

bool set_precision(Choice& choice, std::string_view text) {
    choice.precision.reset();
    if (text == "auto") return true;
    for (const auto precision : {training::Precision::kFp32, training::Precision::kBf16}) {
        if (text == training::name_of(precision)) choice.precision = precision;
    }
    return choice.precision.has_value();
}

std::unique_ptr<training::Accelerator> open_gpu(unsigned index, const GpuLibraries& libraries) {
    ask_driver(index, libraries.driver);
    constexpr auto kFailure = DeviceFailure::kNoLibraries;
    // Its symbols are global: libtorch finds the CUDA half by them.
    const Library torch{libraries.torch, RTLD_GLOBAL, kFailure,
                        "libtorch's CUDA libraries are not complete"};
    const Library plugin{libraries.plugin, RTLD_LOCAL, kFailure,
                         "the CUDA half of this program is missing"};
    const auto version = plugin.function<std::uint32_t()>("dedloc_accelerator_version", kFailure)();
    if (version != training::kAcceleratorVersion) {
        throw DeviceError{kFailure,
                          fmt::format("{} is of another version of this program ({}, not {})",
                                      libraries.plugin, version, training::kAcceleratorVersion)};
    }
    return std::unique_ptr<training::Accelerator>{plugin.function<training::Accelerator*(unsigned)>(
        "dedloc_open_accelerator", kFailure)(index)};
}

Compute make_compute(const Choice& choice, const formats::RunFile& run, const training::Task& task,
                     const kernels::Workers& workers, const Share& share) {
    const auto on_processor = [&] {
        return compute_on_processor(choice.precision, run, task, workers, share);
    };
    if (choice.kind == Choice::Kind::kProcessor) return on_processor();
    if (!formats::runs_on_gpus(run)) {
        if (choice.kind == Choice::Kind::kGpu) throw InputError{kProcessorsOnly};
        log_info("no GPU: {}", kProcessorsOnly);
        return on_processor();
    }
    try {
        return on_gpu(choice.index, run, task, workers, share);
    } catch (const DeviceError& error) {
        if (choice.kind == Choice::Kind::kGpu) throw;
        log_info("no GPU: {}", error.what());
        return on_processor();
    }
}

}  // namespace dedloc::device
