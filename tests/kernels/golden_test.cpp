// A hundred LAMB updates in a row on everything that tempts arithmetic to differ. The same bits
// must come from the slow reference, from the kernels of this build, and from every other build:
// this file is linked into one program per set of compiler flags (see CMakeLists.txt).
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "kernels/digest.hpp"
#include "kernels/global_norm.hpp"
#include "kernels/lamb.hpp"
#include "peer/base/bytes.hpp"
#include "tests/kernels/inputs.hpp"
#include "tests/kernels/slow_reference.hpp"
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

using namespace dedloc;

namespace {

constexpr std::size_t kSteps = 100;

struct Case {
    const char* name;
    std::size_t count;
    bool has_zero_parameters;
    const char* golden;  ///< tree digest of p ‖ m ‖ v after 100 updates
};

const Case kCases[]{
    {"one element", 1, false, "188ea397039df203e5eae0d50c712251f09c7b644e5e3ea86167d0d0814d6a79"},
    {"three elements", 3, false,
     "0e40da2242b39c4720170b218e682bf41fff53ee9f564e5dbcf28bcf019596fd"},
    {"all zero", 1000, true, "e1cd3e490defba9b1a6715fc89a0adfc74cf507ec840cc08b07318fcb0d1ae1a"},
    {"one segment less one", 65'535, false,
     "c4edb7b8e221b22d8a2e068c73964e8a7af761e400af4a3d5be9b5b5064ba145"},
    {"one segment and one", 65'537, false,
     "7cdcf546a449044327cd8a063e92c509471b780f342fe861d0f44f7a9e3bbc7c"},
};

struct Tensor {
    std::vector<float> p, m, v;

    /// A NaN's sign and payload differ between machines; infinities do not.
    bool has_no_nan() const {
        const auto is_number = [](float x) { return !std::isnan(x); };
        return std::all_of(p.begin(), p.end(), is_number) &&
               std::all_of(m.begin(), m.end(), is_number) &&
               std::all_of(v.begin(), v.end(), is_number);
    }
    std::string digest() const {
        std::vector<float> all{p};
        all.insert(all.end(), m.begin(), m.end());
        all.insert(all.end(), v.begin(), v.end());
        return to_hex(kernels::tree_digest(std::as_bytes(std::span{all})));
    }
};

Tensor start_of(const Case& test) {
    const Random random{test.count};
    Tensor tensor{.p = std::vector<float>(test.count),
                  .m = tests::adversarial(random.split(1), test.count, 1e-36),
                  .v = tests::adversarial(random.split(2), test.count, 1e-36)};
    if (!test.has_zero_parameters) {
        tensor.p = tests::adversarial(random.split(0), test.count, 1e10);
    }
    for (float& v : tensor.v) v = v < 0 ? 0.0f - v : v;
    return tensor;
}

/// Eight gradients that come round again and again: clipped and huge (0, 4), all zero (3, 7), one
/// so huge that v overflows (6), and moderate ones.
std::vector<std::vector<float>> gradients_of(const Case& test) {
    std::vector<std::vector<float>> gradients;
    for (std::size_t kind = 0; kind < 8; ++kind) {
        const double huge = kind % 4 == 0 ? 1e37 : kind == 6 ? 1e25 : 1e12;
        gradients.push_back(kind % 4 == 3 ? std::vector<float>(test.count)
                                          : tests::adversarial(Random{test.count}.split(100 + kind),
                                                               test.count, huge));
    }
    return gradients;
}

tests::slow::LambInput input_of(std::size_t step, float clip_factor) {
    return {.beta1 = 0x1.ccccccp-1f,
            .one_minus_beta1 = 0x1.99999ap-4f,
            .beta2 = 0x1.ff7ceep-1f,
            .one_minus_beta2 = 0x1.0624dep-10f,
            .epsilon = 0x1.0c6f7ap-20f,
            .weight_decay = step % 3 == 0 ? 0.0f : 0x1.47ae14p-7f,
            .clip_factor = clip_factor,
            .step_size = 0x1.cd5f9ap-10 * static_cast<double>(step + 1) / 128,
            .norm_limit = 10'000};
}

void by_kernels(Tensor& tensor, std::size_t step, const std::vector<float>& gradient) {
    const double norm = kernels::global_norm(gradient);
    const auto in = input_of(step, step % 4 == 0 ? kernels::clip_factor(norm, 1) : 1.0f);
    kernels::lamb(tensor.p, tensor.m, tensor.v, gradient,
                  {.element = {.beta1 = in.beta1,
                               .one_minus_beta1 = in.one_minus_beta1,
                               .beta2 = in.beta2,
                               .one_minus_beta2 = in.one_minus_beta2,
                               .epsilon = in.epsilon,
                               .weight_decay = in.weight_decay,
                               .clip_factor = in.clip_factor},
                   .step_size = in.step_size,
                   .norm_limit = in.norm_limit});
}

void by_reference(Tensor& tensor, std::size_t step, const std::vector<float>& gradient) {
    const double norm = std::sqrt(tests::slow::tree_of_squares(gradient));
    const float clip_factor = step % 4 == 0 && norm > 1 ? static_cast<float>(1 / norm) : 1.0f;
    tests::slow::lamb(tensor.p, tensor.m, tensor.v, gradient, input_of(step, clip_factor));
}

template <class Update>
std::string digest_after_all(const Case& test, const Update& update) {
    Tensor tensor = start_of(test);
    const auto gradients = gradients_of(test);
    for (std::size_t step = 0; step < kSteps; ++step) update(tensor, step, gradients[step % 8]);
    CHECK(tensor.has_no_nan());
    return tensor.digest();
}

}  // namespace

TEST_CASE("a hundred LAMB updates give the golden bits", "[kernels]") {
    for (const Case& test : kCases) {
        INFO(test.name);
        CHECK(digest_after_all(test, by_kernels) == test.golden);
    }
}

TEST_CASE("the golden bits are those of the slow reference", "[kernels]") {
    for (const Case& test : kCases) {
        INFO(test.name);
        CHECK(digest_after_all(test, by_reference) == test.golden);
    }
}

#if defined(__x86_64__)
TEST_CASE("a thread that flushes denormals or rounds up still gets the golden bits", "[kernels]") {
    const unsigned before = _mm_getcsr();
    constexpr unsigned kFlushBoth = 0x8040;
    constexpr unsigned kRoundUp = 0x4000;
    for (const unsigned mode : {kFlushBoth, kRoundUp}) {
        const auto update = [&](Tensor& tensor, std::size_t step,
                                const std::vector<float>& gradient) {
            _mm_setcsr(before | mode);
            by_kernels(tensor, step, gradient);
            const unsigned after = _mm_getcsr();
            _mm_setcsr(before);
            REQUIRE((after & mode) == mode);
        };
        for (const Case& test : {kCases[1], kCases[2]}) {
            CHECK(digest_after_all(test, update) == test.golden);
        }
    }
}
#endif
