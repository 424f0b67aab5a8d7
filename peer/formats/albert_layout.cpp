// Lists the tensors in the order of Hugging Face's AlbertForPreTraining. Changing the order, a name
// or a start value changes the initial state and so the id of every new run.
#include "peer/formats/albert_layout.hpp"

#include <string>
#include <utility>

namespace dedloc::formats {
namespace {

/// Standard deviation of normal start values.
constexpr double kDeviation = 0.02;

bool decays(const std::string& name) {
    return name.find("bias") == std::string::npos &&
           name.find("LayerNorm.weight") == std::string::npos;
}

class Layout {
  public:
    void weight(const std::string& name, std::vector<std::uint64_t> shape) {
        add(name, std::move(shape), Initial::kNormal, kDeviation);
    }
    void bias(const std::string& name, std::uint64_t count) {
        add(name, {count}, Initial::kZero, 0);
    }
    void linear(const std::string& name, std::uint64_t outputs, std::uint64_t inputs) {
        weight(name + ".weight", {outputs, inputs});
        bias(name + ".bias", outputs);
    }
    void layer_norm(const std::string& name, std::uint64_t count) {
        add(name + ".weight", {count}, Initial::kOne, 0);
        bias(name + ".bias", count);
    }
    std::vector<TensorSpec> finish() && { return std::move(tensors_); }

  private:
    void add(const std::string& name, std::vector<std::uint64_t> shape, Initial initial,
             double deviation) {
        tensors_.push_back({.name = name,
                            .shape = std::move(shape),
                            .initial = initial,
                            .deviation = deviation,
                            .decays = decays(name)});
    }

    std::vector<TensorSpec> tensors_;
};

/// FLOPs of a sample of so many tokens, with the MLM head on a share of them.
double flops_with_head(const AlbertSpec& model, std::uint64_t tokens, double head_share) {
    const auto length = static_cast<double>(tokens);
    const auto hidden = static_cast<double>(model.hidden);
    const auto embedding = static_cast<double>(model.embedding);
    const auto vocabulary = static_cast<double>(model.vocabulary);
    const double layer_weights = 4 * hidden * hidden + 2 * hidden * static_cast<double>(model.ffn);
    const double layer = 2 * length * layer_weights + 4 * length * length * hidden;
    const double ends = 2 * length * embedding * (hidden + head_share * (hidden + vocabulary));
    const double pooled = 2 * hidden * (hidden + 2);
    return 3 * (static_cast<double>(model.layers) * layer + ends + pooled);
}

}  // namespace

std::vector<TensorSpec> albert_tensors(const AlbertSpec& model) {
    constexpr std::uint64_t kTokenTypes = 2;
    constexpr std::uint64_t kOrders = 2;
    const std::string embeddings = "albert.embeddings.";
    const std::string layer = "albert.encoder.albert_layer_groups.0.albert_layers.0.";
    Layout out;
    out.weight(embeddings + "word_embeddings.weight", {model.vocabulary, model.embedding});
    out.weight(embeddings + "position_embeddings.weight", {model.positions, model.embedding});
    out.weight(embeddings + "token_type_embeddings.weight", {kTokenTypes, model.embedding});
    out.layer_norm(embeddings + "LayerNorm", model.embedding);
    out.linear("albert.encoder.embedding_hidden_mapping_in", model.hidden, model.embedding);
    out.layer_norm(layer + "full_layer_layer_norm", model.hidden);
    for (const char* name : {"query", "key", "value", "dense"}) {
        out.linear(layer + "attention." + name, model.hidden, model.hidden);
    }
    out.layer_norm(layer + "attention.LayerNorm", model.hidden);
    out.linear(layer + "ffn", model.ffn, model.hidden);
    out.linear(layer + "ffn_output", model.hidden, model.ffn);
    out.linear("albert.pooler", model.hidden, model.hidden);
    out.bias("predictions.bias", model.vocabulary);
    out.layer_norm("predictions.LayerNorm", model.embedding);
    out.linear("predictions.dense", model.embedding, model.hidden);
    out.linear("sop_classifier.classifier", kOrders, model.hidden);
    return std::move(out).finish();
}

double albert_flops_per_sample(const AlbertSpec& model, std::uint64_t sequence_length) {
    return flops_with_head(model, sequence_length, 1);
}

double albert_min_flops(const AlbertSpec& model, std::uint64_t tokens) {
    return flops_with_head(model, tokens, kMaskedShare);
}

}  // namespace dedloc::formats
