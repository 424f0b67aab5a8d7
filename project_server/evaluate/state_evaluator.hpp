// Evaluates states of one run, whatever its task: the one place of this folder that knows all
// kinds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "boinc_app/training/evaluation.hpp"
#include "peer/formats/run_file.hpp"
#include "project_server/evaluate/loaded_state.hpp"
#include "project_server/evaluate/picture_files.hpp"

namespace dedloc::evaluate {

/// Arguments of open_evaluator().
struct EvaluatorOptions {
    PictureFolders folders;          ///< the run's data; text: only held_out is used
    std::filesystem::path module{};  ///< file of the module that the run trains, if it does
    std::filesystem::path norms{};   ///< folder for statistics of batch norms; empty: not written
    std::uint64_t samples = training::kUsualSamples;  ///< held-out samples to measure
    std::uint64_t micro_batch = 0;  ///< text samples computed at once; 0: as suits this machine
    unsigned threads = 1;           ///< compute threads
};

/// Thread: one, whose number of compute threads it uses.
class StateEvaluator {
  public:
    virtual ~StateEvaluator() = default;

    /// The figures of the state. Nothing when `is_interrupted` returns true.
    /// SwAV: statistics of the batch norms of a state with a digest are written into the folder
    /// `norms`, for the export of the model; the first call also measures the network with its
    /// first values, unless the run starts from an imported model.
    /// Errors: as the task's evaluator; IoError: a file cannot be written.
    virtual std::optional<training::Evaluation> evaluate(const LoadedState& state,
                                                         const IsInterrupted& is_interrupted) = 0;
};

/// Opens and checks the run's held-out data. `run` must outlive the result.
/// Errors: InputError with one sentence: data that are missing, damaged or cannot be used; IoError.
std::unique_ptr<StateEvaluator> open_evaluator(const formats::RunFile& run,
                                               const EvaluatorOptions& options);

}  // namespace dedloc::evaluate
