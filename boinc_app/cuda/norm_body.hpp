// Layer norm of a sum, and its gradient. `threads` threads, a power of two, share a row: thread t
// has columns 4 (t + p threads) to 4 (t + p threads) + 3 for p = 0 … kPacks − 1. A block has
// several rows side by side. Sums of a row go through shared memory in a fixed order.
#pragma once

#include "boinc_app/cuda/short_value.hpp"
#include "boinc_app/training/fused_layers.hpp"
#include "boinc_app/training/layer_arithmetic.hpp"

namespace dedloc::training {

using kernels::cuda::kPackElements;
using kernels::cuda::kThreads;
using kernels::cuda::Pack;
using kernels::cuda::Whole;

/// Reads four elements, which lie at a multiple of their size.
template <class T>
DEDLOC_HOST_DEVICE inline Pack<T> four(const T* from) {
    return kernels::cuda::read_pack<true>(from, Whole{});
}

/// How rows are divided among threads and blocks.
struct RowLayout {
    std::size_t rows = 0;     ///< those of the matrix
    std::size_t columns = 0;  ///< 4 × kPacks × threads
    unsigned threads = 0;     ///< threads that share a row
    unsigned groups = 1;      ///< rows that a thread works on, one after the other

    /// Rows that a block works on at once.
    DEDLOC_HOST_DEVICE unsigned side_by_side() const { return kThreads / threads; }
    /// Blocks that all rows need.
    DEDLOC_HOST_DEVICE std::size_t block_count() const {
        const std::size_t rows_of_block = std::size_t{groups} * side_by_side();
        return (rows + rows_of_block - 1) / rows_of_block;
    }
    /// The row that a thread works on in this group; it may be beyond the last one.
    DEDLOC_HOST_DEVICE std::size_t row(std::size_t block, unsigned group, unsigned thread) const {
        return (block * groups + group) * side_by_side() + thread / threads;
    }
    /// The first of the four columns of a thread's pack.
    DEDLOC_HOST_DEVICE std::size_t column(unsigned pack, unsigned thread) const {
        return kPackElements * (std::size_t{thread & (threads - 1)} + std::size_t{pack} * threads);
    }
    /// The sum of what the threads of this thread's row have stored.
    DEDLOC_HOST_DEVICE float row_sum(const float (&of_threads)[kThreads], unsigned thread) const {
        const unsigned first = thread & ~(threads - 1);
        float sum = 0;
        for (unsigned i = 0; i < threads; ++i) sum += of_threads[first + i];
        return sum;
    }
};

/// AddNorm.
template <class T, unsigned kPacks>
struct NormRows {
    static constexpr unsigned kPhases = 3;
    /// The sums of each thread.
    struct Shared {
        float sums[kThreads];     ///< Σ z
        float squares[kThreads];  ///< Σ (z − mean)²
    };
    /// The thread's part of its row.
    struct Local {
        float z[kPacks][kPackElements];  ///< less the mean from the second phase on
        float mean;                      ///< mean(z)
    };

    RowLayout layout;  ///< one group
    AddNorm from;      ///< inputs
    AddNormResult to;  ///< results

    /// The functions of a body (kernels/cuda/body.hpp).
    DEDLOC_HOST_DEVICE std::size_t blocks() const { return layout.block_count(); }
    DEDLOC_HOST_DEVICE void begin(std::size_t block, unsigned thread, Shared& shared,
                                  Local& local) const {
        const std::size_t row = layout.row(block, 0, thread);
        float sum = 0;
        if (row < layout.rows) {
            for (unsigned p = 0; p < kPacks; ++p) {
                const std::size_t column = layout.column(p, thread);
                const std::size_t at = row * layout.columns + column;
                const Pack<T> product = four(static_cast<const T*>(from.product) + at);
                const Pack<float> residual = four(from.residual + at);
                const Pack<float> bias = four(from.bias + column);
                for (unsigned j = 0; j < kPackElements; ++j) {
                    local.z[p][j] = widened(product.v[j]) + bias.v[j] + residual.v[j];
                    sum += local.z[p][j];
                }
            }
        }
        shared.sums[thread] = sum;
    }

