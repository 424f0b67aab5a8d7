// The parameters of a state that is to be evaluated, from a checkpoint, from plain numbers or from
// the run file.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "peer/base/aligned_floats.hpp"
#include "peer/base/digest.hpp"
#include "peer/base/units.hpp"
#include "peer/formats/run_file.hpp"
#include "project_server/backbone/checkpoint_file.hpp"

namespace dedloc::evaluate {

/// Parameters, and what is known of their origin.
struct LoadedState {
    AlignedFloats parameters;       ///< N, in the layout of formats::tensor_offsets
    std::optional<StepIndex> step;  ///< updates that the state has seen; absent: not known
    std::optional<Digest> digest;   ///< the state's digest; absent: the state is not complete
};

/// Says whether to stop reading. Must not throw.
using IsInterrupted = std::function<bool()>;

/// Reads the parameters and checks that the state's bytes have the digest that the head names.
/// Nothing when `is_interrupted` returns true.
/// Errors   InputError: "PATH is …": of another size than the run's state, damaged; IoError
/// Memory   the parameters; the optimizer's moments are only digested
std::optional<LoadedState> load_checkpoint(const backbone::CheckpointFile& file,
                                           const std::filesystem::path& path,
                                           const formats::RunFile& run,
                                           const IsInterrupted& is_interrupted = {});

/// Reads a file of N little-endian binary32 numbers, the flat vector of parameters with the zeros
/// between tensors; the optimizer's moments may follow and are ignored.
/// Errors   InputError: another size; IoError
LoadedState load_numbers(const std::filesystem::path& path, const formats::RunFile& run);

/// The state that the run begins with. Errors: InputError: the run file names only its digest.
/// Memory: a whole state.
LoadedState load_initial(const formats::RunFile& run);

/// Whether the run's ledger, every certificate of which is checked, has the digest of the state at
/// its step.
struct Proof {
    bool is_proven = false;  ///< it has
    std::string clause;      ///< the same in words
};
/// Errors   InputError: no file, a ledger that cannot be trusted; IoError
Proof judge(const LoadedState& state, const std::filesystem::path& ledger,
            const formats::RunFile& run);

}  // namespace dedloc::evaluate
