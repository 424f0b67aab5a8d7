// Compares a hundred updates on a device with the host's bits, and with the digest of the same
// updates if ../golden_test.cpp has one.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "kernels/cuda/lamb.hpp"
#include "kernels/cuda/sgd.hpp"
#include "kernels/digest.hpp"
#include "kernels/global_norm.hpp"
#include "kernels/lamb.hpp"
#include "kernels/sgd.hpp"
#include "peer/base/bytes.hpp"
#include "tests/kernels/cuda/device.hpp"
#include "tests/kernels/cuda/same.hpp"
#include "tests/kernels/cuda/tensors.hpp"
#include "tests/kernels/inputs.hpp"
#include "tests/kernels/one_tensor.hpp"

using namespace dedloc;
using namespace dedloc::tests;
using kernels::LambScalars;
using kernels::LambVariant;
using kernels::SgdScalars;

namespace {

using Floats = std::vector<float>;
constexpr std::size_t kSteps = 100;

enum class Optimizer { kLamb, kNvidiaLamb, kSgd, kLarc };

struct Case {
    std::size_t count;
    bool has_zero_parameters;
    Optimizer optimizer;
    const char* golden = "";  ///< the digest in golden_test.cpp, if it has this case
};

struct Tensor {
    Floats p, m, v;
};

Tensor start_of(std::size_t count, bool is_zero) {
    const Random random{count};
    Tensor tensor{.p = adversarial(random.split(0), count, 1e10),
                  .m = adversarial(random.split(1), count, 1e-36),
                  .v = adversarial(random.split(2), count, 1e-36)};
    if (is_zero) tensor.p.assign(count, 0.0f);
    for (float& v : tensor.v) v = v < 0 ? 0.0f - v : v;
    return tensor;
}

/// Gradients: huge (clipped), all zero, one that overflows second moments, moderate.
std::vector<Floats> gradients_of(std::size_t count) {
    std::vector<Floats> gradients;
    for (std::size_t kind = 0; kind < 8; ++kind) {
        const double huge = kind % 4 == 0 ? 1e37 : kind == 6 ? 1e25 : 1e12;
        const Random random = Random{count}.split(100 + kind);
        gradients.push_back(kind % 4 == 3 ? Floats(count) : adversarial(random, count, huge));
    }
    return gradients;
}

/// Computes 1 − βᵗ by repeated multiplication.
float correction(double beta, std::size_t step) {
    double power = 1;
    for (std::size_t i = 0; i <= step; ++i) power *= beta;
    return static_cast<float>(1 - power);
}

LambScalars lamb_scalars(Optimizer optimizer, std::size_t step) {
    const bool is_nvidia = optimizer == Optimizer::kNvidiaLamb;
    const bool decays = step % 3 != 0;
    return {.element = {.beta1 = 0x1.ccccccp-1f,
                        .one_minus_beta1 = 0x1.99999ap-4f,
                        .beta2 = 0x1.ff7ceep-1f,
                        .one_minus_beta2 = 0x1.0624dep-10f,
                        .epsilon = 0x1.0c6f7ap-20f,
                        .weight_decay = decays ? 0x1.47ae14p-7f : 0.0f,
                        .first_correction = is_nvidia ? correction(0.9, step) : 1.0f,
                        .second_correction = is_nvidia ? correction(0.999, step) : 1.0f},
            .learning_rate = 0x1.cd5f9ap-10 * static_cast<double>(step + 1) / 128,
            .norm_limit = is_nvidia ? std::numeric_limits<double>::max() : 10'000,
            .variant = is_nvidia ? LambVariant::kMomentsDebiased : LambVariant::kStepDebiased};
}

/// NVIDIA's variant does not adapt tensors that do not decay.
Treatment treatment(Optimizer optimizer, std::size_t step) {
    return {.adapts = optimizer != Optimizer::kNvidiaLamb || step % 3 != 0};
}

/// Every fourth gradient is clipped.
float clip_at(std::size_t step, const Floats& gradient) {
    return step % 4 == 0 ? kernels::clip_factor(kernels::global_norm(gradient), 1) : 1.0f;
}

std::vector<Array<float>> sent(const std::vector<Floats>& rows, Device& device,
                               std::size_t offset) {
    std::vector<Array<float>> arrays;
    arrays.reserve(rows.size());
    for (const Floats& row : rows) arrays.emplace_back(row, device, offset);
    return arrays;
}

SgdScalars sgd_scalars(Optimizer optimizer) {
    return {.element = {.learning_rate = 0x1.333334p-2f,
                        .momentum = 0x1.ccccccp-1f,
                        .weight_decay = 0x1.0c6f7ap-20f},
            .trust = optimizer == Optimizer::kLarc ? 0x1.0624dd2f1a9fcp-10 : 0,
            .epsilon = 0x1.5798ee2308c3ap-27};
}

const Case kCases[]{
    {0, false, Optimizer::kLamb},
    {1, false, Optimizer::kLamb,
     "188ea397039df203e5eae0d50c712251f09c7b644e5e3ea86167d0d0814d6a79"},
    {3, false, Optimizer::kLamb,
     "0e40da2242b39c4720170b218e682bf41fff53ee9f564e5dbcf28bcf019596fd"},
    {1000, true, Optimizer::kLamb,
     "e1cd3e490defba9b1a6715fc89a0adfc74cf507ec840cc08b07318fcb0d1ae1a"},
    {1025, false, Optimizer::kLamb},
    {65'535, false, Optimizer::kLamb,
     "c4edb7b8e221b22d8a2e068c73964e8a7af761e400af4a3d5be9b5b5064ba145"},
    {65'537, false, Optimizer::kLamb,
     "7cdcf546a449044327cd8a063e92c509471b780f342fe861d0f44f7a9e3bbc7c"},
    {0, false, Optimizer::kNvidiaLamb},
    {1, false, Optimizer::kNvidiaLamb,
     "83d1a5bce63aea38627f2335c3e940d9576c5307d247f5ca346a9d175a615299"},
    {3, false, Optimizer::kNvidiaLamb,
     "85e66999e5fea0e26bbf8141df5cc4430cc254f8678a0d71a285ff065adce271"},
    {1000, true, Optimizer::kNvidiaLamb,
     "479f59f07e05a67c03bfecf3d8f9f1545aa1649ded41d5dad1d5239325b46ff5"},
    {1025, false, Optimizer::kNvidiaLamb},
    {65'535, false, Optimizer::kNvidiaLamb,
     "546a32d2c24a02483e7547c25bd8aae25c4c3a10a4eccf49c26d8625e96cc8ac"},
    {65'537, false, Optimizer::kNvidiaLamb,
     "33b8f10eb96c3f11e7c04509984c7d12b08d6aaa135ea0b25bc062efcf3fcdce"},
    {0, false, Optimizer::kSgd},
    {1, false, Optimizer::kSgd},
    {3, false, Optimizer::kSgd, "8585007a63a71ee3add1d8ce0d89626491acbe6de9e5dfa2c5a2cf7f6673db98"},
    {1000, true, Optimizer::kSgd},
    {1025, false, Optimizer::kSgd},
    {65'535, false, Optimizer::kSgd},
    {65'537, false, Optimizer::kSgd,
     "bdda085ce3f67bc20dfbcffcdca19ab152ae9cbdf4a452d6a5ab539dd4450e6b"},
    {0, false, Optimizer::kLarc},
    {1, false, Optimizer::kLarc,
     "817a4a610d438eb472934ef26f195ebd5470480d34f31bc1d1e3335c815232b7"},
    {3, false, Optimizer::kLarc,
     "729949c0aacbaff0e529c093b8151133f4322427eee9cf4eab419e43d80de10a"},
    {1000, true, Optimizer::kLarc,
     "d6a5fbefbdc364cd185745d7b9a19b5bb934ccef564c7b7d5c70c034e9a04506"},
    {1025, false, Optimizer::kLarc},
    {65'535, false, Optimizer::kLarc,
     "6fea9fd0e5dc76f4ce19689befed7b4112cd11963290374d8247755003f4addd"},
    {65'537, false, Optimizer::kLarc,
     "f1a78d689e4a2e6f3e35db3c528ad32121e4fbe82e66abc7dfba77b792084052"},
};

/// Checks that the ratio or rate of one update equals the host's.
bool update_both(const Case& test, std::size_t step, Tensor& host, const Floats& gradient,
                 const std::vector<Array<float>>& there, const Array<float>& gradient_there,
                 const Tensors& table, Device& device) {
    const Array<float>& p = there[0];
    const Array<float>& m = there[1];
    const Array<float>& v = there[2];
    const Treatment treated = treatment(test.optimizer, step);
    if (test.optimizer == Optimizer::kSgd || test.optimizer == Optimizer::kLarc) {
        const Scalar<float> rate{device, -1};
        SgdScalars scalars = sgd_scalars(test.optimizer);
        scalars.element.clip_factor = clip_at(step, gradient);
        kernels::cuda::sgd({p, m, gradient_there}, table.span(), scalars, rate, table.workspace(),
                           device.stream());
        return same_bits(rate.value(), sgd_of_one({host.p, host.m, gradient}, scalars));
    }
    const Scalar<double> ratio{device, -1};
    LambScalars scalars = lamb_scalars(test.optimizer, step);
    scalars.element.clip_factor = clip_at(step, gradient);
    kernels::cuda::lamb({p, m, v, gradient_there}, table.span(), scalars, ratio, table.workspace(),
                        device.stream());
    return same_double(ratio.value(),
                       lamb_of_one({host.p, host.m, host.v, gradient}, scalars, treated));
}

void check(const Case& test, std::size_t offset) {
    INFO(test.count << " elements, optimizer " << static_cast<int>(test.optimizer) << ", offset "
                    << offset);
    Device device;
    Tensor host = start_of(test.count, test.has_zero_parameters);
    const auto gradients = gradients_of(test.count);
    const auto gradients_there = sent(gradients, device, offset);
    const auto there = sent({host.p, host.m, host.v}, device, offset);
    const Tensors fixed{one_tensor(test.count, {.adapts = false}), device};
    const Tensors adapting{one_tensor(test.count), device};
    std::size_t wrong = 0;
    for (std::size_t step = 0; step < kSteps; ++step) {
        const bool is_same =
            update_both(test, step, host, gradients[step % 8], there, gradients_there[step % 8],
                        treatment(test.optimizer, step).adapts ? adapting : fixed, device);
        wrong += is_same ? 0u : 1u;
    }
    CHECK(wrong == 0);
    CHECK(different(there[0].values(), host.p) == 0);
    CHECK(different(there[1].values(), host.m) == 0);
    CHECK(different(there[2].values(), host.v) == 0);
    if (*test.golden == '\0') return;
    Floats all;
    for (const Array<float>& array : there) {
        const Floats values = array.values();
        all.insert(all.end(), values.begin(), values.end());
    }
    CHECK(to_hex(kernels::tree_digest(std::as_bytes(std::span{all}))) == test.golden);
}

}  // namespace

TEST_CASE("a hundred updates on a device leave the host's bits and the golden ones", "[cuda]") {
    for (const Case& test : kCases) {
        check(test, 0);
        // Long tensors are too slow when the host plays the device.
        if (test.count < 60'000) check(test, 1);
    }
}

TEST_CASE("an optimizer on a device may be run without places for its ratios", "[cuda]") {
    Device device;
    Tensor host = start_of(5000, false);
    const Floats gradient = ordinary(Random{3}, 5000);
    const Array<float> p{host.p, device};
    const Array<float> m{host.m, device};
    const Array<float> v{host.v, device};
    const Array<float> g{gradient, device};
    const LambScalars scalars = lamb_scalars(Optimizer::kLamb, 1);
    const Tensors tensors{one_tensor(5000), device};
    kernels::cuda::lamb({p, m, v, g}, tensors.span(), scalars, {}, tensors.workspace(),
                        device.stream());
    lamb_of_one({host.p, host.m, host.v, gradient}, scalars);
    CHECK(different(p.values(), host.p) == 0);
    kernels::cuda::sgd({p, m, g}, tensors.span(), sgd_scalars(Optimizer::kLarc), {},
                       tensors.workspace(), device.stream());
    sgd_of_one({host.p, host.m, gradient}, sgd_scalars(Optimizer::kLarc));
    CHECK(different(p.values(), host.p) == 0);
}
