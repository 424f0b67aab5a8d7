#include "boinc_app/module/operation_count.hpp"

#include <ATen/core/dispatch/Dispatcher.h>

#include <string_view>

namespace dedloc::training::module {
namespace {

double size(const at::Tensor& tensor, std::int64_t dimension) {
    return static_cast<double>(tensor.size(dimension));
}

/// [rows, k] × [k, columns].
double product(const at::Tensor& a, const at::Tensor& b) {
    return 2 * static_cast<double>(a.numel()) * size(b, -1);
}

/// A convolution's output has so many elements for each element of the input, on average over
/// padding; the number follows from the shapes and strides.
double convolution(const at::Tensor& input, const at::Tensor& weight,
                   const std::vector<c10::IValue>& stack, std::size_t first) {
    const bool is_transposed = stack[first + 6].toBool();
    if (is_transposed) {
        return 2 * static_cast<double>(input.numel()) * static_cast<double>(weight.numel()) /
               size(weight, 0);
    }
    const auto strides = stack[first + 3].toIntVector();
    const auto paddings = stack[first + 4].toIntVector();
    const auto dilations = stack[first + 5].toIntVector();
    double outputs = size(input, 0);
    for (std::int64_t d = 2; d < input.dim(); ++d) {
        const auto at = [d](const std::vector<std::int64_t>& list) {
            return list.size() == 1 ? list[0] : list.at(static_cast<std::size_t>(d - 2));
        };
        const std::int64_t reach = at(dilations) * (weight.size(d) - 1) + 1;
        const std::int64_t places = input.size(d) + 2 * at(paddings) - reach;
        outputs *= static_cast<double>(places / at(strides) + 1);
    }
    return 2 * outputs * static_cast<double>(weight.numel());
}

/// Two products for each of the heads.
double attention(const at::Tensor& query, const at::Tensor& key) {
    return 4 * static_cast<double>(query.numel()) * size(key, -2);
}

}  // namespace

double operations_of(const c10::OperatorHandle& called, const std::vector<c10::IValue>& stack) {
    const std::string_view name = called.operator_name().name;
    const std::size_t first = stack.size() - called.schema().arguments().size();
    const auto operand = [&](std::size_t index) { return stack[first + index].toTensor(); };
    if (name == "aten::mm" || name == "aten::bmm") return product(operand(0), operand(1));
    if (name == "aten::addmm" || name == "aten::baddbmm") return product(operand(1), operand(2));
    if (name == "aten::convolution") return convolution(operand(0), operand(1), stack, first);
    // Gradients of the input and of the weight.
    if (name == "aten::convolution_backward") {
        const at::Tensor weight = operand(2);
        return 4 * static_cast<double>(operand(0).numel()) * static_cast<double>(weight.numel()) /
               size(weight, 0);
    }
    if (name == "aten::_scaled_dot_product_flash_attention_for_cpu") {
        return attention(operand(0), operand(1));
    }
    // The scores again, and four gradients' products.
    if (name == "aten::_scaled_dot_product_flash_attention_for_cpu_backward") {
        return 2.5 * attention(operand(1), operand(2));
    }
    return 0;
}

}  // namespace dedloc::training::module
