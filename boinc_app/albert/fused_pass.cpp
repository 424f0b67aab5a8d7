// Each operation is an autograd function: forward() keeps its inputs, and backward() computes the
// gradients from them, by products or by the device's kernels. A weight is passed together with its
// short forms: products use these, but autograd gets the gradient for the fp32 weight. If the
// weight has a sum, a use adds to it and hands on an undefined gradient, and SharedWeight, which
// autograd calls after all uses, hands on the sum. A result that nothing depends on has an
// undefined gradient instead of zeros, so backward() tests for that. The kernels read contiguous
// matrices of rows; workspaces and results are libtorch tensors too.
#include "boinc_app/albert/fused_pass.hpp"

#include <ATen/TensorOperators.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/sum.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/custom_function.h>

#include <optional>
#include <vector>

#include "boinc_app/albert/packed_product.hpp"
#include "boinc_app/albert/weight_gradient.hpp"
#include "peer/base/check.hpp"

namespace dedloc::training::albert {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::Variable;
using torch::autograd::variable_list;

constexpr const char* kLayers = "layers";
constexpr const char* kSums = "sums";
constexpr const char* kShortWeights = "weights";
constexpr const char* kHasBias = "bias";

void keep(AutogradContext* context, FusedLayers* layers) {
    context->saved_data[kLayers] = reinterpret_cast<std::int64_t>(layers);
    context->set_materialize_grads(false);
}
FusedLayers& kept(AutogradContext* context) {
    return *reinterpret_cast<FusedLayers*>(context->saved_data[kLayers].toInt());
}

/// x as a matrix of rows.
at::Tensor rows_of(const at::Tensor& x) {
    return x.reshape({-1, x.size(-1)});
}

ShortMatrix matrix_of(const at::Tensor& x) {
    DEDLOC_CHECK(x.is_contiguous(), "a fused layer reads rows that follow each other");
    const auto columns = static_cast<std::size_t>(x.size(-1));
    return {.rows = static_cast<std::size_t>(x.numel()) / columns,
            .columns = columns,
            .is_bf16 = x.scalar_type() == at::kBFloat16};
}

const float* floats(const at::Tensor& x) {
    return x.const_data_ptr<float>();
}
/// A tensor's values; null if it is undefined.
const float* floats_or_null(const at::Tensor& x) {
    return x.defined() ? floats(x) : nullptr;
}
const void* shorts_or_null(const at::Tensor& x) {
    return x.defined() ? x.const_data_ptr() : nullptr;
}
at::Tensor contiguous(const at::Tensor& x) {
    return x.defined() ? x.contiguous() : x;
}

at::Tensor new_floats(at::IntArrayRef shape, const at::Tensor& like) {
    return at::empty(shape, like.options().dtype(at::kFloat));
}
at::Tensor workspace(const FusedLayers& layers, const at::Tensor& matrix, unsigned vectors) {
    const auto size = layers.workspace_floats(matrix_of(matrix), vectors);
    return new_floats({static_cast<std::int64_t>(size)}, matrix);
}

at::Tensor column_sums(FusedLayers& layers, const at::Tensor& values) {
    const at::Tensor sums = new_floats({values.size(-1)}, values);
    layers.column_sums(matrix_of(values), values.const_data_ptr(), sums.mutable_data_ptr<float>(),
                       workspace(layers, values, 1).mutable_data_ptr<float>());
    return sums;
}

/// by_outᵀ · x in fp32.
at::Tensor weight_gradient(const at::Tensor& by_out, const at::Tensor& x) {
    if (x.is_cuda()) return at::mm(by_out.t(), x, at::kFloat);
    return at::mm(by_out.t().to(at::kFloat), x.to(at::kFloat));
}

/// sum += by_outᵀ · x in fp32.
void add_weight_gradient(at::Tensor sum, const at::Tensor& by_out, const at::Tensor& x) {
    if (x.scalar_type() == at::kFloat) {
        sum.addmm_(by_out.t(), x);
    } else {
        GradientInput{x}.add_to(sum, by_out);
    }
}

/// x · weightᵀ for ShortWeight::forward.
at::Tensor times_forward(const at::Tensor& x, const at::Tensor& weight,
                         const at::Tensor& bias = {}) {
    if (weight.is_mkldnn()) return times_packed(x, weight, bias);
    return bias.defined() ? at::linear(x, weight, bias) : at::linear(x, weight);
}

/// by_out · weight [+ other] for ShortWeight::backward.
at::Tensor times_backward(const at::Tensor& by_out, const at::Tensor& weight,
                          const at::Tensor& other = {}) {
    if (weight.is_mkldnn()) return times_packed(by_out, weight, {}, other);
    return other.defined() ? at::addmm(other, by_out, weight) : at::mm(by_out, weight);
}

/// Keeps weights for backward(). Not as saved variables: those are not opaque.
void keep_weights(AutogradContext* context, at::TensorList weights) {
    context->saved_data[kShortWeights] = weights.vec();
}
std::vector<at::Tensor> kept_weights(AutogradContext* context) {
    return context->saved_data.at(kShortWeights).toTensorVector();
}

/// Keeps the sums of a function's weights, of which all or none have one. Not as saved variables:
/// those must not change.
void keep_sums(AutogradContext* context, at::TensorList sums) {
    if (sums[0].numel() != 0) context->saved_data[kSums] = sums.vec();
}
/// The sums that were kept; none if each use has a gradient of its own.
std::vector<at::Tensor> kept_sums(AutogradContext* context) {
    const auto found = context->saved_data.find(kSums);
    if (found == context->saved_data.end()) return {};
    return found->second.toTensorVector();
}

/// A weight whose uses add their gradients to `sum`.
class SharedWeight final : public Function<SharedWeight> {
  public:
    static Variable forward(AutogradContext* context, const Variable& weight,
                            const at::Tensor& sum) {
        keep_sums(context, sum);
        context->set_materialize_grads(false);
        return weight;
    }
    static variable_list backward(AutogradContext* context, const variable_list& by) {
        const at::Tensor sum = kept_sums(context)[0];
        return {by[0].defined() ? by[0] + sum : sum, Variable{}};
    }
};

class ShortProduct final : public Function<ShortProduct> {
  public:
    static Variable forward(AutogradContext* context, const Variable& x, const Variable& weight,
                            const Variable& of_forward, const Variable& of_backward,
                            const Variable& sum, const Variable& bias) {
        static_cast<void>(weight);  // its values are those of `of_forward`
        context->save_for_backward({x});
        context->set_materialize_grads(false);
        const bool has_bias = bias.numel() != 0;
        context->saved_data[kHasBias] = has_bias;
        keep_weights(context, of_backward);
        keep_sums(context, sum);
        return times_forward(x, of_forward, has_bias ? bias : at::Tensor{});
    }
    static variable_list backward(AutogradContext* context, const variable_list& by) {
        constexpr std::size_t kBias = 5;
        variable_list gradients(kBias + 1);
        if (!by[0].defined()) return gradients;
        const auto saved = context->get_saved_variables();
        const at::Tensor by_out = rows_of(by[0]).contiguous();
        const at::Tensor x = rows_of(saved[0]).contiguous();
        const auto sums = kept_sums(context);
        gradients[0] = times_backward(by_out, kept_weights(context)[0]).view(saved[0].sizes());
        if (sums.empty()) {
            gradients[1] = weight_gradient(by_out, x);
        } else {
            add_weight_gradient(sums[0], by_out, x);
        }
        if (context->saved_data.at(kHasBias).toBool()) gradients[kBias] = by_out.sum(0);
        return gradients;
    }
};

class ThreeProducts final : public Function<ThreeProducts> {
  public:
    static variable_list forward(AutogradContext* context, FusedLayers* layers, const Variable& x,
                                 at::TensorList weights, at::TensorList forwards,
                                 at::TensorList backwards, at::TensorList biases,
                                 at::TensorList sums) {
        static_cast<void>(weights);  // their values are those of `forwards`
        keep(context, layers);
        keep_weights(context, backwards);
        keep_sums(context, sums);
        context->save_for_backward({x});
        variable_list products;
        for (std::size_t i = 0; i < forwards.size(); ++i) {
            products.push_back(times_forward(x, forwards[i], biases[i].to(x.scalar_type())));
        }
        return products;
    }
    static variable_list backward(AutogradContext* context, const variable_list& by) {
        const auto saved = context->get_saved_variables();
        FusedLayers& layers = kept(context);
        const at::Tensor x = rows_of(saved[0]).contiguous();
        const auto weights = kept_weights(context);
        const auto sums = kept_sums(context);
        std::optional<GradientInput> input;
        if (!sums.empty()) input.emplace(x);
        // The layers, x, then weights, their two short forms, biases and sums of the three.
        constexpr std::size_t kWeights = 2, kBiases = 11, kAll = 17;
        variable_list gradients(kAll);
        at::Tensor by_x;
        for (std::size_t i = 0; i < by.size(); ++i) {
            if (!by[i].defined()) continue;
            const at::Tensor by_out = rows_of(by[i]).contiguous();
            by_x = times_backward(by_out, weights[i], by_x);
            if (input) {
                input->add_to(sums[i], by_out);
            } else {
                gradients[kWeights + i] = weight_gradient(by_out, x);
            }
            gradients[kBiases + i] = column_sums(layers, by_out);
        }
        if (by_x.defined()) gradients[1] = by_x.view(saved[0].sizes());
        return gradients;
    }
};

class BiasGelu final : public Function<BiasGelu> {
  public:
    static Variable forward(AutogradContext* context, FusedLayers* layers, const Variable& product,
                            const Variable& bias) {
        keep(context, layers);
        context->save_for_backward({product, bias});
        at::Tensor out = at::empty_like(product);
        layers->bias_gelu(matrix_of(product), product.const_data_ptr(), floats(bias),
                          out.mutable_data_ptr());
        return out;
    }
    static variable_list backward(AutogradContext* context, const variable_list& by) {
        if (!by[0].defined()) return variable_list(3);
        const auto saved = context->get_saved_variables();
        FusedLayers& layers = kept(context);
        const at::Tensor by_out = by[0].contiguous();
        const at::Tensor by_product = at::empty_like(by_out);
        const at::Tensor by_bias = new_floats(saved[1].sizes(), by_out);
        layers.bias_gelu_gradient(matrix_of(by_out), saved[0].const_data_ptr(), floats(saved[1]),
                                  by_out.const_data_ptr(), by_product.mutable_data_ptr(),
                                  by_bias.mutable_data_ptr<float>(),
                                  workspace(layers, by_out, 1).mutable_data_ptr<float>());
        return {Variable{}, by_product, by_bias};
    }
};

class AddNormFunction final : public Function<AddNormFunction> {
  public:
    static variable_list forward(AutogradContext* context, FusedLayers* layers,
                                 const Variable& product, const Variable& residual,
                                 const Variable& bias, const Variable& gain, const Variable& shift,
                                 double epsilon) {
        keep(context, layers);
        const ShortMatrix matrix = matrix_of(product);
        const at::Tensor out = at::empty_like(residual);
        const at::Tensor short_out = at::empty_like(product);
        const auto rows = static_cast<std::int64_t>(matrix.rows);
        const at::Tensor mean = new_floats({rows}, product);
        const at::Tensor inverse = new_floats({rows}, product);
        layers->add_norm(matrix,
                         {.product = product.const_data_ptr(),
                          .residual = floats(residual),
                          .bias = floats(bias),
                          .gain = floats(gain),
                          .shift = floats(shift),
                          .epsilon = static_cast<float>(epsilon)},
                         {.out = out.mutable_data_ptr<float>(),
                          .short_out = short_out.mutable_data_ptr(),
                          .mean = mean.mutable_data_ptr<float>(),
                          .inverse = inverse.mutable_data_ptr<float>()});
        context->save_for_backward({product, residual, bias, gain, mean, inverse});
        return {out, short_out};
    }
    static variable_list backward(AutogradContext* context, const variable_list& by) {
        constexpr std::size_t kAll = 7;
        variable_list gradients(kAll);
        if (!by[0].defined() && !by[1].defined()) return gradients;
        const auto saved = context->get_saved_variables();
        FusedLayers& layers = kept(context);
        const at::Tensor by_out = contiguous(by[0]);
        const at::Tensor by_short_out = contiguous(by[1]);
        const at::Tensor by_product = at::empty_like(saved[0]);
        const at::Tensor by_residual = at::empty_like(saved[1]);
        const at::Tensor by_vectors = new_floats({3, saved[0].size(-1)}, saved[0]);
        layers.add_norm_gradient(
            matrix_of(saved[0]),
            {.product = saved[0].const_data_ptr(),
             .residual = floats(saved[1]),
             .bias = floats(saved[2]),
             .gain = floats(saved[3])},
            {.mean = floats(saved[4]),
             .inverse = floats(saved[5]),
             .by_out = floats_or_null(by_out),
             .by_short_out = shorts_or_null(by_short_out),
             .by_residual = by_residual.mutable_data_ptr<float>(),
             .by_product = by_product.mutable_data_ptr(),
             .by_vectors = by_vectors.mutable_data_ptr<float>(),
             .workspace = workspace(layers, saved[0], 3).mutable_data_ptr<float>()});
        return {Variable{},    by_product,    by_residual, by_vectors[2],
                by_vectors[0], by_vectors[1], Variable{}};
    }
};

}  // namespace

