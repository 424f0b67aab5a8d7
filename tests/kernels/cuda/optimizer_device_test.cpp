// A hundred updates on a device leave the host's bits. That the host's are right, kernels_test and
// the golden tests say.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "kernels/cuda/global_norm.hpp"
#include "kernels/cuda/lamb.hpp"
#include "kernels/cuda/sgd.hpp"
#include "kernels/global_norm.hpp"
#include "kernels/lamb.hpp"
#include "kernels/sgd.hpp"
#include "tests/kernels/cuda/device.hpp"
#include "tests/kernels/cuda/same.hpp"
#include "tests/kernels/inputs.hpp"

using namespace dedloc;
using namespace dedloc::tests;
using kernels::LambScalars;
using kernels::LambVariant;
using kernels::SgdScalars;

namespace {

using Floats = std::vector<float>;
constexpr std::size_t kSteps = 100;

struct Tensor {
    Floats p, m, v;
};

Tensor start_of(std::size_t count, bool is_zero) {
    const Random random{count};
    Tensor tensor{.p = adversarial(random.split(0), count, 1e10),
                  .m = adversarial(random.split(1), count, 1e-36),
                  .v = adversarial(random.split(2), count, 1e-36)};
    if (is_zero) tensor.p.assign(count, 0.0f);
    for (float& v : tensor.v) v = std::fabs(v);
    return tensor;
}

/// Huge ones to be clipped, all zero, one with which second moments overflow, moderate ones.
std::vector<Floats> gradients_of(std::size_t count) {
    std::vector<Floats> gradients;
    for (std::size_t kind = 0; kind < 8; ++kind) {
        const double huge = kind % 4 == 0 ? 1e37 : kind == 6 ? 1e25 : 1e12;
        const Random random = Random{count}.split(100 + kind);
        gradients.push_back(kind % 4 == 3 ? Floats(count) : adversarial(random, count, huge));
    }
    return gradients;
}

/// 1 − βᵗ by repeated multiplication.
float correction(double beta, std::size_t step) {
    double power = 1;
    for (std::size_t i = 0; i <= step; ++i) power *= beta;
    return static_cast<float>(1 - power);
}

LambScalars lamb_scalars(LambVariant variant, std::size_t step) {
    const bool is_nvidia = variant == LambVariant::kMomentsDebiased;
    const bool decays = step % 3 != 0;
    return {.element = {.beta1 = 0x1.ccccccp-1f,
                        .one_minus_beta1 = 0x1.99999ap-4f,
                        .beta2 = 0x1.ff7ceep-1f,
                        .one_minus_beta2 = 0x1.0624dep-10f,
                        .epsilon = 0x1.0c6f7ap-20f,
                        .weight_decay = decays ? 0x1.47ae14p-7f : 0.0f,
                        .first_correction = is_nvidia ? correction(0.9, step) : 1.0f,
                        .second_correction = is_nvidia ? correction(0.999, step) : 1.0f},
            .step_size = 0x1.cd5f9ap-10 * static_cast<double>(step + 1) / 128,
            .norm_limit = is_nvidia ? std::numeric_limits<double>::max() : 10'000,
            .variant = variant,
            .adapts = !is_nvidia || decays};
}

/// Norm and clip factor of every fourth gradient are taken on the device and stay there.
class Clip {
  public:
    Clip(std::size_t count, Device& device)
        : norm_(device),
          factor_(device),
          workspace_(kernels::cuda::norm_workspace_bytes(count), device) {}
    DeviceSpan<const float> enqueue(DeviceSpan<const float> gradient, StreamView stream) const {
        kernels::cuda::global_norm(gradient, norm_, workspace_, stream);
        kernels::cuda::clip_factor(norm_, 1, factor_, stream);
        return factor_;
    }

