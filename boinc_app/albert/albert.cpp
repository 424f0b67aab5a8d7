// Parameters are libtorch tensors that share the caller's vector. A pass is encoder, two heads and
// their summed loss; autograd returns the gradients in tensors of their own, and add_gradient()
// adds them to the sum last, so an interrupted or failed pass leaves the sum untouched. The encoder
// has two forms: operations of libtorch, or the device's fused kernels, which need a short format
// and no dropout of hidden values. fp16 scales the loss; if gradients overflow, the pass is
// repeated with a smaller scale.
#include "boinc_app/albert/albert.hpp"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/_foreach_add.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tanh.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "boinc_app/albert/fused_pass.hpp"
#include "boinc_app/albert/pass.hpp"
#include "boinc_app/training/task.hpp"
#include "boinc_app/training/torch_pass.hpp"
#include "peer/base/check.hpp"
#include "peer/base/error.hpp"
#include "peer/formats/albert_layout.hpp"

namespace dedloc::training::albert {
namespace {

constexpr double kLayerNormEpsilon = 1e-12;
constexpr double kMaskedByPadding = -10'000;

/// The number of each dropout in the model (dropout.hpp): embeddings, then two for each layer, then
/// the classifier.
struct Sites {
    static constexpr std::uint32_t kEmbeddings = 0;
    static std::uint32_t attention(std::uint64_t layer) {
        return static_cast<std::uint32_t>(1 + 2 * layer);
    }
    static std::uint32_t attention_output(std::uint64_t layer) {
        return static_cast<std::uint32_t>(2 + 2 * layer);
    }
    static std::uint32_t classifier(std::uint64_t layers) {
        return static_cast<std::uint32_t>(1 + 2 * layers);
    }
};

/// Weight and bias of one affine map or one layer norm.
struct Pair {
    at::Tensor weight;
    at::Tensor bias;
};

at::Tensor linear(const at::Tensor& x, const Pair& map) {
    return at::linear(x, map.weight, map.bias);
}

at::Tensor layer_norm(const at::Tensor& x, const Pair& gain) {
    return at::layer_norm(x.to(at::kFloat), {x.size(-1)}, gain.weight, gain.bias,
                          kLayerNormEpsilon);
}

at::Tensor activation(const at::Tensor& x) {
    return at::gelu(x, "tanh");
}

/// What rows of logits, on any device, say about their labels.
class Predictions {
  public:
    /// Requires one row for each label; the labels must outlive it.
    Predictions(const at::Tensor& logits, const std::vector<std::int64_t>& labels)
        : labels_(labels) {
        const at::Tensor wanted = at::from_blob(const_cast<std::int64_t*>(labels.data()),
                                                {logits.size(0), 1}, at::dtype(at::kLong))
                                      .to(logits.device());
        const at::Tensor logs = at::log_softmax(logits.to(at::kFloat), -1);
        logs_ = logs.gather(1, wanted).cpu().contiguous();
        best_ = logits.argmax(-1).cpu().contiguous();
    }

    /// The cross entropy of a row, in nats.
    double loss(std::size_t row) const { return -double{logs_.const_data_ptr<float>()[row]}; }
    /// The label has the highest logit of its row.
    bool is_hit(std::size_t row) const {
        return best_.const_data_ptr<std::int64_t>()[row] == labels_[row];
    }