ShortWeight::ShortWeight(const at::Tensor& exact, at::ScalarType type) : weight(exact) {
    const bool is_used_backward = exact.requires_grad() && c10::GradMode::is_enabled();
    const bool has_sums =
        type == at::kFloat || (type == at::kBFloat16 && exact.is_cpu() && has_exact_sums());
    const bool is_summed = exact.is_cpu() && is_used_backward && has_sums;
    {
        const c10::NoGradGuard no_gradients;
        const at::Tensor cast = exact.detach().to(type);
        if (exact.is_cpu() && packs_weights(type)) {
            forward = packed(cast);
            backward = is_used_backward ? packed(cast.t()) : cast;
        } else {
            forward = exact.is_cpu() ? cast.t().contiguous().t() : cast;
            backward = cast;
        }
        sum = is_summed ? at::zeros_like(exact) : at::empty({0}, exact.options());
    }
    if (is_summed) weight = SharedWeight::apply(exact, sum);
}

at::Tensor short_product(const at::Tensor& x, const ShortWeight& weight, const at::Tensor& bias) {
    // The inputs of a function must be defined.
    const at::Tensor added = bias.defined() ? bias : at::empty({0}, weight.sum.options());
    return ShortProduct::apply(x, weight.weight, weight.forward, weight.backward, weight.sum,
                               added);
}

