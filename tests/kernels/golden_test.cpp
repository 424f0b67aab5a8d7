// A hundred consecutive updates of each optimizer on inputs that reveal differences in arithmetic.
// The slow reference, the kernels of this build with every instruction set and several numbers of
// threads, and every other build must give the same bits: this file is linked into one program per
// compiler and set of flags (see CMakeLists.txt).
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "kernels/digest.hpp"
#include "kernels/exact_arithmetic.hpp"
#include "kernels/global_norm.hpp"
#include "kernels/lamb.hpp"
#include "kernels/sgd.hpp"
#include "peer/base/bytes.hpp"
#include "tests/kernels/every_worker.hpp"
#include "tests/kernels/inputs.hpp"
#include "tests/kernels/one_tensor.hpp"
#include "tests/kernels/slow_reference.hpp"
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

using namespace dedloc;

namespace {

constexpr std::size_t kSteps = 100;

enum class Optimizer { kLamb, kNvidiaLamb, kSgd, kLarc };

struct Case {
    const char* name;
    std::size_t count;
    bool has_zero_parameters;
    const char* golden;  ///< tree digest of p ‖ m ‖ v after 100 updates
    Optimizer optimizer = Optimizer::kLamb;
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
    {"NVIDIA's, one element", 1, false,
     "83d1a5bce63aea38627f2335c3e940d9576c5307d247f5ca346a9d175a615299", Optimizer::kNvidiaLamb},
    {"NVIDIA's, three elements", 3, false,
     "85e66999e5fea0e26bbf8141df5cc4430cc254f8678a0d71a285ff065adce271", Optimizer::kNvidiaLamb},
    {"NVIDIA's, all zero", 1000, true,
     "479f59f07e05a67c03bfecf3d8f9f1545aa1649ded41d5dad1d5239325b46ff5", Optimizer::kNvidiaLamb},
    {"NVIDIA's, one segment less one", 65'535, false,
     "546a32d2c24a02483e7547c25bd8aae25c4c3a10a4eccf49c26d8625e96cc8ac", Optimizer::kNvidiaLamb},
    {"NVIDIA's, one segment and one", 65'537, false,
     "33b8f10eb96c3f11e7c04509984c7d12b08d6aaa135ea0b25bc062efcf3fcdce", Optimizer::kNvidiaLamb},
    {"SGD, one element", 1, false,
     "a62cfea61f26eac41bf297e6f0f9b3407e8f5cbf01f1ce3263d3650d5cd9b148", Optimizer::kSgd},
    {"SGD, three elements", 3, false,
     "8585007a63a71ee3add1d8ce0d89626491acbe6de9e5dfa2c5a2cf7f6673db98", Optimizer::kSgd},
    {"SGD, all zero", 1000, true,
     "984131a1de70c3b332260176d2c68131e26e09f7911682e51a5d983de803ae47", Optimizer::kSgd},
    {"SGD, one segment less one", 65'535, false,
     "1641315bad129caf6877532d57e3f9c1c9bba048396efbc9f4cf7ecb37dc3467", Optimizer::kSgd},
    {"SGD, one segment and one", 65'537, false,
     "bdda085ce3f67bc20dfbcffcdca19ab152ae9cbdf4a452d6a5ab539dd4450e6b", Optimizer::kSgd},
    {"LARC, one element", 1, false,
     "817a4a610d438eb472934ef26f195ebd5470480d34f31bc1d1e3335c815232b7", Optimizer::kLarc},
    {"LARC, three elements", 3, false,
     "729949c0aacbaff0e529c093b8151133f4322427eee9cf4eab419e43d80de10a", Optimizer::kLarc},
    {"LARC, all zero", 1000, true,
     "d6a5fbefbdc364cd185745d7b9a19b5bb934ccef564c7b7d5c70c034e9a04506", Optimizer::kLarc},
    {"LARC, one segment less one", 65'535, false,
     "6fea9fd0e5dc76f4ce19689befed7b4112cd11963290374d8247755003f4addd", Optimizer::kLarc},
    {"LARC, one segment and one", 65'537, false,
     "f1a78d689e4a2e6f3e35db3c528ad32121e4fbe82e66abc7dfba77b792084052", Optimizer::kLarc},
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

/// Eight gradients, used in turn: clipped and huge (0, 4), all zero (3, 7), one so huge that v
/// overflows (6), and moderate ones.
std::vector<std::vector<float>> gradients_of(std::size_t count) {
    std::vector<std::vector<float>> gradients;
    for (std::size_t kind = 0; kind < 8; ++kind) {
        const double huge = kind % 4 == 0 ? 1e37 : kind == 6 ? 1e25 : 1e12;
        gradients.push_back(kind % 4 == 3
                                ? std::vector<float>(count)
                                : tests::adversarial(Random{count}.split(100 + kind), count, huge));
    }
    return gradients;
}

/// The tensor before the first update, and the gradients.
struct Inputs {
    Tensor start;
    std::vector<std::vector<float>> gradients;
};

/// The optimizers share them, so they are made once for each length: random numbers cost more than
/// the kernels.
const Inputs& inputs_of(const Case& test) {
    static std::map<std::pair<std::size_t, bool>, Inputs> made;
    const auto [entry, is_new] = made.try_emplace({test.count, test.has_zero_parameters});
    if (is_new) entry->second = {.start = start_of(test), .gradients = gradients_of(test.count)};
    return entry->second;
}

/// 1 − βᵗ by repeated multiplication, as the coordinator computes it. It is an input, so it must
/// not depend on the rounding mode that a test sets.
float correction(double beta, std::size_t step) {
    const kernels::ExactArithmetic exact;
    volatile double power = 1;  // else a compiler might move it out of the exact section
    for (std::size_t i = 0; i <= step; ++i) power = power * beta;
    volatile float rest = static_cast<float>(1 - power);
    return rest;
}

tests::slow::LambInput lamb_input(Optimizer optimizer, std::size_t step, float clip_factor) {
    const bool is_nvidia = optimizer == Optimizer::kNvidiaLamb;
    const bool decays = step % 3 != 0;
    return {.beta1 = 0x1.ccccccp-1f,
            .one_minus_beta1 = 0x1.99999ap-4f,
            .beta2 = 0x1.ff7ceep-1f,
            .one_minus_beta2 = 0x1.0624dep-10f,
            .epsilon = 0x1.0c6f7ap-20f,
            .weight_decay = decays ? 0x1.47ae14p-7f : 0.0f,
            .clip_factor = clip_factor,
            .step_size = 0x1.cd5f9ap-10 * static_cast<double>(step + 1) / 128,
            .norm_limit = is_nvidia ? std::numeric_limits<double>::max() : 10'000,
            .debiases_moments = is_nvidia,
            .first_correction = is_nvidia ? correction(0.9, step) : 1.0f,
            .second_correction = is_nvidia ? correction(0.999, step) : 1.0f,
            .adapts = !is_nvidia || decays};
}

tests::slow::SgdInput sgd_input(Optimizer optimizer, float clip_factor) {
    return {.learning_rate = 0x1.333334p-2f,
            .momentum = 0x1.ccccccp-1f,
            .weight_decay = 0x1.0c6f7ap-20f,
            .clip_factor = clip_factor,
            .trust = optimizer == Optimizer::kLarc ? 0x1.0624dd2f1a9fcp-10 : 0,
            .epsilon = 0x1.5798ee2308c3ap-27};
}

void by_kernels(Tensor& tensor, const Case& test, std::size_t step,
                const std::vector<float>& gradient, const kernels::Workers& workers) {
    const double norm = kernels::global_norm(gradient, workers);
    const float clip_factor = step % 4 == 0 ? kernels::clip_factor(norm, 1) : 1.0f;
    if (test.optimizer == Optimizer::kSgd || test.optimizer == Optimizer::kLarc) {
        const auto in = sgd_input(test.optimizer, clip_factor);
        tests::sgd_of_one({tensor.p, tensor.m, gradient},
                          {.element = {.learning_rate = in.learning_rate,
                                       .momentum = in.momentum,
                                       .weight_decay = in.weight_decay,
                                       .clip_factor = in.clip_factor},
                           .trust = in.trust,
                           .epsilon = in.epsilon},
                          workers);
        return;
    }
    const auto in = lamb_input(test.optimizer, step, clip_factor);
    tests::lamb_of_one({tensor.p, tensor.m, tensor.v, gradient},
                       {.element = {.beta1 = in.beta1,
                                    .one_minus_beta1 = in.one_minus_beta1,
                                    .beta2 = in.beta2,
                                    .one_minus_beta2 = in.one_minus_beta2,
                                    .epsilon = in.epsilon,
                                    .weight_decay = in.weight_decay,
                                    .clip_factor = in.clip_factor,
                                    .first_correction = in.first_correction,
                                    .second_correction = in.second_correction},
                        .learning_rate = in.step_size,
                        .norm_limit = in.norm_limit,
                        .variant = in.debiases_moments ? kernels::LambVariant::kMomentsDebiased
                                                       : kernels::LambVariant::kStepDebiased},
                       {.adapts = in.adapts}, workers);
}

void by_reference(Tensor& tensor, const Case& test, std::size_t step,
                  const std::vector<float>& gradient) {
    const double norm = std::sqrt(tests::slow::tree_of_squares(gradient));
    const float clip_factor = step % 4 == 0 && norm > 1 ? static_cast<float>(1 / norm) : 1.0f;
    if (test.optimizer == Optimizer::kSgd || test.optimizer == Optimizer::kLarc) {
        tests::slow::sgd(tensor.p, tensor.m, gradient, sgd_input(test.optimizer, clip_factor));
        return;
    }
    tests::slow::lamb(tensor.p, tensor.m, tensor.v, gradient,
                      lamb_input(test.optimizer, step, clip_factor));
}

template <class Update>
std::string digest_after_all(const Case& test, const Update& update) {
    const Inputs& inputs = inputs_of(test);
    Tensor tensor = inputs.start;
    for (std::size_t step = 0; step < kSteps; ++step) {
        update(tensor, test, step, inputs.gradients[step % 8]);
    }
    CHECK(tensor.has_no_nan());
    return tensor.digest();
}

/// The same with the kernels, on the workers worker_at(step).
template <class WorkerAt>
std::string digest_by(const Case& test, const WorkerAt& worker_at) {
    return digest_after_all(test, [&](Tensor& tensor, const Case& same, std::size_t step,
                                      const std::vector<float>& gradient) {
        by_kernels(tensor, same, step, gradient, worker_at(step));
    });
}

}  // namespace

TEST_CASE("a hundred updates give the golden bits with every vector unit and thread", "[kernels]") {
    const tests::WidthsByTurns turns{3};
    for (const Case& test : kCases) {
        INFO(test.name);
        CHECK(digest_by(test, turns) == test.golden);
        if (test.count > tests::kLongChain) continue;
        tests::with_every_worker({3}, [&](const kernels::Workers& workers) {
            INFO(name_of(workers.instruction_set()));
            CHECK(digest_by(test, tests::Always{workers}) == test.golden);
        });
    }
}

TEST_CASE("the golden bits are those of the slow reference", "[kernels][reference]") {
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
        const auto update = [&](Tensor& tensor, const Case& test, std::size_t step,
                                const std::vector<float>& gradient) {
            _mm_setcsr(before | mode);
            by_kernels(tensor, test, step, gradient, kernels::ThisThread{});
            const unsigned after = _mm_getcsr();
            _mm_setcsr(before);
            REQUIRE((after & mode) == mode);
        };
        for (const Case& test : kCases) {
            if (test.count > tests::kLongChain) continue;
            INFO(test.name);
            CHECK(digest_after_all(test, update) == test.golden);
        }
    }
}
#endif
