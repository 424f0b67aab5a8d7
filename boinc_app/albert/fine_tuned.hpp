// A pre-trained ALBERT with a head for labels of single tokens (names in a text) or of whole texts.
//
// Tokens    logits = x · weightᵀ + bias for the last layer's output x, with classifier dropout
// Texts     the same for the pooler's output, tanh of an affine map of the first token's output
// Loss      cross entropy in nats, for each label
//
// As AlbertForTokenClassification and AlbertForSequenceClassification of transformers compute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "boinc_app/albert/batch.hpp"
#include "boinc_app/training/computation.hpp"
#include "peer/formats/run_file.hpp"

namespace dedloc::training::albert {

/// What has a label.
enum class Labelled : std::uint8_t {
    kTokens,  ///< tokens of a text
    kTexts,   ///< a text as a whole
};

/// Texts and their labels.
struct LabelledBatch {
    MicroBatch inputs;  ///< rows, without masked tokens and orders
    /// Tokens: row × length + column of each labelled token. Texts: the number of each row.
    std::vector<std::int64_t> places;
    std::vector<std::int64_t> labels;  ///< the label of each place
};

/// Predicted labels of a batch.
struct LabelPredictions {
    double loss = 0;                   ///< sum over the labels
    std::vector<std::int64_t> labels;  ///< the label with the highest logit, of each place
};

/// A model and its head on parameters that it reads in place. Thread: as Albert.
class FineTuned {
  public:
    /// `parameters`: those of the run (N, in the layout of formats::tensor_offsets), then the
    /// head's weight [labels, hidden] and bias [labels]. They must outlive the model.
    ///
    /// Requires  element_count() parameters at a multiple of 64 bytes, labels ≥ 1 (aborts)
    /// Errors    InputError, as Albert
    FineTuned(const formats::RunFile& run, std::span<const float> parameters, Labelled what,
              std::size_t labels);
    ~FineTuned();
    FineTuned(const FineTuned&) = delete;
    FineTuned& operator=(const FineTuned&) = delete;

    /// Number of parameters with those of the head.
    static std::size_t element_count(const formats::RunFile& run, std::size_t labels);

    /// Adds the gradient of the sum of losses to `sum`, and returns that sum, both with dropout.
    /// Parameters that the task does not use have no gradient. Returns nothing, and leaves `sum` as
    /// it was, when `is_interrupted`, which is called as by Albert::add_gradient(), returns true.
    /// Requires as many elements as parameters (aborts). Errors: c10::Error (a std::exception).
    std::optional<double> add_gradient(const LabelledBatch& batch, std::span<float> sum,
                                       const IsInterrupted& is_interrupted = {});

    /// Predicted labels and their loss, without dropout. Nothing when interrupted.
    std::optional<LabelPredictions> predict(const LabelledBatch& batch,
                                            const IsInterrupted& is_interrupted = {});

  private:
    struct Model;
    std::unique_ptr<Model> model_;
};

}  // namespace dedloc::training::albert
