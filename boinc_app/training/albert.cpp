#include "boinc_app/training/albert.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "peer/base/check.hpp"
#include "peer/base/error.hpp"
#include "peer/formats/albert_layout.hpp"

namespace dedloc::training {
namespace {

constexpr double kLayerNormEpsilon = 1e-12;
constexpr double kMaskedByPadding = -10'000;

/// Weight and bias of one affine map or one layer norm.
struct Pair {
    at::Tensor weight;
    at::Tensor bias;
};

at::Tensor linear(const at::Tensor& x, const Pair& map) {
    return at::linear(x, map.weight, map.bias);
}

at::Tensor layer_norm(const at::Tensor& x, const Pair& gain) {
    return at::layer_norm(x, {x.size(-1)}, gain.weight, gain.bias, kLayerNormEpsilon);
}

at::Tensor activation(const at::Tensor& x) {
    return at::gelu(x, "tanh");
}

/// A tensor that reads the caller's memory, which must stay alive and unchanged as long as the
/// tensor.
template <class T>
at::Tensor borrowed(const std::vector<T>& values, at::IntArrayRef shape) {
    constexpr auto kType = std::is_same_v<T, float> ? at::kFloat : at::kLong;
    return at::from_blob(const_cast<T*>(values.data()), shape, at::dtype(kType));
}

std::string shape_text(const std::vector<std::uint64_t>& shape) {
    return fmt::format("[{}]", fmt::join(shape, ","));
}

void refuse_other_layouts(const formats::RunFile& run) {
    if (run.model.architecture != "albert") {
        throw InputError{fmt::format("this app trains 'albert', not '{}'", run.model.architecture)};
    }
    const auto wanted = formats::albert_tensors(run.model);
    if (run.tensors.size() != wanted.size()) {
        throw InputError{fmt::format("the run file lists {} tensors, but the model has {}",
                                     run.tensors.size(), wanted.size())};
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const formats::TensorSpec& given = run.tensors[i];
        if (given.name == wanted[i].name && given.shape == wanted[i].shape) continue;
        throw InputError{fmt::format(
            "tensor {} of the run file is '{}' {}, but the model has '{}' {} there", i, given.name,
            shape_text(given.shape), wanted[i].name, shape_text(wanted[i].shape))};
    }
}

}  // namespace

struct Albert::Model {
    explicit Model(const formats::RunFile& run) : spec(run.model) {
        for (const formats::TensorSpec& tensor : run.tensors) {
            const std::vector<std::int64_t> shape(tensor.shape.begin(), tensor.shape.end());
            parameters.push_back(at::zeros(shape, at::kFloat).set_requires_grad(true));
            parameters.back().mutable_grad() = at::zeros(shape, at::kFloat);
            element_count += tensor.count();
        }
        name_parameters();
    }

    /// Assigns the tensors to their roles, in the order of albert_tensors().
    void name_parameters() {
        std::size_t at = 0;
        const auto next = [&] { return parameters[at++]; };
        const auto pair = [&] {
            const at::Tensor weight = next();
            return Pair{weight, next()};
        };
        word_embeddings = next();
        position_embeddings = next();
        type_embeddings = next();
        embedding_norm = pair();
        embedding_to_hidden = pair();
        layer_norm_out = pair();
        query = pair();
        key = pair();
        value = pair();
        attention_out = pair();
        attention_norm = pair();
        ffn_in = pair();
        ffn_out = pair();
        pooler = pair();
        prediction_bias = next();
        prediction_norm = pair();
        prediction_dense = pair();
        order_classifier = pair();
        DEDLOC_CHECK(at == parameters.size(), "every tensor of the layout must have a role", at);
    }

    at::Tensor embed(const MicroBatch& batch) const {
        const auto rows = static_cast<std::int64_t>(batch.samples);
        const auto length = static_cast<std::int64_t>(batch.length);
        const at::Tensor tokens = borrowed(batch.tokens, {rows, length});
        const at::Tensor types = borrowed(batch.types, {rows, length});
        const at::Tensor sum = at::embedding(word_embeddings, tokens) +
                               at::embedding(type_embeddings, types) +
                               position_embeddings.slice(0, 0, length);
        return linear(layer_norm(sum, embedding_norm), embedding_to_hidden);
    }

    /// Additive mask [rows, 1, 1, length]: 0 for tokens, −10,000 for padding.
    static at::Tensor attention_mask(const MicroBatch& batch) {
        const auto rows = static_cast<std::int64_t>(batch.samples);
        const at::Tensor lengths = borrowed(batch.row_lengths, {rows, 1});
        const at::Tensor places = at::arange(static_cast<std::int64_t>(batch.length), at::kLong);
        return places.ge(lengths).to(at::kFloat).mul(kMaskedByPadding).unsqueeze(1).unsqueeze(1);
    }

