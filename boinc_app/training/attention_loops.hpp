// The loops of attention on the processor between its matrix products, for one head and in the
// blocks that boinc_app/albert/host_attention.cpp cuts it into. Weights are those of a softmax,
// weight[q, k] = exp(scale × score[q, k] − log Σ exp(…)), over a row's keys without its padding.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/arithmetic.hpp"
#include "kernels/instruction_set.hpp"

namespace dedloc::training {

/// Scores of some queries, by rows.
struct QueryScores {
    const float* scores = nullptr;  ///< [queries, stride]
    std::size_t queries = 0;
    std::size_t keys = 0;    ///< without padding; at least 1
    std::size_t stride = 0;  ///< a multiple of 32, at least `keys`
    float scale = 1;
};

/// Output buffers of the softmax of QueryScores.
struct QueryWeights {
    /// [queries, stride], each row times its sum; 0 beyond the keys.
    kernels::Bfloat16* weights = nullptr;
    float* inverse = nullptr;    ///< [queries]: 1 ÷ that sum
    float* logarithm = nullptr;  ///< [queries]: log Σ exp(scale × score)
};

/// The softmax of each query's scores.
void soften(kernels::InstructionSet set, const QueryScores& of, const QueryWeights& to);

/// Transposed scores of some keys, and what the gradient of their softmax depends on.
struct KeyScores {
    const float* scores = nullptr;      ///< [keys, queries]
    const float* by_weights = nullptr;  ///< [keys, queries]: the gradient by each weight
    const float* logarithm = nullptr;   ///< [queries], as soften() wrote it
    const float* along = nullptr;       ///< [queries]: Σ over keys of weight × gradient
    std::size_t keys = 0;               ///< even
    std::size_t valid_keys = 0;         ///< those without padding
    std::size_t queries = 0;            ///< a multiple of 16
    float scale = 1;
};

/// Output buffers of the weights of KeyScores and of the gradient by their scores.
struct KeyWeights {
    kernels::Bfloat16* weights = nullptr;    ///< [keys, queries]; 0 for padding
    kernels::Bfloat16* by_scores = nullptr;  ///< [keys, queries]
    std::uint32_t* pairs = nullptr;  ///< by_scores as words of two keys [keys ÷ 2, queries]
};

/// The weights again, and the gradient by scores: scale × weight × (by_weight − along).
void soften_gradient(kernels::InstructionSet set, const KeyScores& of, const KeyWeights& to);

}  // namespace dedloc::training