std::array<at::Tensor, 3> three_products(FusedLayers& layers, const at::Tensor& x,
                                         const std::array<ShortWeight, 3>& weights,
                                         const std::array<at::Tensor, 3>& biases) {
    const std::array exact{weights[0].weight, weights[1].weight, weights[2].weight};
    const std::array forwards{weights[0].forward, weights[1].forward, weights[2].forward};
    const std::array backwards{weights[0].backward, weights[1].backward, weights[2].backward};
    const std::array sums{weights[0].sum, weights[1].sum, weights[2].sum};
    const auto products = ThreeProducts::apply(&layers, x, at::TensorList{exact},
                                               at::TensorList{forwards}, at::TensorList{backwards},
                                               at::TensorList{biases}, at::TensorList{sums});
    return {products[0], products[1], products[2]};
}

at::Tensor bias_gelu(FusedLayers& layers, const at::Tensor& product, const at::Tensor& bias) {
    return BiasGelu::apply(&layers, product.contiguous(), bias);
}

std::pair<at::Tensor, at::Tensor> add_norm(FusedLayers& layers, const at::Tensor& product,
                                           const at::Tensor& residual, const NormVectors& vectors,
                                           double epsilon) {
    const auto results =
        AddNormFunction::apply(&layers, product.contiguous(), residual.contiguous(), vectors.bias,
                               vectors.gain, vectors.shift, epsilon);
    return {results[0], results[1]};
}

}  // namespace dedloc::training::albert
