// Parameters are libtorch tensors that share the caller's vector. The encoder has two forms:
// operations of libtorch, or the device's fused kernels, which need a short format and no dropout
// of hidden values.
#include "boinc_app/albert/encoder.hpp"

#include <ATen/Context.h>
#include <ATen/ops/_softmax.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/softmax.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <tuple>

#include "boinc_app/albert/fused_pass.hpp"
#include "boinc_app/albert/host_attention.hpp"
#include "boinc_app/albert/packed_product.hpp"
#include "peer/base/check.hpp"

namespace dedloc::training::albert {
namespace {

constexpr double kLayerNormEpsilon = 1e-12;
constexpr double kMaskedByPadding = -10'000;

bool has_padding(const MicroBatch& batch) {
    const auto length = static_cast<std::int64_t>(batch.length);
    return std::ranges::any_of(batch.row_lengths, [&](auto row) { return row < length; });
}

/// An affine map of all layers in a pass; if it is packed, one in fp32.
class LayerMap {
  public:
    LayerMap(const Pair& map, bool is_packed) : map_(map) {
        if (is_packed) packed_.emplace(map.weight, at::kFloat);
    }
    at::Tensor operator()(const at::Tensor& x) const {
        return packed_ ? short_product(x, *packed_, map_.bias) : linear(x, map_);
    }

