// The products are oneDNN's kernel for blocks, C [m, n] = A [m, inner] · B [inner, n] in fp32 from
// bf16 (weight_gradient.cpp says how B is laid out: words of two rows). The gradient goes down
// blocks of keys and has scores transposed, [keys, queries], as they are then rows of A for the
// gradients by keys and values, and pairs of their rows are words of B for that by queries.
#include "boinc_app/albert/host_attention.hpp"

#include <ATen/native/CPUBlas.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>

#include "boinc_app/albert/weight_gradient.hpp"
#include "boinc_app/training/attention_loops.hpp"
#include "boinc_app/training/torch_workers.hpp"

namespace dedloc::training::albert {
namespace {

using kernels::Bfloat16;
using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;
using Word = std::uint32_t;

constexpr std::int64_t kBlock = 64;  ///< queries, or keys, whose scores are held
constexpr std::int64_t kMaxLength = 4096;
constexpr std::int64_t kVector = 16;  ///< fp32 values of a vector of AVX-512

std::int64_t round_up(std::int64_t count, std::int64_t unit) {
    return (count + unit - 1) / unit * unit;
}

/// Rows of one head in a matrix [tokens, hidden].
struct HeadRows {
    std::uint16_t* at(std::int64_t row) const { return values + row * stride; }
    std::uint16_t* values;
    std::int64_t stride;
};

/// Sizes of one head.
struct HeadSize {
    std::int64_t length;  ///< tokens of the sample, with padding
    std::int64_t valid;   ///< without it
    std::int64_t width;
    /// Tokens that blocks hold: few different numbers, since each has kernels of its own.
    std::int64_t padded(std::int64_t tokens) const {
        const auto unit = std::bit_ceil(static_cast<std::uint64_t>(length)) / 16;
        return round_up(tokens, std::max<std::int64_t>(static_cast<std::int64_t>(unit), 32));
    }
    float scale() const { return 1 / std::sqrt(static_cast<float>(width)); }
};

/// Memory that is not initialised.
template <class T>
std::unique_ptr<T[]> buffer(std::int64_t count) {
    return std::unique_ptr<T[]>{new T[static_cast<std::size_t>(count)]};
}

void multiply(std::int64_t m, std::int64_t n, std::int64_t inner, const std::uint16_t* a,
              std::int64_t a_stride, const Word* b, float* c, bool adds = false) {
    at::native::cpublas::brgemm(m, n, inner, a_stride, n, n, adds,
                                reinterpret_cast<const c10::BFloat16*>(a),
                                reinterpret_cast<const c10::BFloat16*>(b), c);
}
std::uint16_t* bits(Bfloat16* values) {
    return reinterpret_cast<std::uint16_t*>(values);
}

/// Words of two columns, transposed: to[width ÷ 2, padded]; 0 beyond `rows`.
void turn_words(const HeadRows& from, std::int64_t rows, std::int64_t width, std::int64_t padded,
                Word* to) {
    for (std::int64_t first = 0; first < padded; first += kVector) {
        const std::int64_t end = std::clamp<std::int64_t>(rows - first, 0, kVector);
        for (std::int64_t w = 0; w < width / 2; ++w) {
            Word* const line = to + w * padded + first;
            for (std::int64_t i = 0; i < end; ++i) {
                const std::uint16_t* const two = from.at(first + i) + 2 * w;
                line[i] = Word{two[0]} | (Word{two[1]} << 16);
            }
            std::fill(line + end, line + kVector, 0);
        }
    }
}

/// Words of two rows: to[padded ÷ 2, width]; 0 beyond `rows`.
void pair_rows(const HeadRows& from, std::int64_t rows, std::int64_t width, std::int64_t padded,
               Word* to) {
    for (std::int64_t row = 0; row < padded; row += 2) {
        Word* const out = to + row / 2 * width;
        if (row + 1 < rows) {
            const std::uint16_t* const even = from.at(row);
            const std::uint16_t* const odd = from.at(row + 1);
            for (std::int64_t c = 0; c < width; ++c) out[c] = Word{even[c]} | (Word{odd[c]} << 16);
        } else if (row < rows) {
            std::copy_n(from.at(row), width, out);
        } else {
            std::fill_n(out, width, 0);
        }
    }
}

/// The transpose: to[width, padded]; 0 beyond `rows`.
void turn(const HeadRows& from, std::int64_t rows, std::int64_t width, std::int64_t padded,
          std::uint16_t* to) {
    for (std::int64_t first = 0; first < padded; first += kVector) {
        const std::int64_t end = std::clamp<std::int64_t>(rows - first, 0, kVector);
        for (std::int64_t c = 0; c < width; ++c) {
            std::uint16_t* const line = to + c * padded + first;
            for (std::int64_t i = 0; i < end; ++i) line[i] = from.at(first + i)[c];
            std::fill(line + end, line + kVector, std::uint16_t{0});
        }
    }
}

/// Rounds rows of fp32, times a factor for each row if there are any.
void write_rows(const float* from, std::int64_t first, std::int64_t rows, std::int64_t width,
                const float* factors, const HeadRows& to) {
    for (std::int64_t row = 0; row < rows; ++row) {
        const float factor = factors == nullptr ? 1.0F : factors[row];
        std::uint16_t* const out = to.at(first + row);
        for (std::int64_t c = 0; c < width; ++c) {
            out[c] = kernels::to_bfloat16(from[row * width + c] * factor).bits;
        }
    }
}

void attend(const HeadSize& size, const HeadRows& q, const HeadRows& k, const HeadRows& v,
            const HeadRows& out, float* logarithm) {
    const std::int64_t width = size.width, keys = size.padded(size.valid);
    const std::int64_t stored = std::min(keys, size.length);
    const auto turned = buffer<Word>(width / 2 * keys), pairs = buffer<Word>(keys / 2 * width);
    turn_words(k, stored, width, keys, turned.get());
    pair_rows(v, stored, width, keys, pairs.get());
    const auto scores = buffer<float>(kBlock * keys), sums = buffer<float>(kBlock * width);
    const auto weights = buffer<Bfloat16>(kBlock * keys);
    float inverse[kBlock];
    for (std::int64_t first = 0; first < size.length; first += kBlock) {
        const std::int64_t queries = std::min(kBlock, size.length - first);
        multiply(queries, keys, width, q.at(first), q.stride, turned.get(), scores.get());
        soften(kernels::widest_instruction_set(),
               {.scores = scores.get(),
                .queries = static_cast<std::size_t>(queries),
                .keys = static_cast<std::size_t>(size.valid),
                .stride = static_cast<std::size_t>(keys),
                .scale = size.scale()},
               {.weights = weights.get(), .inverse = inverse, .logarithm = logarithm + first});
        multiply(queries, width, keys, bits(weights.get()), keys, pairs.get(), sums.get());
        write_rows(sums.get(), first, queries, width, inverse, out);
    }
    at::native::cpublas::brgemm_release();
}

/// Tensors of one head, and the gradients by them.
struct HeadGradient {
    HeadRows q, k, v, out, by_out, by_q, by_k, by_v;
    const float* logarithm;
};

/// Σ out × by_out of each query; 0 beyond the sample.
void sum_along(const HeadSize& size, const HeadGradient& of, std::int64_t padded, float* along) {
    std::fill_n(along, padded, 0.0F);
    for (std::int64_t row = 0; row < size.length; ++row) {
        const std::uint16_t* const out = of.out.at(row);
        const std::uint16_t* const by = of.by_out.at(row);
        for (std::int64_t c = 0; c < size.width; ++c) {
            along[row] += kernels::to_float(Bfloat16{out[c]}) * kernels::to_float(Bfloat16{by[c]});
        }
    }
}

void attend_gradient(const HeadSize& size, const HeadGradient& of) {
    const std::int64_t width = size.width, queries = size.padded(size.length);
    const std::int64_t keys = round_up(std::min(size.padded(size.valid), size.length), kVector);
    const std::int64_t stored = std::min(keys, size.length);
    const std::int64_t words = width / 2 * queries;
    const auto q_turned = buffer<Word>(words), by_turned = buffer<Word>(words);
    const auto q_pairs = buffer<Word>(words), by_pairs = buffer<Word>(words);
    const auto k_turned = buffer<std::uint16_t>(width * keys);
    turn_words(of.q, size.length, width, queries, q_turned.get());
    turn_words(of.by_out, size.length, width, queries, by_turned.get());
    pair_rows(of.q, size.length, width, queries, q_pairs.get());
    pair_rows(of.by_out, size.length, width, queries, by_pairs.get());
    turn(of.k, stored, width, keys, k_turned.get());
    const auto along = buffer<float>(queries), logarithm = buffer<float>(queries);
    sum_along(size, of, queries, along.get());
    std::fill_n(logarithm.get(), queries, 0.0F);
    std::copy_n(of.logarithm, size.length, logarithm.get());
    const auto scores = buffer<float>(kBlock * queries),
               by_weights = buffer<float>(kBlock * queries);
    const auto weights = buffer<Bfloat16>(kBlock * queries);
    const auto by_scores = buffer<Bfloat16>(kBlock * queries);
    const auto pairs = buffer<Word>(kBlock / 2 * queries);
    const auto block = buffer<float>(kBlock * width), by_q = buffer<float>(width * queries);
    for (std::int64_t first = 0; first < stored; first += kBlock) {
        const std::int64_t rows = std::min(kBlock, stored - first), even = round_up(rows, 2);
        multiply(rows, queries, width, of.k.at(first), of.k.stride, q_turned.get(), scores.get());
        multiply(rows, queries, width, of.v.at(first), of.v.stride, by_turned.get(),
                 by_weights.get());
        std::fill(scores.get() + rows * queries, scores.get() + even * queries, 0.0F);
        std::fill(by_weights.get() + rows * queries, by_weights.get() + even * queries, 0.0F);
        soften_gradient(
            kernels::widest_instruction_set(),
            {.scores = scores.get(),
             .by_weights = by_weights.get(),
             .logarithm = logarithm.get(),
             .along = along.get(),
             .keys = static_cast<std::size_t>(even),
             .valid_keys =
                 static_cast<std::size_t>(std::clamp<std::int64_t>(size.valid - first, 0, rows)),
             .queries = static_cast<std::size_t>(queries),
             .scale = size.scale()},
            {.weights = weights.get(), .by_scores = by_scores.get(), .pairs = pairs.get()});
        multiply(rows, width, queries, bits(weights.get()), queries, by_pairs.get(), block.get());
        write_rows(block.get(), first, rows, width, nullptr, of.by_v);
        multiply(rows, width, queries, bits(by_scores.get()), queries, q_pairs.get(), block.get());
        write_rows(block.get(), first, rows, width, nullptr, of.by_k);
        multiply(width, queries, even, k_turned.get() + first, keys, pairs.get(), by_q.get(),
                 first > 0);
    }
    for (std::int64_t row = stored; row < size.length; ++row) {
        std::fill_n(of.by_k.at(row), width, std::uint16_t{0});
        std::fill_n(of.by_v.at(row), width, std::uint16_t{0});
    }
    for (std::int64_t row = 0; row < size.length; ++row) {
        for (std::int64_t c = 0; c < width; ++c) {
            of.by_q.at(row)[c] = kernels::to_bfloat16(by_q[c * queries + row]).bits;
        }
    }
    at::native::cpublas::brgemm_release();
}

/// All heads of a tensor [rows, length, hidden].
class Heads {
  public:
    Heads(const at::Tensor& of, std::int64_t heads)
        : values_(reinterpret_cast<std::uint16_t*>(
              const_cast<c10::BFloat16*>(of.const_data_ptr<c10::BFloat16>()))),
          row_size_(of.size(1) * of.size(2)),
          hidden_(of.size(2)),
          width_(of.size(2) / heads) {}
    HeadRows of(std::int64_t row, std::int64_t head) const {
        return {.values = values_ + row * row_size_ + head * width_, .stride = hidden_};
    }

