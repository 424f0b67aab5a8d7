// dedloc_train local: trains a run in one process, for researchers and for comparisons.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "boinc_app/device/gpu.hpp"
#include "boinc_app/training/held_out_evaluator.hpp"
#include "boinc_app/training/task.hpp"
#include "peer/formats/run_file.hpp"

namespace dedloc {

/// The command line of `dedloc_train local`, besides the files.
struct LocalOptions {
    std::uint64_t steps = 0;        ///< steps to train; 0: those of the run
    std::string peer;               ///< hex digits of the key whose samples are drawn; empty: zeros
    device::Choice device{};        ///< what computes
    unsigned threads = 0;           ///< compute threads; 0: all CPUs
    std::uint64_t micro_batch = 0;  ///< samples computed at once; 0: as suits this machine
    std::filesystem::path from;     ///< checkpoint file to go on from; empty: the run's first state
    /// List of contributions (peer/formats/contribution_list.hpp) whose samples are computed, not
    /// those of `peer`; empty: none.
    std::filesystem::path contributions;
    std::filesystem::path out;  ///< checkpoint file for the last state; empty: none
    /// Evaluates the first and the last state, and one after every so many steps (0: no other), on
    /// so many samples of the held-out shards, if there are any.
    std::uint64_t evaluate_every = 0;
    std::uint64_t evaluate_samples = training::kUsualSamples;  ///< samples of an evaluation
};

/// Opens the run's evaluator for micro-batches of this size. Empty: nothing is measured.
using OpenEvaluator =
    std::function<std::unique_ptr<training::HeldOutEvaluator>(std::uint64_t micro_batch)>;

/// Computes the run's target batch in every step, or what a list of contributions says, prints a
/// line for each step, and at the end the digest of the state. SIGINT, SIGTERM and SIGHUP end it
/// after the last whole step, whose state is written. Call this before any thread is started.
/// Returns the process's exit status.
/// Errors: InputError (bad key, a checkpoint that is damaged or another run's, a list without the
/// next step or without whole micro-batches, a model that diverges), IoError (disk full, …),
/// DeviceError; as open_evaluator.
int train_locally(const formats::RunFile& run, const training::Task& task,
                  const OpenEvaluator& open_evaluator, const LocalOptions& options);

}  // namespace dedloc
