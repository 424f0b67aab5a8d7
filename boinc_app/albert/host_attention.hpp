// Attention in bf16 on a processor, a head at a time: the scores of a head stay in its second
// cache, and are computed again for the gradient, so no pass keeps them. Scores, softmax and sums
// are fp32.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace dedloc::training::albert {

/// Whether host_attention() computes heads of this width for samples of so many tokens here.
bool has_host_attention(std::int64_t head_width, std::int64_t length);

/// The mean of the values by the softmax of scale × query · key, for each head; keys beyond a row's
/// length have no weight. With a gradient. The number of threads changes no bit.
///
/// Shapes  q, k, v and result [rows, length, hidden], bf16, heads side by side; row_lengths [rows],
///         at least 1
/// Cost    4 × rows × length² × hidden operations, and 10 for the gradient
at::Tensor host_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          std::int64_t heads, const std::vector<std::int64_t>& row_lengths);

}  // namespace dedloc::training::albert