  private:
    std::uint16_t* values_;
    std::int64_t row_size_, hidden_, width_;
};

/// Calls call(row, head, size, first element of its logarithms) for each head of each row.
template <class Call>
void for_each_head(const at::Tensor& q, std::int64_t heads, at::IntArrayRef row_lengths,
                   const Call& call) {
    const std::int64_t length = q.size(1), width = q.size(2) / heads;
    TorchWorkers{}.run(static_cast<std::size_t>(q.size(0) * heads), [&](std::size_t task) {
        const auto number = static_cast<std::int64_t>(task);
        const std::int64_t row = number / heads;
        const HeadSize size{
            .length = length, .valid = row_lengths[static_cast<std::size_t>(row)], .width = width};
        call(row, number % heads, size, number * length);
    });
}

class HostAttention final : public torch::autograd::Function<HostAttention> {
  public:
    static Variable forward(AutogradContext* context, const Variable& q, const Variable& k,
                            const Variable& v, std::int64_t heads,
                            const std::vector<std::int64_t>& row_lengths) {
        const at::Tensor out = at::empty_like(q);
        const at::Tensor logarithms =
            at::empty({q.size(0) * heads * q.size(1)}, q.options().dtype(at::kFloat));
        float* const logarithm = logarithms.mutable_data_ptr<float>();
        const Heads of_q{q, heads}, of_k{k, heads}, of_v{v, heads}, of_out{out, heads};
        for_each_head(q, heads, row_lengths,
                      [&](auto row, auto head, const HeadSize& size, std::int64_t first) {
                          attend(size, of_q.of(row, head), of_k.of(row, head), of_v.of(row, head),
                                 of_out.of(row, head), logarithm + first);
                      });
        context->save_for_backward({q, k, v, out, logarithms});
        context->saved_data["heads"] = heads;
        context->saved_data["lengths"] = row_lengths;
        context->set_materialize_grads(false);
        return out;
    }
    static variable_list backward(AutogradContext* context, const variable_list& by) {
        variable_list gradients(5);
        if (!by[0].defined()) return gradients;
        const auto saved = context->get_saved_variables();
        const std::int64_t heads = context->saved_data["heads"].toInt();
        const auto row_lengths = context->saved_data["lengths"].toIntVector();
        const at::Tensor by_out = by[0].contiguous();
        for (std::size_t i = 0; i < 3; ++i) gradients[i] = at::empty_like(saved[i]);
        const Heads q{saved[0], heads}, k{saved[1], heads}, v{saved[2], heads};
        const Heads out{saved[3], heads}, of_by_out{by_out, heads};
        const Heads by_q{gradients[0], heads}, by_k{gradients[1], heads}, by_v{gradients[2], heads};
        const float* const logarithm = saved[4].const_data_ptr<float>();
        for_each_head(saved[0], heads, row_lengths,
                      [&](auto row, auto head, const HeadSize& size, std::int64_t first) {
                          attend_gradient(size, {.q = q.of(row, head),
                                                 .k = k.of(row, head),
                                                 .v = v.of(row, head),
                                                 .out = out.of(row, head),
                                                 .by_out = of_by_out.of(row, head),
                                                 .by_q = by_q.of(row, head),
                                                 .by_k = by_k.of(row, head),
                                                 .by_v = by_v.of(row, head),
                                                 .logarithm = logarithm + first});
                      });
        return gradients;
    }
};

}  // namespace

bool has_host_attention(std::int64_t head_width, std::int64_t length) {
    return head_width % kVector == 0 && length <= kMaxLength && has_exact_sums();
}

at::Tensor host_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          std::int64_t heads, const std::vector<std::int64_t>& row_lengths) {
    return HostAttention::apply(q.contiguous(), k.contiguous(), v.contiguous(), heads, row_lengths);
}

}  // namespace dedloc::training::albert
