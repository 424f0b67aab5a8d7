// Evaluators of the tasks that a loss on held-out samples describes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "boinc_app/training/held_out_evaluator.hpp"
#include "peer/formats/run_file.hpp"

namespace dedloc::tasks {

/// Arguments of open_evaluator().
struct EvaluatorOptions {
    std::filesystem::path held_out;                   ///< folder with the run's held-out shards
    std::filesystem::path module{};                   ///< unused unless the run trains one
    std::uint64_t samples = training::kUsualSamples;  ///< held-out samples to measure, at least 1
    std::uint64_t micro_batch = 1;                    ///< samples computed at once, at least 1
};

/// Opens and checks the run's held-out shards. `run` must outlive the result.
///
/// Errors  InputError with one sentence: shards or a module that are missing, damaged or cannot be
///         used; a run of pictures, whose figures need labels too: dedloc-evaluate measures them
std::unique_ptr<training::HeldOutEvaluator> open_evaluator(const formats::RunFile& run,
                                                           const EvaluatorOptions& options);

}  // namespace dedloc::tasks
