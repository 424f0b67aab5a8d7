// Adds a hundred gradients to one sum, of each width; takes the norms of gradient and sum after
// each and clips the sum after every fourth. Linked, like golden_test.cpp, into one program per
// compiler and set of flags.
#include <array>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <string>

#include "kernels/digest.hpp"
#include "kernels/finite.hpp"
#include "kernels/global_norm.hpp"
#include "peer/base/bytes.hpp"
#include "tests/kernels/every_worker.hpp"
#include "tests/kernels/inputs.hpp"
#include "tests/kernels/slow_codec.hpp"
#include "tests/kernels/slow_reference.hpp"

using namespace dedloc;

namespace {

using Floats = std::vector<float>;
constexpr std::size_t kSteps = 100;
constexpr float kLimit = 0x1.8p7f;

enum class Form { kFloat, kHalf, kBfloat16 };

struct Case {
    std::size_t count;
    Form form;
    bool is_all_zero;
    const char* golden;  ///< tree digest of the sum and all numbers returned
};

const Case kCases[]{
    {1, Form::kFloat, false, "6535e758b33c4b35a514e167b62bb581bef6ad82ac96819433d59aff089ec559"},
    {3, Form::kFloat, false, "199f981f48bb63840564a185da8739ba6cf1dc2e5bd584e55cc462cb8606b198"},
    {1000, Form::kFloat, true, "8bbe62646cc4ebe80aa827e7e1c05afe1ac36d5d60bb8959d239f8ee0974bae2"},
    {65'535, Form::kFloat, false,
     "52df59f401809af8fe12ab846ce708a6ffadda985a44b51b784e36e8109f5d20"},
    {65'537, Form::kFloat, false,
     "4ad58c09a99db37586aaa9d80fb9ad209fefaaa0a66f4db9f57d42419730ac13"},
    {1, Form::kHalf, false, "5c1cab240df2253343561ba89a7d79d6b3d3961d6e035d44fddd2ce6ef343d4a"},
    {3, Form::kHalf, false, "4e180b81d7ad5ec6c70735f0d0f69c7789c70a73ce2745735b3a84ea764bd118"},
    {1000, Form::kHalf, true, "8bbe62646cc4ebe80aa827e7e1c05afe1ac36d5d60bb8959d239f8ee0974bae2"},
    {65'535, Form::kHalf, false,
     "94d2915733543ea5d7810210fa0fd4a480ccd3ba35d28400071ff719613a1ebe"},
    {65'537, Form::kHalf, false,
     "ee9a71d6c3b56a807100bf68814603c35b652aa4ec0e0590775abfade0f412c9"},
    {1, Form::kBfloat16, false, "de5908c54e13260a3535c9fa88d2504512ce444cc4d94ef3a0d7231f454c39f0"},
    {3, Form::kBfloat16, false, "119b917c7502fcbce3690570b86514f3b22738affdf584aa72f0785c12710141"},
    {1000, Form::kBfloat16, true,
     "8bbe62646cc4ebe80aa827e7e1c05afe1ac36d5d60bb8959d239f8ee0974bae2"},
    {65'535, Form::kBfloat16, false,
     "2e14bd2631b896053ee6d31c5e3f8704ae3a41f9bc65eb5b0dbd926e2c0826c4"},
    {65'537, Form::kBfloat16, false,
     "319f06a4686b0a37f349cc0fdf700dfbac32fb3395498203c3340491442f3f03"},
};

/// Eight gradients, used in turn: small ones, huge ones, one all zero. Made once for each case.
const std::vector<Floats>& gradients_of(const Case& test) {
    static std::map<const Case*, std::vector<Floats>> made;
    const auto [entry, is_new] = made.try_emplace(&test, 8);
    std::vector<Floats>& gradients = entry->second;
    if (!is_new) return gradients;
    for (std::size_t kind = 0; kind < gradients.size(); ++kind) {
        Floats& gradient = gradients[kind];
        gradient.resize(test.count);
        if (!test.is_all_zero && kind != 5) {
            const double huge = kind % 2 == 0 ? 1e4 : test.form == Form::kHalf ? 6e4 : 1e35;
            gradient = tests::adversarial(Random{test.count}.split(kind), test.count, huge);
        }
        for (float& x : gradient) {
            if (test.form == Form::kHalf) {
                x = static_cast<float>(tests::slow::half_value(tests::slow::half_bits(x)));
            } else if (test.form == Form::kBfloat16) {
                x = static_cast<float>(tests::slow::bfloat16_value(tests::slow::bfloat16_bits(x)));
            }
        }
    }
    return gradients;
}

float scale_at(std::size_t step) {
    constexpr std::array kScales{1.0f, -0x1.99999ap-4f, 0x1p-140f, 0x1.8p3f, -1.0f};
    return kScales[step % kScales.size()];
}

/// The result of a chain of steps.
struct Trace {
    Floats sum;
    std::vector<double> numbers;

