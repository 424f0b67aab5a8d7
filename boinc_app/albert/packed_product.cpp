// oneDNN's products with packed weights are operators of libtorch without functions in C++, which
// torch.compile uses: they are called by their names.
#include "boinc_app/albert/packed_product.hpp"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/full.h>

#include <exception>
#include <optional>
#include <string>

#include "boinc_app/albert/weight_gradient.hpp"
#include "kernels/instruction_set.hpp"
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

/// Whether a product of ones is what it should be.
bool multiplies_ones(at::ScalarType type) {
    // On processors without bf16 instructions oneDNN uses slow reference kernels for bf16, and
    // without AVX-512 MKL's products in fp32 are as fast.
    const bool is_fast = type == at::kFloat
                             ? kernels::widest_instruction_set() == kernels::InstructionSet::kAvx512
                             : has_exact_sums();
    if (!is_fast) return false;
    try {
        constexpr std::int64_t kWidth = 64;
        const at::Tensor ones = at::full({kWidth, kWidth}, 1, at::dtype(type));
        const at::Tensor found = times_packed(ones, packed(ones), {}, ones);
        return found.equal(at::full({kWidth, kWidth}, kWidth + 1, at::dtype(type)));
    } catch (const std::exception&) {
        return false;
    }
}

}  // namespace

bool packs_weights(at::ScalarType type) {
    static const bool of_bf16 = multiplies_ones(at::kBFloat16);
    static const bool of_fp32 = multiplies_ones(at::kFloat);
    return type == at::kFloat ? of_fp32 : type == at::kBFloat16 && of_bf16;
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
