// A module that a researcher brings: read when its run is created, and written with trained
// parameters. dedloc_train, which lies beside this program, does both, in a process of its own and
// as trainers do: this program has no libtorch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "peer/formats/checkpoint_head.hpp"
#include "peer/formats/module_spec.hpp"
#include "peer/formats/run_file.hpp"
#include "peer/platform/file_writer.hpp"
#include "project_server/backbone/run_files.hpp"

namespace dedloc::runs {

/// What a run file says of a module.
struct DescribedModule {
    formats::ModuleSpec model;                   ///< its file, data and cost
    std::uint64_t sequence_length = 0;           ///< tokens of a window; 0: no text
    std::vector<formats::TensorSpec> tensors{};  ///< its parameters
};

/// Arguments of describe_module().
struct ModuleFiles {
    std::filesystem::path module;       ///< as torch.jit.save writes it
    std::filesystem::path shard;        ///< one of the run's
    std::uint64_t sequence_length = 0;  ///< tokens of a window of text
    std::uint64_t picture_side = 0;     ///< pixels of the side of a picture's square
};

/// What trainers will find when they read the module.
///
/// Errors  InputError: dedloc_train is not there; its sentence about the module; IoError
/// Cost    starting libtorch, and one sample: some seconds
DescribedModule describe_module(const ModuleFiles& files);

/// Name of the module in an exported folder.
inline constexpr const char* kExportedModule = "module.pt";

/// Writes a run's module with the parameters of a state, as the state's bytes come by.
class ModuleExport {
  public:
    /// Begins a file in `folder`, which holds the parameters until finish(). Both must outlive it.
    /// Errors: IoError.
    ModuleExport(const backbone::RunFiles& files, const formats::CheckpointHead& head,
                 const std::filesystem::path& folder);

    /// Requires pieces of the state in order and without gaps. Errors: IoError.
    void take(std::uint64_t offset, std::span<const std::byte> bytes);
    /// Writes kExportedModule. Errors: as describe_module().
    void finish();

  private:
    const backbone::RunFiles& files_;
    const std::filesystem::path& folder_;
    const std::filesystem::path parameters_path_;
    const std::uint64_t parameter_bytes_;
    platform::FileWriter parameters_;
};

}  // namespace dedloc::runs