    std::string digest() const {
        Floats all{sum};
        for (const double number : numbers) {
            const auto bits = std::bit_cast<std::uint64_t>(number);
            all.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
            all.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits >> 32)));
        }
        return to_hex(kernels::tree_digest(std::as_bytes(std::span{all})));
    }
};

/// sum ← sum + scale × gradient. Returns the sum of the terms' squares.
double add(Floats& sum, const Floats& gradient, float scale, const kernels::Workers& workers) {
    Floats terms(gradient.size());
    for (std::size_t i = 0; i < sum.size(); ++i) {
        terms[i] = tests::slow::multiplied(scale, gradient[i]);
        sum[i] = tests::slow::added(sum[i], terms[i]);
    }
    return kernels::sum_of_squares(terms, workers);
}

template <class WorkerAt>
std::string by_kernels(const Case& test, const std::vector<Floats>& gradients,
                       const WorkerAt& worker_at) {
    Trace trace{.sum = Floats(test.count), .numbers = {}};
    for (std::size_t step = 0; step < kSteps; ++step) {
        const kernels::Workers& workers = worker_at(step);
        const double squares = add(trace.sum, gradients[step % 8], scale_at(step), workers);
        const double norm = kernels::global_norm(trace.sum, workers);
        trace.numbers.insert(trace.numbers.end(), {squares, norm});
        if (step % 4 == 3) {
            const float factor = kernels::clip_factor(norm, kLimit);
            for (float& x : trace.sum) x = tests::slow::multiplied(factor, x);
        }
        CHECK(kernels::all_finite(trace.sum, workers));
    }
    return trace.digest();
}

std::string by_reference(const Case& test) {
    const auto& gradients = gradients_of(test);
    Trace trace{.sum = Floats(test.count), .numbers = {}};
    for (std::size_t step = 0; step < kSteps; ++step) {
        const double squares =
            tests::slow::accumulate(trace.sum, gradients[step % 8], scale_at(step));
        const double norm = std::sqrt(tests::slow::tree_of_squares(trace.sum));
        trace.numbers.insert(trace.numbers.end(), {squares, norm});
        if (step % 4 != 3) continue;
        const double limit{kLimit};
        const float factor = norm > limit ? static_cast<float>(limit / norm) : 1.0f;
        for (float& x : trace.sum) x = tests::slow::multiplied(factor, x);
    }
    return trace.digest();
}

}  // namespace

TEST_CASE("a hundred sums give the golden bits with every vector unit and thread", "[kernels]") {
    const tests::WidthsByTurns turns{2};
    for (const Case& test : kCases) {
        INFO(test.count << " elements, form " << static_cast<int>(test.form));
        const auto& gradients = gradients_of(test);
        CHECK(by_kernels(test, gradients, turns) == test.golden);
        if (test.count > tests::kLongChain) continue;
        tests::with_every_worker({3}, [&](const kernels::Workers& workers) {
            INFO(name_of(workers.instruction_set()));
            CHECK(by_kernels(test, gradients, tests::Always{workers}) == test.golden);
        });
    }
}

TEST_CASE("the golden bits of sums are those of the slow reference", "[kernels][reference]") {
    for (const Case& test : kCases) {
        INFO(test.count << " elements, form " << static_cast<int>(test.form));
        CHECK(by_reference(test) == test.golden);
    }
}
