// oneDNN's kernel multiplies blocks A [out, tokens] · B [tokens, in] of bf16 and adds the result to
// fp32. It wants two tokens that follow each other side by side in a word of 32 bits: B as rows of
// words, one for each column; A transposed, so that the words of a row follow each other. Tokens
// are cut into chunks whose blocks fit into the second cache; the last one is filled up with zeros.
#include "boinc_app/albert/weight_gradient.hpp"

#include <ATen/native/CPUBlas.h>
#include <ATen/ops/empty.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "boinc_app/training/torch_workers.hpp"
#include "peer/base/check.hpp"

namespace dedloc::training::albert {
namespace {

using Word = std::uint32_t;  // two tokens of a column

// These are among the fastest of the sizes tried for [1024, 3072]ᵀ · [1024, 768]: 212 GFLOP/s on a
// core of an AMD EPYC (Zen 4); 128 tokens: 177.
constexpr std::int64_t kBlock = 64;
constexpr std::int64_t kChunk = 512;
constexpr std::int64_t kVector = 16;  ///< fp32 values of a vector of AVX-512
/// A smaller last chunk is a multiple of this, so that there are few different kernels.
constexpr std::int64_t kGrain = 32;
constexpr std::int64_t kLine = kGrain / 2;  ///< words of a line of the cache

std::int64_t padded(std::int64_t tokens) {
    return (tokens + kGrain - 1) / kGrain * kGrain;
}

std::size_t blocks_of(std::int64_t width) {
    return static_cast<std::size_t>((width + kBlock - 1) / kBlock);
}

/// Columns of block number `block`.
struct Columns {
    Columns(std::size_t block, std::int64_t width)
        : first(static_cast<std::int64_t>(block) * kBlock),
          count(std::min(kBlock, width - first)) {}
    /// Words of a row of B, as the kernel's vectors are wide.
    std::int64_t stride() const { return (count + kVector - 1) / kVector * kVector; }
    std::int64_t first;
    std::int64_t count;
};

at::Tensor words(std::int64_t tokens, std::int64_t width) {
    const auto columns = static_cast<std::int64_t>(blocks_of(width)) * kBlock;
    return at::empty({padded(tokens) / 2 * columns}, at::kInt);
}
Word* word_data(const at::Tensor& words) {
    return reinterpret_cast<Word*>(words.mutable_data_ptr<std::int32_t>());
}
const c10::BFloat16* shorts(const Word* words) {
    return reinterpret_cast<const c10::BFloat16*>(words);
}

/// Reads pairs of tokens of a matrix [tokens, width]; tokens beyond its end are 0.
class Pairs {
  public:
    explicit Pairs(const at::Tensor& matrix)
        : values_(reinterpret_cast<const std::uint16_t*>(matrix.const_data_ptr<c10::BFloat16>())),
          tokens_(matrix.size(0)),
          width_(matrix.size(1)) {}

    /// Writes the pair's word of each column to out[stride × column].
    void write(std::int64_t pair, const Columns& columns, Word* out, std::int64_t stride) const {
        const std::int64_t token = 2 * pair;
        const std::uint16_t* const even = values_ + token * width_ + columns.first;
        const std::uint16_t* const odd = even + width_;
        if (token + 1 < tokens_) {
            for (std::int64_t c = 0; c < columns.count; ++c) {
                out[c * stride] = Word{even[c]} | (Word{odd[c]} << 16);
            }
            return;
        }
        for (std::int64_t c = 0; c < columns.count; ++c) {
            out[c * stride] = token < tokens_ ? Word{even[c]} : 0;
        }
    }

