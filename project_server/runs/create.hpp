// Creates runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "peer/formats/run_file.hpp"
#include "project_server/project/begins.hpp"

namespace dedloc::runs {

/// Arguments of create_run().
struct RunOptions {
    std::filesystem::path project;  ///< the project's folder
    std::filesystem::path corpus;   ///< a folder made by build_corpus()
    std::string name;               ///< 1 to 40 letters, digits, - and _
    std::string
        model;  ///< name of a ModelPreset; empty: tiny, or swav-tiny if the corpus is pictures
    std::filesystem::path from;    ///< Hugging Face folder to start from, or empty
    std::filesystem::path module;  ///< TorchScript module to train instead of `model`, or empty
    std::uint64_t sequence_length = 128;  ///< tokens of a module's window of text
    std::uint64_t picture_side = 32;      ///< pixels of the side of a module's pictures
    std::uint64_t steps = 0;              ///< updates until the run is finished
    std::uint64_t seed = 42;              ///< seed of the first parameters
    Codec codec = Codec::kFp32;           ///< how gradients are encoded between peers
    std::uint64_t job_bytes = std::uint64_t{256} << 20;  ///< most bytes of shards in a job
    bool overlaps = false;                               ///< computes while a round is on its way
    std::optional<std::uint64_t> target_batch;           ///< absent: the preset's
    std::optional<formats::Optimizer>
        optimizer;  ///< how parameters are updated; absent: the preset's
    std::optional<formats::Schedule> schedule;  ///< absent: the usual one of the optimizer
    std::optional<std::uint64_t> warmup_steps;  ///< absent: a tenth of the steps, at least 1
    /// Absent: the preset's with its optimizer or another LAMB, else the usual one.
    std::optional<double> learning_rate;
    std::optional<double> weight_decay;           ///< absent: the usual one of the optimizer
    std::optional<double> clip_norm;              ///< absent: the usual one of the optimizer
    std::optional<std::uint64_t> evaluate_every;  ///< steps; 0: none; absent: a fiftieth of all
    std::uint64_t evaluate_samples = 1'024;       ///< held-out samples of an evaluation
    std::filesystem::path masked_sentences{};     ///< file of sentences to answer; empty: drawn
    double credit_per_gigabyte = 20;              ///< for averaging 10⁹ bytes of gradients
    int aggregators = 8;  ///< the most jobs that only average, at the same time
    /// Dropout rates of hidden values, attention's weights and the classifier; empty: none.
    std::vector<double> dropout;
    /// Start of the warm-up and end of the schedule; absent: 0, and the optimizer's usual one in
    /// proportion to the peak.
    std::optional<double> start_learning_rate, final_learning_rate;
};

/// What create_run() has created.
struct CreatedRun {
    formats::RunFile run;  ///< the run's file
    /// Tensors that the folder to start from lacks: they have a new run's first values.
    std::vector<std::string> initialised;
};

/// Creates PROJECT/runs/NAME (run file, shards, tokenizer, backbone key) and enters the run into
/// the database as running; dedloc-work then offers its files and jobs to volunteers. A failed
/// creation leaves no run. `begins` is told what takes long.
///
/// If `from` names a folder, the model and its parameters come from it, and the training settings
/// from the preset `model`. The run file then names the digest of the first state, and the
/// backbone finds that state as checkpoint 0.
///
/// Errors  InputError (name taken or unusable, no corpus, an unusable model, …),
///         IoError, DatabaseError
CreatedRun create_run(const RunOptions& options, const project::Begins& begins);

}  // namespace dedloc::runs