    DEDLOC_HOST_DEVICE void resume(unsigned phase, std::size_t block, unsigned thread,
                                   Shared& shared, Local& local) const {
        const auto columns = static_cast<float>(layout.columns);
        const std::size_t row = layout.row(block, 0, thread);
        if (row >= layout.rows) return;
        if (phase == 1) {
            local.mean = layout.row_sum(shared.sums, thread) / columns;
            float squares = 0;
            for (unsigned p = 0; p < kPacks; ++p) {
                for (unsigned j = 0; j < kPackElements; ++j) {
                    local.z[p][j] -= local.mean;
                    squares += local.z[p][j] * local.z[p][j];
                }
            }
            shared.squares[thread] = squares;
            return;
        }
        const float variance = layout.row_sum(shared.squares, thread) / columns;
        const float inverse = inverse_root(variance + from.epsilon);
        for (unsigned p = 0; p < kPacks; ++p) {
            const std::size_t column = layout.column(p, thread);
            const std::size_t at = row * layout.columns + column;
            const Pack<float> gain = four(from.gain + column);
            const Pack<float> shift = four(from.shift + column);
            Pack<float> out;
            Pack<T> short_out;
            for (unsigned j = 0; j < kPackElements; ++j) {
                out.v[j] = local.z[p][j] * inverse * gain.v[j] + shift.v[j];
                short_out.v[j] = rounded<T>(out.v[j]);
            }
            kernels::cuda::write_pack<true>(to.out + at, out, Whole{});
            kernels::cuda::write_pack<true>(static_cast<T*>(to.short_out) + at, short_out, Whole{});
        }
        if (layout.column(0, thread) != 0) return;
        to.mean[row] = local.mean;
        to.inverse[row] = inverse;
    }
};

/// The gradient of AddNorm. The sums of its columns over the rows of one thread go to the workspace
/// as [thread rows, 3, columns].
template <class T, unsigned kPacks>
struct NormGradientRows {
    /// So a thread has at most 128 registers.
    static constexpr unsigned kResident = 2;
    struct Shared {
        float sums[2][2][kThreads];  ///< [parity of the group, kind of the sum, thread]
    };
    /// The thread's part of its present row, and its sums of columns.
    struct Local {
        float normal[kPacks][kPackElements];  ///< (z − mean) × inverse
        float by_out[kPacks][kPackElements];  ///< the gradients by both outputs, added up
        float by_gain[kPacks][kPackElements], by_shift[kPacks][kPackElements];
        float by_bias[kPacks][kPackElements];
    };

    RowLayout layout;          ///< one or more groups
    AddNorm of;                ///< its inputs
    AddNormGradient gradient;  ///< where the gradient comes from and goes to

    /// The functions of a body (kernels/cuda/body.hpp).
    DEDLOC_HOST_DEVICE std::size_t blocks() const { return layout.block_count(); }
    DEDLOC_HOST_DEVICE unsigned phases() const { return layout.groups + 1; }
    DEDLOC_HOST_DEVICE void begin(std::size_t block, unsigned thread, Shared& shared,
                                  Local& local) const {
        for (unsigned p = 0; p < kPacks; ++p) {
            for (unsigned j = 0; j < kPackElements; ++j) {
                local.by_gain[p][j] = 0;
                local.by_shift[p][j] = 0;
                local.by_bias[p][j] = 0;
            }
        }
        load(block, 0, thread, shared, local);
    }

