// oneDNN's products with packed weights are operators of libtorch without functions in C++, which
// torch.compile uses: they are called by their names.
#include "boinc_app/albert/packed_product.hpp"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/full.h>

#include <exception>
#include <optional>
#include <string>

#include "boinc_app/albert/weight_gradient.hpp"
#include "peer/base/check.hpp"

namespace dedloc::training::albert {
namespace {

/// Rows of x that the layout is made for. Products of other numbers of rows use it too: those of 16
/// rows take 0.6 of the time of a product without packing, those of 1,024 0.92 to 0.95.
constexpr std::int64_t kRows = 1024;

/// Calls an operator of libtorch that returns a tensor.
template <class... Arguments>
at::Tensor call(const c10::OperatorHandle& operation, Arguments&&... arguments) {
    torch::jit::Stack stack{c10::IValue(std::forward<Arguments>(arguments))...};
    operation.callBoxed(stack);
    return stack.at(0).toTensor();
}

c10::OperatorHandle operation(const char* name, const char* overload) {
    return c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
}

}  // namespace

bool packs_weights() {
    static const bool packs = [] {
        // Without bf16 instructions oneDNN computes bf16 products by its slow reference kernels.
        if (!has_exact_sums()) return false;
        try {
            constexpr std::int64_t kWidth = 64;
            const auto type = at::dtype(at::kBFloat16);
            const at::Tensor ones = at::full({kWidth, kWidth}, 1, type);
            const at::Tensor found = times_packed(ones, packed(ones), {}, ones);
            return found.equal(at::full({kWidth, kWidth}, kWidth + 1, type));
        } catch (const std::exception&) {
            return false;
        }
    }();
    return packs;
}

at::Tensor packed(const at::Tensor& weight) {
    static const auto pack = operation("mkldnn::_reorder_linear_weight", "");
    return call(pack, weight.contiguous(), kRows);
}

at::Tensor times_packed(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                        const at::Tensor& other) {
    static const auto multiply = operation("mkldnn::_linear_pointwise", "");
    static const auto multiply_and_add = operation("mkldnn::_linear_pointwise", "binary");
    if (other.defined()) {
        DEDLOC_CHECK(!bias.defined(), "a product has a bias or is added to another");
        return call(multiply_and_add, x, other, weight, c10::IValue{}, std::string{"add"});
    }
    return call(multiply, x, weight, bias.defined() ? c10::IValue{bias} : c10::IValue{},
                std::string{"none"}, c10::List<std::optional<at::Scalar>>{}, std::string{});
}

}  // namespace dedloc::training::albert