  private:
    const std::vector<std::int64_t>& labels_;
    at::Tensor logs_;
    at::Tensor best_;
};

}  // namespace

struct Albert::Model {
    Model(const formats::RunFile& run, std::span<const float> values, const Computation& how)
        : spec(formats::albert_of(run)),
          computation(how),
          device(device_of(how)),
          sequence_length(static_cast<std::int64_t>(run.sequence_length)),
          hidden_dropout(spec.hidden_dropout),
          attention_dropout(spec.attention_dropout),
          classifier_dropout(spec.classifier_dropout),
          views(run.tensors, device) {
        if (!device.is_cpu()) at::globalContext().lazyInitDevice(device.type());
        parameters = views.parameters(values);
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

    /// Dropout of x [rows, …, width], whose index of an element does not depend on the padding.
    static at::Tensor dropped_hidden(const at::Tensor& x, const Pass& pass, DropoutRate rate,
                                     std::uint32_t site) {
        const std::int64_t width = x.size(-1);
        return dropped(x, pass, rate, site, [width](std::int64_t line) { return line * width; });
    }

    at::Tensor embed(const Pass& pass) const {
        const MicroBatch& batch = pass.batch;
        const auto rows = static_cast<std::int64_t>(batch.samples);
        const auto length = static_cast<std::int64_t>(batch.length);
        const at::Tensor tokens = input(batch.tokens, {rows, length}, device);
        const at::Tensor types = input(batch.types, {rows, length}, device);
        const at::Tensor sum = at::embedding(word_embeddings, tokens) +
                               at::embedding(type_embeddings, types) +
                               position_embeddings.slice(0, 0, length);
        return linear(dropped_hidden(layer_norm(sum, embedding_norm), pass, hidden_dropout,
                                     Sites::kEmbeddings),
                      embedding_to_hidden);
    }

    /// Additive mask [rows, 1, 1, length]: 0 for tokens, −10,000 for padding.
    at::Tensor attention_mask(const MicroBatch& batch) const {
        const auto rows = static_cast<std::int64_t>(batch.samples);
        const at::Tensor lengths = input(batch.row_lengths, {rows, 1}, device);
        const at::Tensor places = at::arange(static_cast<std::int64_t>(batch.length),
                                             at::device(device).dtype(at::kLong));
        return places.ge(lengths).to(at::kFloat).mul(kMaskedByPadding).unsqueeze(1).unsqueeze(1);
    }

    static bool has_padding(const MicroBatch& batch) {
        const auto length = static_cast<std::int64_t>(batch.length);
        return std::ranges::any_of(batch.row_lengths, [&](auto row) { return row < length; });
    }

    /// Attention's weights [rows, heads, length, length] with dropout. An element has the index
    /// that it has in [heads, sequence_length, sequence_length].
    at::Tensor dropped_weights(const at::Tensor& weights, const Pass& pass,
                               std::uint64_t layer) const {
        const std::int64_t length = weights.size(3);
        return dropped(weights, pass, attention_dropout, Sites::attention(layer),
                       [this, length](std::int64_t line) {
                           const std::int64_t head = line / length;
                           return (head * sequence_length + line % length) * sequence_length;
                       });
    }

    /// The weighted mean of the values [rows, heads, length, width].
    at::Tensor context(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                       const at::Tensor& mask, const Pass& pass, std::uint64_t layer) const {
        const double scale = 1.0 / std::sqrt(static_cast<double>(q.size(3)));
        const bool drops = pass.drops && !attention_dropout.is_zero();
        if (computation.fuses_attention && !drops) {
            // Torch has faster implementations of attention for calls without a mask.
            std::optional<at::Tensor> fused_mask;
            if (has_padding(pass.batch)) fused_mask = mask.to(q.scalar_type());
            return at::scaled_dot_product_attention(q, k, v, fused_mask, 0.0, false, scale);
        }
        const at::Tensor scores = at::matmul(q, k.transpose(2, 3)) * scale + mask;
        return at::matmul(dropped_weights(at::softmax(scores, -1), pass, layer), v);
    }

    /// The mean of the values by heads, of queries, keys and values [rows, length, hidden].
    at::Tensor attended(const std::array<at::Tensor, 3>& products, const at::Tensor& mask,
                        const Pass& pass, std::uint64_t layer) const {
        const auto heads = static_cast<std::int64_t>(spec.heads);
        const auto split = [&](const at::Tensor& product) {
            return pass.points.add(product)
                .view({product.size(0), product.size(1), heads, product.size(2) / heads})
                .transpose(1, 2);
        };
        const at::Tensor q = split(products[0]), k = split(products[1]), v = split(products[2]);
        const at::Tensor mixed = pass.points.add(context(q, k, v, mask, pass, layer));
        return mixed.transpose(1, 2).reshape(products[0].sizes());
    }

    at::Tensor attention(const at::Tensor& x, const at::Tensor& mask, const Pass& pass,
                         std::uint64_t layer) const {
        // Cast once for three products.
        const at::Tensor narrow = x.to(type_of(computation.precision));
        const at::Tensor mixed = attended(
            {linear(narrow, query), linear(narrow, key), linear(narrow, value)}, mask, pass, layer);
        return dropped_hidden(linear(mixed, attention_out), pass, hidden_dropout,
                              Sites::attention_output(layer));
    }

    /// Whether a pass uses the device's kernels for layers: they have no dropout.
    bool uses_layers(const Pass& pass) const {
        return computation.layers != nullptr && computation.precision != Precision::kFp32 &&
               computation.layers->has_kernels(spec.hidden, spec.ffn) &&
               !(pass.drops && !hidden_dropout.is_zero());
    }

    at::Tensor encode_by_layers(const Pass& pass) const {
        FusedLayers& layers = *computation.layers;
        const InterruptionPoints& points = pass.points;
        const at::ScalarType type = type_of(computation.precision);
        const std::array inputs{ShortWeight{query.weight, type}, ShortWeight{key.weight, type},
                                ShortWeight{value.weight, type}};
        const std::array biases{query.bias, key.bias, value.bias};
        const ShortWeight out{attention_out.weight, type};
        const ShortWeight wide{ffn_in.weight, type}, narrow{ffn_out.weight, type};
        at::Tensor x = points.add(embed(pass));
        at::Tensor short_x = x.to(type);
        x = x.to(at::kFloat);
        const at::Tensor mask = attention_mask(pass.batch);
        for (std::uint64_t layer = 0; layer < spec.layers; ++layer) {
            const at::Tensor mixed =
                attended(three_products(layers, short_x, inputs, biases), mask, pass, layer);
            const auto [a, short_a] =
                add_norm(layers, points.add(short_product(mixed, out)), x,
                         {attention_out.bias, attention_norm.weight, attention_norm.bias},
                         kLayerNormEpsilon);
            const at::Tensor y =
                points.add(bias_gelu(layers, short_product(short_a, wide), ffn_in.bias));
            std::tie(x, short_x) = add_norm(
                layers, points.add(short_product(y, narrow)), a,
                {ffn_out.bias, layer_norm_out.weight, layer_norm_out.bias}, kLayerNormEpsilon);
        }
        return points.add(x);
    }

    at::Tensor encode(const Pass& pass) const {
        if (uses_layers(pass)) return encode_by_layers(pass);
        const InterruptionPoints& points = pass.points;
        at::Tensor x = points.add(embed(pass));
        const at::Tensor mask = attention_mask(pass.batch);
        for (std::uint64_t layer = 0; layer < spec.layers; ++layer) {
            const at::Tensor a =
                points.add(layer_norm(x + attention(x, mask, pass, layer), attention_norm));
            const at::Tensor wide = points.add(activation(linear(a, ffn_in)));
            x = points.add(layer_norm(linear(wide, ffn_out) + a, layer_norm_out));
        }
        return x;
    }

    /// [masked tokens, vocabulary]
    at::Tensor masked_token_logits(const at::Tensor& x, const MicroBatch& batch) const {
        const auto count = static_cast<std::int64_t>(batch.masked_at.size());
        const at::Tensor positions = input(batch.masked_at, {count}, device);
        const at::Tensor there = x.reshape({-1, x.size(2)}).index_select(0, positions);
        const at::Tensor y =
            layer_norm(activation(linear(there, prediction_dense)), prediction_norm);
        return at::linear(y, word_embeddings, prediction_bias);
    }

    /// Σ over samples of the mean loss of its masked tokens; the weights hold the 1 ÷ count.
    at::Tensor masked_token_loss(const at::Tensor& x, const MicroBatch& batch) const {
        const auto count = static_cast<std::int64_t>(batch.masked_at.size());
        const at::Tensor labels = input(batch.masked_tokens, {count, 1}, device);
        const at::Tensor weights = input(batch.masked_weights, {count, 1}, device);
        const at::Tensor logits = masked_token_logits(x, batch);
        return -(at::log_softmax(logits, -1, at::kFloat).gather(1, labels) * weights).sum();
    }

    /// [rows, 2]
    at::Tensor order_logits(const at::Tensor& x, const Pass& pass) const {
        const at::Tensor pooled =
            dropped_hidden(at::tanh(linear(x.select(1, 0), pooler)), pass, classifier_dropout,
                           Sites::classifier(spec.layers));
        return linear(pooled, order_classifier);
    }

    at::Tensor order_loss(const at::Tensor& x, const Pass& pass) const {
        const at::Tensor labels = input(pass.batch.is_swapped,
                                        {static_cast<std::int64_t>(pass.batch.samples), 1}, device);
        return -at::log_softmax(order_logits(x, pass), -1, at::kFloat).gather(1, labels).sum();
    }

    at::Tensor loss(const Pass& pass) const {
        const Autocast autocast{device.type(), computation.precision};
        const at::Tensor x = encode(pass);
        return masked_token_loss(x, pass.batch) + order_loss(x, pass);
    }

    std::vector<SampleFigures> figures(const Pass& pass) const {
        const MicroBatch& batch = pass.batch;
        const Autocast autocast{device.type(), computation.precision};
        const at::Tensor x = encode(pass);
        const Predictions tokens{masked_token_logits(x, batch), batch.masked_tokens};
        const Predictions orders{order_logits(x, pass), batch.is_swapped};
        std::vector<SampleFigures> figures(batch.samples);
        for (std::size_t i = 0; i < batch.masked_at.size(); ++i) {
            auto& sample = figures[static_cast<std::size_t>(batch.masked_at[i]) / batch.length];
            sample.masked_loss += static_cast<double>(batch.masked_weights[i]) * tokens.loss(i);
            sample.masked_hits += tokens.is_hit(i) ? 1 : 0;
            ++sample.masked;
        }
        for (std::size_t row = 0; row < batch.samples; ++row) {
            figures[row].order_loss = orders.loss(row);
            figures[row].is_order_hit = orders.is_hit(row);
        }
        return figures;
    }

    /// Computes the gradients of the samples of a pass, and returns the sum of their losses.
    /// Returns nothing if they must be computed again with the new loss scale.
    std::optional<double> compute(const Pass& pass, std::vector<at::Tensor>& gradients) {
        const at::Tensor sum = loss(pass);
        auto computed = gradients_of(sum, parameters, computation.precision, loss_scale);
        if (!computed) return std::nullopt;
        gradients = std::move(*computed);
        const auto loss_sum = sum.item<double>();
        // A GPU has only now computed what the passes have enqueued.
        if (!device.is_cpu()) pass.points.check();
        return loss_sum;
    }

    const formats::AlbertSpec spec;
    const Computation computation;
    const at::Device device;
    LossScale loss_scale;
    const std::int64_t sequence_length;
    const DropoutRate hidden_dropout, attention_dropout, classifier_dropout;
    const TensorViews views;
    std::vector<at::Tensor> parameters;  // views of the caller's vector
    at::Tensor word_embeddings, position_embeddings, type_embeddings, prediction_bias;
    Pair embedding_norm, embedding_to_hidden;
    Pair query, key, value, attention_out, attention_norm, ffn_in, ffn_out, layer_norm_out;
    Pair pooler, prediction_norm, prediction_dense, order_classifier;
};

Albert::Albert(const formats::RunFile& run, std::span<const float> parameters,
               const Computation& computation) {
    refuse_other_tensors(run.tensors, formats::albert_tensors(formats::albert_of(run)));
    model_ = std::make_unique<Model>(run, parameters, computation);
}

Albert::~Albert() = default;

std::optional<double> Albert::add_gradient(const MicroBatch& batch, std::span<float> sum,
                                           const IsInterrupted& is_interrupted) {
    return unless_interrupted(is_interrupted, [&](const InterruptionPoints& points) {
        std::vector<at::Tensor> gradients;
        std::optional<double> loss;
        while (!(loss = model_->compute({batch, points, true}, gradients))) {
        }
        const c10::NoGradGuard no_gradients;
        at::_foreach_add_(model_->views.of(sum), gradients);
        return *loss;
    });
}

double Albert::loss(const MicroBatch& batch) {
    const c10::NoGradGuard no_gradients;
    const IsInterrupted never;
    const InterruptionPoints points{never};
    return with_device_errors([&] { return model_->loss({batch, points, false}).item<double>(); });
}

float Albert::loss_scale() const {
    return model_->computation.precision == Precision::kFp16 ? model_->loss_scale.value() : 1.0f;
}

std::optional<std::vector<SampleFigures>> Albert::figures(const MicroBatch& batch,
                                                          const IsInterrupted& is_interrupted) {
    const c10::NoGradGuard no_gradients;
    return unless_interrupted(is_interrupted, [&](const InterruptionPoints& points) {
        return model_->figures({batch, points, false});
    });
}

}  // namespace dedloc::training::albert