  private:
    const Pair& map_;
    std::optional<ShortWeight> packed_;
};

/// Rows of x [rows, length, hidden]: [positions, hidden]; all of x if positions are undefined.
at::Tensor at_positions(const at::Tensor& x, const at::Tensor& positions) {
    if (!positions.defined()) return x;
    return x.reshape({-1, x.size(-1)}).index_select(0, positions);
}

}  // namespace

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

Encoder::Encoder(const formats::RunFile& run, std::span<const float> values, const Computation& how)
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
void Encoder::name_parameters() {
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

at::Tensor Encoder::dropped_hidden(const at::Tensor& x, const Pass& pass, DropoutRate rate,
                                   std::uint32_t site) {
    const std::int64_t width = x.size(-1);
    return dropped(x, pass, rate, site, [width](std::int64_t line) { return line * width; });
}

at::Tensor Encoder::embed(const Pass& pass) const {
    const MicroBatch& batch = pass.batch;
    const auto rows = static_cast<std::int64_t>(batch.samples);
    const auto length = static_cast<std::int64_t>(batch.length);
    const at::Tensor tokens = input(batch.tokens, {rows, length}, device);
    const at::Tensor types = input(batch.types, {rows, length}, device);
    const at::Tensor sum = at::embedding(word_embeddings, tokens) +
                           at::embedding(type_embeddings, types) +
                           position_embeddings.slice(0, 0, length);
    return linear(
        dropped_hidden(layer_norm(sum, embedding_norm), pass, hidden_dropout, Sites::kEmbeddings),
        embedding_to_hidden);
}

/// Additive mask [rows, 1, 1, length]: 0 for tokens, −10,000 for padding.
at::Tensor Encoder::attention_mask(const MicroBatch& batch) const {
    const auto rows = static_cast<std::int64_t>(batch.samples);
    const at::Tensor lengths = input(batch.row_lengths, {rows, 1}, device);
    const at::Tensor places =
        at::arange(static_cast<std::int64_t>(batch.length), at::device(device).dtype(at::kLong));
    return places.ge(lengths).to(at::kFloat).mul(kMaskedByPadding).unsqueeze(1).unsqueeze(1);
}

/// Attention's weights [rows, heads, length, length] with dropout. An element has the index
/// that it has in [heads, sequence_length, sequence_length].
at::Tensor Encoder::dropped_weights(const at::Tensor& weights, const Pass& pass,
                                    std::uint64_t layer) const {
    const std::int64_t length = weights.size(3);
    return dropped(weights, pass, attention_dropout, Sites::attention(layer),
                   [this, length](std::int64_t line) {
                       const std::int64_t head = line / length;
                       return (head * sequence_length + line % length) * sequence_length;
                   });
}

/// The weighted mean of the values [rows, heads, length, width].
at::Tensor Encoder::context(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                            const at::Tensor& mask, const Pass& pass, std::uint64_t layer) const {
    const double scale = 1.0 / std::sqrt(static_cast<double>(q.size(3)));
    const bool drops = pass.drops && !attention_dropout.is_zero();
    if (computation.fuses_attention && !drops) {
        // Torch has faster implementations of attention for calls without a mask.
        std::optional<at::Tensor> fused_mask;
        if (has_padding(pass.batch)) fused_mask = mask.to(q.scalar_type());
        return at::scaled_dot_product_attention(q, k, v, fused_mask, 0.0, false, scale);
    }
    if (q.scalar_type() != at::kFloat && !drops) {
        // One pass over the scores: the operation computes in fp32, and autocast, which would have
        // it write fp32 too, does not know it by this name.
        at::Tensor scores = at::matmul(q * scale, k.transpose(2, 3));
        if (has_padding(pass.batch)) scores = scores + mask.to(scores.scalar_type());
        return at::matmul(at::_softmax(scores, -1, false), v);
    }
    const at::Tensor scores = at::matmul(q, k.transpose(2, 3)) * scale + mask;
    return at::matmul(dropped_weights(at::softmax(scores, -1), pass, layer), v);
}

/// Whether attention is that of host_attention.hpp.
bool Encoder::attends_by_heads(const at::Tensor& product, const Pass& pass) const {
    return computation.fuses_attention && product.is_cpu() &&
           product.scalar_type() == at::kBFloat16 &&
           !(pass.drops && !attention_dropout.is_zero()) &&
           has_host_attention(product.size(2) / static_cast<std::int64_t>(spec.heads),
                              product.size(1));
}

/// The mean of the values by heads, of queries, keys and values [rows, length, hidden].
at::Tensor Encoder::attended(const std::array<at::Tensor, 3>& products, const at::Tensor& mask,
                             const Pass& pass, std::uint64_t layer) const {
    const auto heads = static_cast<std::int64_t>(spec.heads);
    if (attends_by_heads(products[0], pass)) {
        const auto point = [&](const at::Tensor& product) { return pass.points.add(product); };
        return point(host_attention(point(products[0]), point(products[1]), point(products[2]),
                                    heads, pass.batch.row_lengths));
    }
    const auto split = [&](const at::Tensor& product) {
        return pass.points.add(product)
            .view({product.size(0), product.size(1), heads, product.size(2) / heads})
            .transpose(1, 2);
    };
    const at::Tensor q = split(products[0]), k = split(products[1]), v = split(products[2]);
    const at::Tensor mixed = pass.points.add(context(q, k, v, mask, pass, layer));
    return mixed.transpose(1, 2).reshape(products[0].sizes());
}

bool Encoder::drops_hidden(const Pass& pass) const {
    return pass.drops && !hidden_dropout.is_zero();
}

/// Whether a pass uses the device's kernels for layers: they have no dropout.
bool Encoder::uses_layers(const Pass& pass) const {
    return computation.layers != nullptr && computation.precision != Precision::kFp32 &&
           computation.layers->has_kernels(spec.hidden, spec.ffn) && !drops_hidden(pass);
}

at::Tensor Encoder::encode_by_layers(const Pass& pass, const at::Tensor& positions) const {
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
        at::Tensor mixed =
            attended(three_products(layers, short_x, inputs, biases), mask, pass, layer);
        if (layer + 1 == spec.layers) {
            mixed = at_positions(mixed, positions);
            x = at_positions(x, positions);
        }
        const auto [a, short_a] = add_norm(
            layers, points.add(short_product(mixed, out)), x,
            {attention_out.bias, attention_norm.weight, attention_norm.bias}, kLayerNormEpsilon);
        const at::Tensor y =
            points.add(bias_gelu(layers, short_product(short_a, wide), ffn_in.bias));
        std::tie(x, short_x) =
            add_norm(layers, points.add(short_product(y, narrow)), a,
                     {ffn_out.bias, layer_norm_out.weight, layer_norm_out.bias}, kLayerNormEpsilon);
    }
    return points.add(x);
}

/// Whether the weights of layers are packed for a pass in fp32. Evaluations have few tokens.
bool Encoder::packs() const {
    return device.is_cpu() && computation.precision == Precision::kFp32 &&
           c10::GradMode::is_enabled() && packs_weights(at::kFloat);
}

// The last layer is computed after its attention for the positions alone, of which there is one for
// six tokens, unless dropout has its numbers from whole rows.
at::Tensor Encoder::encode(const Pass& pass, const at::Tensor& positions) const {
    if (uses_layers(pass)) return encode_by_layers(pass, positions);
    const InterruptionPoints& points = pass.points;
    const LayerMap to_query{query, packs()}, to_key{key, packs()}, to_value{value, packs()},
        out{attention_out, packs()}, widen{ffn_in, packs()}, narrow{ffn_out, packs()};
    at::Tensor x = points.add(embed(pass));
    const at::Tensor mask = attention_mask(pass.batch);
    for (std::uint64_t layer = 0; layer < spec.layers; ++layer) {
        // Cast once for three products.
        const at::Tensor cast = x.to(type_of(computation.precision));
        at::Tensor mixed =
            attended({to_query(cast), to_key(cast), to_value(cast)}, mask, pass, layer);
        if (layer + 1 == spec.layers && !drops_hidden(pass)) {
            mixed = at_positions(mixed, positions);
            x = at_positions(x, positions);
        }
        mixed = dropped_hidden(out(mixed), pass, hidden_dropout, Sites::attention_output(layer));
        const at::Tensor a = points.add(layer_norm(x + mixed, attention_norm));
        const at::Tensor wide = points.add(activation(widen(a)));
        x = points.add(layer_norm(narrow(wide) + a, layer_norm_out));
    }
    return drops_hidden(pass) ? at_positions(x, positions) : x;
}

}  // namespace dedloc::training::albert
