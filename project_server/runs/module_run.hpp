// A module that a researcher brings, as trainers see it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "peer/formats/module_spec.hpp"
#include "peer/formats/run_file.hpp"

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
};

/// Has dedloc_train, which lies beside this program, read the module as trainers do, in a process
/// of its own: this program has no libtorch.
///
/// Errors  InputError: dedloc_train is not there; its sentence about the module; IoError
/// Cost    starting libtorch, and one sample: some seconds
DescribedModule describe_module(const ModuleFiles& files);

}  // namespace dedloc::runs