    /// Writes kLine pairs, whose words of a column follow each other, to out[stride × column]. So a
    /// line of the cache is written at once: columns are far apart.
    void write_turned(std::int64_t pair, const Columns& columns, Word* out,
                      std::int64_t stride) const {
        if (2 * (pair + kLine) > tokens_) {
            for (std::int64_t i = 0; i < kLine; ++i) write(pair + i, columns, out + i, stride);
            return;
        }
        const std::uint16_t* const first = values_ + 2 * pair * width_ + columns.first;
        for (std::int64_t c = 0; c < columns.count; ++c) {
            for (std::int64_t i = 0; i < kLine; ++i) {
                const std::uint16_t* const even = first + 2 * i * width_ + c;
                out[c * stride + i] = Word{even[0]} | (Word{even[width_]} << 16);
            }
        }
    }

  private:
    const std::uint16_t* values_;
    std::int64_t tokens_;
    std::int64_t width_;
};

/// Calls call(first token, tokens) for each chunk.
template <class Call>
void for_each_chunk(std::int64_t tokens, const Call& call) {
    for (std::int64_t first = 0; first < tokens; first += kChunk) {
        call(first, std::min(kChunk, padded(tokens - first)));
    }
}

void multiply(const Columns& out, const Columns& in, std::int64_t chunk, const Word* a,
              const Word* b, float* sum, std::int64_t width) {
    at::native::cpublas::brgemm(out.count, in.count, chunk, chunk, in.stride(), width, true,
                                shorts(a), shorts(b), sum);
}

}  // namespace

bool has_exact_sums() {
    static const bool has = [] {
        try {
            const std::vector<Word> ones(kBlock * kGrain / 2, 0x3f803f80U);
            std::vector<float> sum(kBlock * kBlock, 1.0F);
            const Columns columns{0, kBlock};
            multiply(columns, columns, kGrain, ones.data(), ones.data(), sum.data(), kBlock);
            at::native::cpublas::brgemm_release();
            return std::ranges::all_of(sum, [](float x) { return x == kGrain + 1; });
        } catch (const std::exception&) {
            return false;
        }
    }();
    return has;
}

GradientInput::GradientInput(const at::Tensor& x)
    : tokens_(x.size(0)), width_(x.size(1)), pairs_(words(tokens_, width_)) {
    DEDLOC_CHECK(x.is_contiguous(), "rows must follow each other");
    Word* const to = word_data(pairs_);
    const std::int64_t pairs = padded(tokens_) / 2;
    const Pairs from{x};
    TorchWorkers{}.run(blocks_of(width_), [&](std::size_t block) {
        const Columns columns{block, width_};
        Word* const out = to + columns.first * pairs;
        for (std::int64_t p = 0; p < pairs; ++p) {
            from.write(p, columns, out + p * columns.stride(), 1);
        }
    });
}

void GradientInput::add_to(const at::Tensor& sum, const at::Tensor& by_out) const {
    DEDLOC_CHECK(by_out.is_contiguous() && sum.is_contiguous() && by_out.size(0) == tokens_,
                 "rows must follow each other");
    float* const sums = sum.mutable_data_ptr<float>();
    const Word* const b = word_data(pairs_);
    const std::int64_t pairs = padded(tokens_) / 2;
    const Pairs from{by_out};
    TorchWorkers{}.run(blocks_of(by_out.size(1)), [&](std::size_t block) {
        const Columns out{block, by_out.size(1)};
        std::vector<Word> a(static_cast<std::size_t>(kBlock * kChunk / 2));
        for_each_chunk(tokens_, [&](std::int64_t first, std::int64_t chunk) {
            for (std::int64_t p = 0; p < chunk / 2; p += kLine) {
                from.write_turned(first / 2 + p, out, a.data() + p, chunk / 2);
            }
            for (std::size_t i = 0; i < blocks_of(width_); ++i) {
                const Columns in{i, width_};
                multiply(out, in, chunk, a.data(), b + in.first * pairs + first / 2 * in.stride(),
                         sums + out.first * width_ + in.first, width_);
            }
        });
        // On processors with AMX, libtorch's other products set up its registers anew.
        at::native::cpublas::brgemm_release();
    });
}

}  // namespace dedloc::training::albert
