// ALBERT's encoder on libtorch, below the heads of all tasks: embeddings, then one layer's weights
// used L times.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "boinc_app/albert/batch.hpp"
#include "boinc_app/albert/dropout.hpp"
#include "boinc_app/albert/pass.hpp"
#include "boinc_app/training/computation.hpp"
#include "boinc_app/training/torch_pass.hpp"
#include "peer/formats/run_file.hpp"

namespace dedloc::training::albert {

/// The number of each dropout in the model (dropout.hpp): embeddings, then two for each layer, then
/// the classifier.
struct Sites {
    /// After the embeddings.
    static constexpr std::uint32_t kEmbeddings = 0;
    /// On the probabilities of a layer's attention.
    static std::uint32_t attention(std::uint64_t layer) {
        return static_cast<std::uint32_t>(1 + 2 * layer);
    }
    /// After the attention of a layer, before the residual sum.
    static std::uint32_t attention_output(std::uint64_t layer) {
        return static_cast<std::uint32_t>(2 + 2 * layer);
    }
    /// Before the classifier of a model with this number of layers.
    static std::uint32_t classifier(std::uint64_t layers) {
        return static_cast<std::uint32_t>(1 + 2 * layers);
    }
};

/// Weight and bias of one affine map or one layer norm.
struct Pair {
    at::Tensor weight;  ///< [out, in], or [width] of a norm
    at::Tensor bias;    ///< [out] or [width]
};
/// x · weightᵀ + bias.
at::Tensor linear(const at::Tensor& x, const Pair& map);
/// Layer norm over the last dimension, in fp32.
at::Tensor layer_norm(const at::Tensor& x, const Pair& gain);
/// GELU by its tanh approximation.
at::Tensor activation(const at::Tensor& x);

/// The parameters of a run's model by their roles, and the encoder on them.
struct Encoder {
    /// `values`, the run's N parameters, must outlive it; every pass reads their values of that
    /// moment. Requires the tensors of the model and a multiple of 64 bytes (aborts).
    Encoder(const formats::RunFile& run, std::span<const float> values, const Computation& how);

    /// Dropout of x [rows, …, width], whose index of an element does not depend on the padding.
    static at::Tensor dropped_hidden(const at::Tensor& x, const Pass& pass, DropoutRate rate,
                                     std::uint32_t site);
    /// The last layer's output [rows, length, hidden]; or if positions (row × length + column) are
    /// given, only theirs, [positions, hidden], which takes a part of the last layer's time.
    at::Tensor encode(const Pass& pass, const at::Tensor& positions = {}) const;

    const formats::AlbertSpec spec;        ///< sizes and rates
    const Computation computation;         ///< how it computes
    const at::Device device;               ///< where it computes
    const std::int64_t sequence_length;    ///< longest row, for indices of dropout
    const DropoutRate hidden_dropout;      ///< for embeddings and attention's outputs
    const DropoutRate attention_dropout;   ///< for attention's weights
    const DropoutRate classifier_dropout;  ///< for a classifier's input
    const TensorViews views;               ///< the layout of the parameters
    std::vector<at::Tensor> parameters;    ///< views of the caller's vector
    at::Tensor word_embeddings;            ///< [vocabulary, embedding]
    at::Tensor position_embeddings;        ///< [positions, embedding]
    at::Tensor type_embeddings;            ///< [2, embedding]
    at::Tensor prediction_bias;            ///< [vocabulary]
    // The embeddings' norm and map; the layer's maps and norms, in the order of their use; the
    // heads'.
    Pair embedding_norm, embedding_to_hidden;
    Pair query, key, value, attention_out, attention_norm, ffn_in, ffn_out, layer_norm_out;
    Pair pooler, prediction_norm, prediction_dense, order_classifier;

  private:
    void name_parameters();
    at::Tensor embed(const Pass& pass) const;
    at::Tensor attention_mask(const MicroBatch& batch) const;
    at::Tensor dropped_weights(const at::Tensor& weights, const Pass& pass,
                               std::uint64_t layer) const;
    at::Tensor context(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                       const at::Tensor& mask, const Pass& pass, std::uint64_t layer) const;
    bool attends_by_heads(const at::Tensor& product, const Pass& pass) const;
    at::Tensor attended(const std::array<at::Tensor, 3>& products, const at::Tensor& mask,
                        const Pass& pass, std::uint64_t layer) const;
    bool drops_hidden(const Pass& pass) const;
    bool uses_layers(const Pass& pass) const;
    bool packs() const;
    at::Tensor encode_by_layers(const Pass& pass, const at::Tensor& positions) const;
};

}  // namespace dedloc::training::albert
