// Fine-tuning of one model by DeDLOC's protocol.
//
// Protocol   AdamW with a learning rate that falls linearly to 0 over all epochs, gradients of norm
//            1 at most; after each epoch the loss on the validation data; the epoch with the least
//            one is kept; training ends after some epochs (3) that are not better than the best
//            so far by more than `threshold`; the test data are measured once, at the end
// Source     sahajBERT's train_ner.py and train_ncc.py, which use the Trainer of transformers with
//            its defaults and its EarlyStoppingCallback. Differs: the validation loss is the mean
//            over labels, not over batches
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "boinc_app/training/computation.hpp"
#include "peer/formats/run_file.hpp"
#include "project_server/finetune/spans.hpp"
#include "project_server/finetune/token_rows.hpp"

namespace dedloc::finetune {

/// How it is trained.
struct Protocol {
    double learning_rate = 1e-5;     ///< at the first step
    double weight_decay = 0;         ///< AdamW's, of all parameters
    std::uint64_t batch = 128;       ///< examples of a step
    std::uint64_t epochs = 20;       ///< at most
    std::uint64_t patience = 3;      ///< epochs without enough gain before it ends
    double threshold = 0.01;         ///< gain of validation loss that counts, in nats
    std::uint64_t max_tokens = 128;  ///< most of a row, with [CLS] and [SEP]
    bool operator==(const Protocol&) const = default;
};

/// Data of a task in a model's tokens.
struct TaskData {
    Task task = Task::kNames;         ///< what has labels
    std::vector<std::string> labels;  ///< names of labels
    TokenRows train, valid, test;     ///< the three parts
};

/// A model to fine-tune.
struct BaseModel {
    formats::RunFile run{};           ///< its sizes, tensors and special tokens
    std::vector<float> parameters{};  ///< N, in the layout of formats::tensor_offsets
};

/// A model's test score.
struct Score {
    double loss = 0;      ///< mean over labels, in nats
    double accuracy = 0;  ///< share of labels that are right
    SpanScore spans{};    ///< names; nothing for classes
};

/// One epoch, for the progress.
struct EpochReport {
    std::uint64_t epoch = 0;  ///< from 1
    double train_loss = 0;    ///< mean over labels, with dropout
    double valid_loss = 0;    ///< mean over labels, without
    bool is_best = false;     ///< the least validation loss so far
};

/// A fine-tuned model.
struct TuningResult {
    std::uint64_t epochs = 0;      ///< that were trained
    std::uint64_t best_epoch = 0;  ///< the one that is kept
    double valid_loss = 0;         ///< its validation loss
    Score test{};                  ///< its score
    double first_loss = 0;         ///< mean over labels of the first step
};

/// What fine_tune() calls.
struct TuningCalls {
    training::IsInterrupted is_interrupted{};                  ///< the caller wants to end
    std::function<void(const EpochReport& epoch)> on_epoch{};  ///< after each epoch
    /// After each step: steps done and steps of the epoch.
    std::function<void(std::uint64_t done, std::uint64_t all)> on_step{};
};

/// Trains a copy of the model with a new head and measures it; nothing if interrupted. The seed
/// decides the head's first values, the order of examples and dropout.
/// `micro_batch`: rows computed at once; it changes rounding only.
/// Requires  rows in all three parts, a label in each part (InputError), micro_batch ≥ 1 (aborts)
/// Errors    InputError: no label is left in a part; c10::Error (a std::exception): no memory
/// Memory    five times the parameters and a micro-batch
std::optional<TuningResult> fine_tune(const BaseModel& model, const TaskData& data,
                                      const Protocol& protocol, std::uint64_t seed,
                                      std::size_t micro_batch, const TuningCalls& calls = {});

}  // namespace dedloc::finetune