  private:
    Scalar<double> norm_;
    Scalar<float> factor_;
    Workspace workspace_;
};

bool clips(std::size_t step) {
    return step % 4 == 0;
}

float host_clip(const Floats& gradient, std::size_t step) {
    return clips(step) ? kernels::clip_factor(kernels::global_norm(gradient), 1) : 1.0f;
}

std::vector<Array<float>> sent(const std::vector<Floats>& rows, Device& device,
                               std::size_t offset) {
    std::vector<Array<float>> arrays;
    arrays.reserve(rows.size());
    for (const Floats& row : rows) arrays.emplace_back(row, device, offset);
    return arrays;
}

void check_lamb(std::size_t count, LambVariant variant, std::size_t offset, bool is_zero) {
    Device device;
    Tensor host = start_of(count, is_zero);
    const auto gradients = gradients_of(count);
    const auto there = sent(gradients, device, offset);
    const Array<float> p{host.p, device, offset};
    const Array<float> m{host.m, device, offset};
    const Array<float> v{host.v, device, offset};
    const Scalar<double> ratio{device, -1};
    const Workspace workspace{kernels::cuda::lamb_workspace_bytes(count), device};
    const Clip clip{count, device};
    std::size_t wrong_ratios = 0;
    for (std::size_t step = 0; step < kSteps; ++step) {
        const Array<float>& gradient = there[step % 8];
        LambScalars scalars = lamb_scalars(variant, step);
        const auto factor =
            clips(step) ? clip.enqueue(gradient, device.stream()) : DeviceSpan<const float>{};
        kernels::cuda::lamb({p, m, v, gradient}, scalars, factor, ratio, workspace,
                            device.stream());
        scalars.element.clip_factor = host_clip(gradients[step % 8], step);
        const double expected = kernels::lamb(host.p, host.m, host.v, gradients[step % 8], scalars);
        wrong_ratios += same_double(ratio.value(), expected) ? 0u : 1u;
    }
    CHECK(wrong_ratios == 0);
    CHECK(different(p.values(), host.p) == 0);
    CHECK(different(m.values(), host.m) == 0);
    CHECK(different(v.values(), host.v) == 0);
}

SgdScalars sgd_scalars(double trust) {
    return {.element = {.learning_rate = 0x1.333334p-2f,
                        .momentum = 0x1.ccccccp-1f,
                        .weight_decay = 0x1.0c6f7ap-20f},
            .trust = trust,
            .epsilon = 0x1.5798ee2308c3ap-27};
}

void check_sgd(std::size_t count, double trust, std::size_t offset, bool is_zero) {
    Device device;
    Tensor host = start_of(count, is_zero);
    const auto gradients = gradients_of(count);
    const auto there = sent(gradients, device, offset);
    const Array<float> p{host.p, device, offset};
    const Array<float> b{host.m, device, offset};
    const Scalar<float> rate{device, -1};
    const Workspace workspace{kernels::cuda::sgd_workspace_bytes(count), device};
    const Clip clip{count, device};
    std::size_t wrong_rates = 0;
    for (std::size_t step = 0; step < kSteps; ++step) {
        const Array<float>& gradient = there[step % 8];
        SgdScalars scalars = sgd_scalars(trust);
        const auto factor =
            clips(step) ? clip.enqueue(gradient, device.stream()) : DeviceSpan<const float>{};
        kernels::cuda::sgd({p, b, gradient}, scalars, factor, rate, workspace, device.stream());
        scalars.element.clip_factor = host_clip(gradients[step % 8], step);
        const float expected = kernels::sgd(host.p, host.m, gradients[step % 8], scalars);
        wrong_rates += same_bits(rate.value(), expected) ? 0u : 1u;
    }
    CHECK(wrong_rates == 0);
    CHECK(different(p.values(), host.p) == 0);
    CHECK(different(b.values(), host.m) == 0);
}

/// The long ones are slow where the host is the device.
const std::vector<std::size_t> kCounts{0, 1, 3, 1025, 65'535, 65'536, 65'537};

}  // namespace

TEST_CASE("a hundred LAMB updates on a device leave the host's bits", "[cuda]") {
    for (const std::size_t count : kCounts) {
        for (const auto variant : {LambVariant::kStepDebiased, LambVariant::kMomentsDebiased}) {
            INFO(count << " elements, variant " << static_cast<int>(variant));
            check_lamb(count, variant, 0, false);
            if (count < 60'000) check_lamb(count, variant, 1, false);
            if (count < 60'000) check_lamb(count, variant, 0, true);
        }
    }
}

TEST_CASE("a hundred updates of SGD and LARC on a device leave the host's bits", "[cuda]") {
    for (const std::size_t count : kCounts) {
        for (const double trust : {0.0, 0x1.0624dd2f1a9fcp-10}) {
            INFO(count << " elements, trust " << trust);
            check_sgd(count, trust, 0, false);
            if (count < 60'000) check_sgd(count, trust, 3, false);
            if (count < 60'000) check_sgd(count, trust, 0, true);
        }
    }
}

TEST_CASE("an optimizer on a device need not tell its ratio", "[cuda]") {
    Device device;
    Tensor host = start_of(5000, false);
    const Floats gradient = ordinary(Random{3}, 5000);
    const Array<float> p{host.p, device};
    const Array<float> m{host.m, device};
    const Array<float> v{host.v, device};
    const Array<float> g{gradient, device};
    const LambScalars scalars = lamb_scalars(LambVariant::kStepDebiased, 1);
    const Workspace workspace{kernels::cuda::lamb_workspace_bytes(5000), device};
    kernels::cuda::lamb({p, m, v, g}, scalars, {}, {}, workspace, device.stream());
    kernels::lamb(host.p, host.m, host.v, gradient, scalars);
    CHECK(different(p.values(), host.p) == 0);
    const Workspace of_sgd{kernels::cuda::sgd_workspace_bytes(5000), device};
    kernels::cuda::sgd({p, m, g}, sgd_scalars(0.001), {}, {}, of_sgd, device.stream());
    kernels::sgd(host.p, host.m, gradient, sgd_scalars(0.001));
    CHECK(different(p.values(), host.p) == 0);
}