    at::Tensor attention(const at::Tensor& x, const at::Tensor& mask) const {
        const auto heads = static_cast<std::int64_t>(spec.heads);
        const std::int64_t rows = x.size(0), length = x.size(1), hidden = x.size(2);
        const auto split = [&](const Pair& map) {
            return linear(x, map).view({rows, length, heads, hidden / heads}).transpose(1, 2);
        };
        const at::Tensor q = split(query), k = split(key), v = split(value);
        const double scale = 1.0 / std::sqrt(static_cast<double>(hidden / heads));
        const at::Tensor scores = at::matmul(q, k.transpose(2, 3)) * scale + mask;
        const at::Tensor context = at::matmul(at::softmax(scores, -1), v);
        return linear(context.transpose(1, 2).reshape({rows, length, hidden}), attention_out);
    }

    at::Tensor encode(const MicroBatch& batch) const {
        at::Tensor x = embed(batch);
        const at::Tensor mask = attention_mask(batch);
        for (std::uint64_t layer = 0; layer < spec.layers; ++layer) {
            const at::Tensor a = layer_norm(x + attention(x, mask), attention_norm);
            x = layer_norm(linear(activation(linear(a, ffn_in)), ffn_out) + a, layer_norm_out);
        }
        return x;
    }

    /// Σ over samples of the mean loss of its masked tokens; the weights hold the 1 ÷ count.
    at::Tensor masked_token_loss(const at::Tensor& x, const MicroBatch& batch) const {
        const auto count = static_cast<std::int64_t>(batch.masked_at.size());
        const at::Tensor positions = borrowed(batch.masked_at, {count});
        const at::Tensor labels = borrowed(batch.masked_tokens, {count, 1});
        const at::Tensor weights = borrowed(batch.masked_weights, {count, 1});
        const at::Tensor there = x.reshape({-1, x.size(2)}).index_select(0, positions);
        const at::Tensor y =
            layer_norm(activation(linear(there, prediction_dense)), prediction_norm);
        const at::Tensor logits = at::linear(y, word_embeddings, prediction_bias);
        return -(at::log_softmax(logits, -1).gather(1, labels) * weights).sum();
    }

    at::Tensor order_loss(const at::Tensor& x, const MicroBatch& batch) const {
        const at::Tensor labels =
            borrowed(batch.is_swapped, {static_cast<std::int64_t>(batch.samples), 1});
        const at::Tensor pooled = at::tanh(linear(x.select(1, 0), pooler));
        return -at::log_softmax(linear(pooled, order_classifier), -1).gather(1, labels).sum();
    }

    at::Tensor loss(const MicroBatch& batch) const {
        const at::Tensor x = encode(batch);
        return masked_token_loss(x, batch) + order_loss(x, batch);
    }

    const formats::ModelSpec spec;
    std::vector<at::Tensor> parameters;
    std::size_t element_count = 0;
    at::Tensor word_embeddings, position_embeddings, type_embeddings, prediction_bias;
    Pair embedding_norm, embedding_to_hidden;
    Pair query, key, value, attention_out, attention_norm, ffn_in, ffn_out, layer_norm_out;
    Pair pooler, prediction_norm, prediction_dense, order_classifier;
};

Albert::Albert(const formats::RunFile& run) {
    refuse_other_layouts(run);
    model_ = std::make_unique<Model>(run);
}

Albert::~Albert() = default;

std::size_t Albert::element_count() const {
    return model_->element_count;
}

void Albert::set_parameters(std::span<const float> parameters) {
    DEDLOC_CHECK(parameters.size() == model_->element_count, "wrong number of parameters",
                 parameters.size());
    for (at::Tensor& tensor : model_->parameters) {
        const auto count = static_cast<std::size_t>(tensor.numel());
        std::memcpy(tensor.mutable_data_ptr(), parameters.data(), count * sizeof(float));
        parameters = parameters.subspan(count);
    }
}

double Albert::gradient(const MicroBatch& batch, std::span<float> gradient) {
    DEDLOC_CHECK(gradient.size() == model_->element_count, "wrong number of gradient elements",
                 gradient.size());
    // backward() adds to existing gradients, so their memory and its alignment do not change.
    for (at::Tensor& tensor : model_->parameters) tensor.mutable_grad().zero_();
    const at::Tensor loss = model_->loss(batch);
    loss.backward();
    for (const at::Tensor& tensor : model_->parameters) {
        const at::Tensor& computed = tensor.grad();
        DEDLOC_CHECK(computed.is_contiguous(), "a gradient must be contiguous like its tensor");
        const auto count = static_cast<std::size_t>(tensor.numel());
        std::memcpy(gradient.data(), computed.const_data_ptr(), count * sizeof(float));
        gradient = gradient.subspan(count);
    }
    return loss.item<double>();
}

double Albert::loss(const MicroBatch& batch) {
    const c10::NoGradGuard no_gradients;
    return model_->loss(batch).item<double>();
}

void set_compute_threads(unsigned count) {
    DEDLOC_CHECK(count >= 1, "at least one compute thread is needed");
    at::set_num_threads(static_cast<int>(count));
}

}  // namespace dedloc::training
