// The choice of the device that computes, and the way to a GPU: the driver is asked whether it can
// be used, then libtorch's CUDA half and our plug-in are loaded. A program that computes on the
// processor loads none of them.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "boinc_app/training/accelerator.hpp"
#include "boinc_app/training/computation.hpp"
#include "boinc_app/training/footprint.hpp"
#include "boinc_app/training/fused_layers.hpp"
#include "boinc_app/training/replica.hpp"
#include "boinc_app/training/task.hpp"
#include "kernels/workers.hpp"
#include "peer/formats/run_file.hpp"

namespace dedloc::device {

/// What `--device` says.
struct Choice {
    /// The kinds of devices.
    enum class Kind {
        kProcessor,  ///< "cpu"
        kGpu,        ///< "cuda" or "cuda:N"
        kAutomatic,  ///< "auto": the first GPU if it can be used, else the processor
    };
    Kind kind = Kind::kProcessor;  ///< which one
    unsigned index = 0;            ///< number of the GPU
    /// Precision of a processor's matrix products; nothing: a trial chooses it, threads and
    /// micro-batches.
    std::optional<training::Precision> precision = training::Precision::kFp32;
    bool operator==(const Choice&) const = default;
};

/// Parses the value of `--device`. Nothing if it is none of those above.
std::optional<Choice> parse_choice(std::string_view text);

/// Sets the precision from the value of `--precision`: auto, fp32 or bf16. False if it is none of
/// those.
bool set_precision(Choice& choice, std::string_view text);

/// The libraries that a GPU needs; names without a folder are looked up beside the program and
/// where the system's loader looks.
struct GpuLibraries {
    std::string driver = "libcuda.so.1";       ///< comes with the driver
    std::string torch = "libtorch_cuda.so";    ///< libtorch's CUDA half
    std::string plugin = "libdedloc_cuda.so";  ///< boinc_app/cuda
};

/// Opens a GPU and attaches the calling thread. The libraries stay loaded. Errors: DeviceError.
std::unique_ptr<training::Accelerator> open_gpu(unsigned index, const GpuLibraries& libraries = {});

/// What computes in this process.
struct Compute {
    std::unique_ptr<const kernels::Workers> layer_workers;  ///< those of `layers`
    std::unique_ptr<training::FusedLayers> layers;          ///< the processor's; null: a GPU's
    std::unique_ptr<training::Replica> replica;             ///< state, model and sum
    training::Device device;                                ///< threads, micro-batches
    std::string name;                                       ///< for the log
};

/// What a job has of the machine, beside a GPU.
struct Share {
    unsigned threads = 1;  ///< that it may keep busy
    /// Folder in which a trial's choice is kept for other jobs (kept_way.hpp); empty: it is not.
    std::filesystem::path shared_folder{};
};

/// Makes the replica on the chosen device. `run`, `task` and `workers` must outlive it. When the
/// choice is automatic and the GPU cannot be used or the run not be trained on one, the log says
/// why. A trial of the processor takes seconds; then the calling thread's compute threads are those
/// of Compute::device. Errors: DeviceError; InputError, as the task's make_model() and
/// on_processor(), or a GPU is chosen for a task that does not run there.
Compute make_compute(const Choice& choice, const formats::RunFile& run, const training::Task& task,
                     const kernels::Workers& workers, const Share& share);

}  // namespace dedloc::device
