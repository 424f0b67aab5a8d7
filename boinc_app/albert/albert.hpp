// ALBERT for pre-training: masked-LM and sentence order with one layer's weights used L times, on
// libtorch.
//
// Loss of a sample   mean over its masked tokens of the cross entropy + cross entropy of its
//                    sentence order, in nats. DeDLOC takes the mean over all masked tokens of a
//                    micro-batch. Here a sample's weight does not depend on its micro-batch, so
//                    sums over samples of different peers add up.
// Dropout            where Hugging Face's model has it, by the run's rates (default: none), from
//                    public seeds (dropout.hpp). The v2 configurations have only 0.1 before the
//                    sentence-order classifier.
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

/// How well the model predicts one sample, without dropout.
struct SampleFigures {
    double masked_loss = 0;         ///< mean cross entropy of its masked tokens, in nats
    double order_loss = 0;          ///< cross entropy of its sentence order, in nats
    std::uint64_t masked = 0;       ///< number of masked tokens
    std::uint64_t masked_hits = 0;  ///< masked tokens whose logit is the highest of all tokens'
    bool is_order_hit = false;      ///< the logit of its order is the higher one
};

/// What the model says of a masked token.
struct TokenGuess {
    std::int64_t token = 0;  ///< its id
    double probability = 0;  ///< its share of the softmax over all tokens
    bool operator==(const TokenGuess&) const = default;
};

/// The model on parameters that it reads in place: threads, memory and bits as Model says.
class Albert {
  public:
    /// `parameters` must outlive the model; every call reads their values of that moment.
    ///
    /// Requires  N parameters in the layout of formats::tensor_offsets, at a multiple of 64 bytes
    ///           (aborts)
    /// Errors    InputError unless names, shapes and order of the run's tensors are the model's
    Albert(const formats::RunFile& run, std::span<const float> parameters,
           const Computation& computation = {});
    ~Albert();
    Albert(const Albert&) = delete;
    Albert& operator=(const Albert&) = delete;

    /// Adds the sum of the samples' gradients to `sum`, in the parameters' layout, and returns the
    /// sum of their losses, both with dropout. Elements of `sum` between tensors are not touched.
    ///
    /// Calls `is_interrupted` some ten times a layer, between the matrix products of the forward
    /// and of the backward pass. When it returns true, the micro-batch is dropped: returns nothing,
    /// and `sum` is as it was. A GPU computes what has been enqueued to its end all the same.
    ///
    /// In fp16, gradients that overflow are computed again with a smaller loss scale.
    ///
    /// Requires  N elements (aborts)
    /// Errors    DeviceError, c10::Error (a std::exception); `sum` is as it was
    std::optional<double> add_gradient(const MicroBatch& batch, std::span<float> sum,
                                       const IsInterrupted& is_interrupted = {});

    /// The sum of the samples' losses, without dropout.
    double loss(const MicroBatch& batch);

    /// The figures of each sample, in the order of the rows: their losses are the terms of loss().
    /// Returns nothing when `is_interrupted`, which is called as by add_gradient(), returns true.
    std::optional<std::vector<SampleFigures>> figures(const MicroBatch& batch,
                                                      const IsInterrupted& is_interrupted = {});

    /// The `count` most probable tokens of each masked one, in the order of masked_at, the most
    /// probable first, without dropout. Nothing when interrupted, as figures().
    /// Requires  a masked token, 1 ≤ count ≤ size of the vocabulary (aborts)
    std::optional<std::vector<std::vector<TokenGuess>>> guesses(
        const MicroBatch& batch, std::size_t count, const IsInterrupted& is_interrupted = {});

    /// The factor of the loss in the next backward pass (loss_scale.hpp); 1 except in fp16.
    float loss_scale() const;

  private:
    struct Model;
    std::unique_ptr<Model> model_;
};

}  // namespace dedloc::training::albert