    DEDLOC_HOST_DEVICE void resume(unsigned phase, std::size_t block, unsigned thread,
                                   Shared& shared, Local& local) const {
        finish(block, phase - 1, thread, shared, local);
        if (phase < layout.groups) return load(block, phase, thread, shared, local);
        const std::size_t place = block * layout.side_by_side() + thread / layout.threads;
        float* const sums = gradient.workspace + 3 * place * layout.columns;
        for (unsigned p = 0; p < kPacks; ++p) {
            const std::size_t column = layout.column(p, thread);
            store(sums + column, local.by_gain[p]);
            store(sums + layout.columns + column, local.by_shift[p]);
            store(sums + 2 * layout.columns + column, local.by_bias[p]);
        }
    }

  private:
    DEDLOC_HOST_DEVICE static void store(float* to, const float (&values)[kPackElements]) {
        Pack<float> pack;
        for (unsigned j = 0; j < kPackElements; ++j) pack.v[j] = values[j];
        kernels::cuda::write_pack<true>(to, pack, Whole{});
    }

    DEDLOC_HOST_DEVICE void load(std::size_t block, unsigned group, unsigned thread, Shared& shared,
                                 Local& local) const {
        const std::size_t row = layout.row(block, group, thread);
        float sum = 0;
        float along = 0;  // along the normal
        if (row < layout.rows) {
            const float mean = gradient.mean[row];
            const float inverse = gradient.inverse[row];
            for (unsigned p = 0; p < kPacks; ++p) {
                const std::size_t column = layout.column(p, thread);
                const std::size_t at = row * layout.columns + column;
                const Pack<T> product = four(static_cast<const T*>(of.product) + at);
                const Pack<float> residual = four(of.residual + at);
                Pack<float> by_out{};
                Pack<T> by_short_out{};
                if (gradient.by_out != nullptr) by_out = four(gradient.by_out + at);
                if (gradient.by_short_out != nullptr) {
                    by_short_out = four(static_cast<const T*>(gradient.by_short_out) + at);
                }
                const Pack<float> bias = four(of.bias + column);
                const Pack<float> gain = four(of.gain + column);
                for (unsigned j = 0; j < kPackElements; ++j) {
                    const float z = widened(product.v[j]) + bias.v[j] + residual.v[j];
                    local.normal[p][j] = normalised(z, mean, inverse);
                    local.by_out[p][j] = by_out.v[j] + widened(by_short_out.v[j]);
                    const float scaled = local.by_out[p][j] * gain.v[j];
                    sum += scaled;
                    along += scaled * local.normal[p][j];
                }
            }
        }
        shared.sums[group % 2][0][thread] = sum;
        shared.sums[group % 2][1][thread] = along;
    }

    DEDLOC_HOST_DEVICE void finish(std::size_t block, unsigned group, unsigned thread,
                                   const Shared& shared, Local& local) const {
        const std::size_t row = layout.row(block, group, thread);
        if (row >= layout.rows) return;
        const auto columns = static_cast<float>(layout.columns);
        const float sum = layout.row_sum(shared.sums[group % 2][0], thread) / columns;
        const float along = layout.row_sum(shared.sums[group % 2][1], thread) / columns;
        const float inverse = gradient.inverse[row];
        for (unsigned p = 0; p < kPacks; ++p) {
            const std::size_t column = layout.column(p, thread);
            const std::size_t at = row * layout.columns + column;
            const Pack<float> gain = four(of.gain + column);
            Pack<float> by_z;
            Pack<T> by_product;
            for (unsigned j = 0; j < kPackElements; ++j) {
                const float by_out = local.by_out[p][j];
                const float normal = local.normal[p][j];
                by_z.v[j] = norm_slope(by_out, gain.v[j], normal, inverse, sum, along);
                by_product.v[j] = rounded<T>(by_z.v[j]);
                local.by_gain[p][j] += by_out * normal;
                local.by_shift[p][j] += by_out;
                local.by_bias[p][j] += by_z.v[j];
            }
            kernels::cuda::write_pack<true>(gradient.by_residual + at, by_z, Whole{});
            kernels::cuda::write_pack<true>(static_cast<T*>(gradient.by_product) + at, by_product,
                                            Whole{});
        }
    }
};

}  // namespace dedloc::training
