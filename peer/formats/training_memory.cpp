// The estimates count what autograd saves for the backward pass.
#include "peer/formats/training_memory.hpp"

#include <variant>

#include "peer/formats/checkpoint_head.hpp"
#include "peer/formats/optimizer.hpp"
#include "peer/formats/swav_layout.hpp"
#include "peer/formats/task.hpp"

namespace dedloc::formats {
namespace {

/// What the program and libtorch hold besides the vectors and activations.
constexpr std::uint64_t kProgramBytes = 500'000'000;
/// What the program of an aggregator holds besides vectors.
constexpr std::uint64_t kAggregatorProgramBytes = 50'000'000;
/// The vectors that an aggregator holds: the average, and parts of contributions that together are
/// as much as four whole ones, or eight in 16 bits.
constexpr std::uint64_t kAggregatorVectors = 5;
/// What a CUDA context, libtorch's kernels and its caching allocator hold.
constexpr std::uint64_t kContextBytes = 1'000'000'000;

std::uint64_t vector_bytes(const RunFile& run) {
    return element_count(run) * sizeof(float);
}

/// Number of a layer's weights that are multiplied with matrices.
std::uint64_t layer_weights(const AlbertSpec& model) {
    return 4 * model.hidden * model.hidden + 2 * model.hidden * model.ffn;
}

/// Bytes that a layer saves for the backward pass, for each token.
struct LayerBytes {
    std::uint64_t attention = 0;  ///< up to the weighted mean of the values
    std::uint64_t rest = 0;
};

LayerBytes layer_bytes(const RunFile& run, const ProductFormat& format) {
    const AlbertSpec& model = albert_of(run);
    const bool drops = model.attention_dropout > 0;
    // Attention has so many weights for a token.
    const std::uint64_t weights = model.heads * run.sequence_length;
    if (!format.is_reduced) {
        // Eight vectors of the layer's width (inputs of matrix products and layer norms), of which
        // attention has four; input and output of the activation, attention after the softmax.
        // Dropout adds what it multiplied and a mask of bytes.
        const std::uint64_t attention = drops ? 9 : format.fuses_attention ? 0 : 4;
        return {.attention = sizeof(float) * 4 * model.hidden + attention * weights,
                .rest = sizeof(float) * (4 * model.hidden + 2 * model.ffn)};
    }
    // Eight vectors of 16 bits and two of 32: products, their inputs, and both outputs of the layer
    // norms. On an H100 ALBERT-large took 537 MB a sample with a whole last layer, by estimate 529.
    // Attention that is not fused saves its weights in 16 bits.
    if (format.fuses_layers && !drops) {
        return {.attention = 8 * model.hidden + (format.fuses_attention ? 0 : 2 * weights),
                .rest = 16 * model.hidden + 4 * model.ffn};
    }
    // Nine vectors of 16 bits and four of 32 (inputs and outputs of the layer norms); input and
    // output of the activation have 16 bits, as has softmax; with dropout softmax and dropout have
    // 32, and the product 16.
    const std::uint64_t attention = drops ? 14 : format.fuses_attention ? 0 : 2;
    return {.attention = 8 * model.hidden + attention * weights,
            .rest = 26 * model.hidden + 4 * model.ffn};
}

}  // namespace

std::uint64_t activation_bytes(const RunFile& run, const ProductFormat& format) {
    if (const auto* const swav = std::get_if<SwavSpec>(&run.model)) {
        return swav_activation_bytes(*swav, format.is_reduced);
    }
    if (const auto* const module = std::get_if<ModuleSpec>(&run.model)) return module->sample_bytes;
    const AlbertSpec& model = albert_of(run);
    // The head is computed for masked tokens only, about one in six: logits, and their gradient; in
    // reduced precision also the product itself.
    constexpr std::uint64_t kReadShare = 6;
    const std::uint64_t logit = format.is_reduced ? 10 : 8;
    const std::uint64_t head = logit * model.vocabulary / kReadShare;
    // So is the last layer after its attention, unless dropout needs whole rows.
    const LayerBytes layer = layer_bytes(run, format);
    const std::uint64_t last = model.hidden_dropout > 0 ? layer.rest : layer.rest / kReadShare;
    const std::uint64_t saved =
        run.sequence_length *
        (model.layers * layer.attention + (model.layers - 1) * layer.rest + last + head);
    if (format.is_reduced) return saved;
    // Embeddings: their sum, layer norm and its output. malloc keeps a quarter more, since tensors
    // of many sizes leave gaps.
    const std::uint64_t embeddings = 4 * sizeof(float) * model.embedding * run.sequence_length;
    return (saved + embeddings) * 5 / 4;
}

std::uint64_t micro_batch_bytes(const RunFile& run, const ProductFormat& format) {
    if (!format.is_reduced) {
        const auto* const model = std::get_if<AlbertSpec>(&run.model);
        if (model == nullptr || !format.fuses_attention) return vector_bytes(run);
        // Weights of the layer packed in two ways, and the sum of their gradients.
        return vector_bytes(run) + 3 * sizeof(float) * layer_weights(*model);
    }
    if (const auto* const swav = std::get_if<SwavSpec>(&run.model)) {
        return vector_bytes(run) + swav_cast_bytes(*swav);
    }
    // Each weight is cast once, for one product.
    if (!std::holds_alternative<AlbertSpec>(run.model)) {
        return vector_bytes(run) + vector_bytes(run) / 2;
    }
    const AlbertSpec& model = albert_of(run);
    // Weights are cast once for all layers, or for each of them.
    return vector_bytes(run) + 2 * (format.fuses_layers ? 1 : model.layers) * layer_weights(model);
}

std::uint64_t trainer_machine_bytes(const RunFile& run, std::uint32_t kept_averages) {
    const ProductFormat fp32{.fuses_attention = true};  // as processors compute ALBERT
    const std::uint64_t residuals = run.codec == Codec::kFp32 ? 0 : 1;
    // State and a copy of it, sum, average.
    const std::uint64_t vectors =
        2 * state_vectors(run.optimizer.name) + 2 + residuals + kept_averages;
    return kProgramBytes + vectors * vector_bytes(run) + micro_batch_bytes(run, fp32) +
           samples_together(run) * activation_bytes(run, fp32);
}

std::uint64_t trainer_gpu_bytes(const RunFile& run) {
    const ProductFormat reduced{.is_reduced = true};
    return kContextBytes + (state_vectors(run.optimizer.name) + 2) * vector_bytes(run) +
           micro_batch_bytes(run, reduced) + samples_together(run) * activation_bytes(run, reduced);
}

std::uint64_t state_bytes(const RunFile& run) {
    return state_vectors(run.optimizer.name) * vector_bytes(run);
}

std::uint64_t checkpoint_bytes(const RunFile& run) {
    return kCheckpointHeadBytes + state_bytes(run);
}

std::uint64_t trainer_disk_bytes(const RunFile& run) {
    return 3 * state_bytes(run);
}

std::uint64_t aggregator_bytes(const RunFile& run) {
    return kAggregatorProgramBytes + kAggregatorVectors * vector_bytes(run);
}

}  // namespace dedloc::formats
