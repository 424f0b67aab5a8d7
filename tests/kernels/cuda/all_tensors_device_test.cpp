// One call that updates many tensors on a device gives the host's bits, and does not touch the
// elements between them.
#include <catch2/catch.hpp>
#include <cstring>

#include "kernels/lamb.hpp"
#include "kernels/sgd.hpp"
#include "tests/kernels/cuda/device.hpp"
#include "tests/kernels/cuda/tensors.hpp"
#include "tests/kernels/many_tensors.hpp"

using namespace dedloc;
using namespace dedloc::tests;
using kernels::LambVariant;

namespace {

/// The vectors of many tensors on a device.
struct There {
    There(const ManyTensors& all, Device& device, std::size_t offset)
        : p(all.p, device, offset),
          m(all.m, device, offset),
          v(all.v, device, offset),
          gradient(all.gradient, device, offset) {}

    /// The gaps are compared too.
    bool has_bits_of(const ManyTensors& all) const {
        const auto are_equal = [](const Floats& a, const Floats& b) {
            return a.size() == b.size() && std::memcmp(a.data(), b.data(), 4 * a.size()) == 0;
        };
        return are_equal(p.values(), all.p) && are_equal(m.values(), all.m) &&
               are_equal(v.values(), all.v) && are_equal(gradient.values(), all.gradient);
    }

    Array<float> p, m, v, gradient;
};

const kernels::LambElementScalars kLambElement{.beta1 = 0.9f,
                                               .one_minus_beta1 = 0.1f,
                                               .beta2 = 0.999f,
                                               .one_minus_beta2 = 0.001f,
                                               .epsilon = 1e-6f,
                                               .weight_decay = 0.01f,
                                               .clip_factor = 0.37f,
                                               .first_correction = 0.19f,
                                               .second_correction = 0.001999f};
const kernels::SgdElementScalars kSgdElement{
    .learning_rate = 0.3f, .momentum = 0.9f, .weight_decay = 1e-4f, .clip_factor = 0.7f};

}  // namespace

TEST_CASE("LAMB of all tensors on a device leaves the host's bits, and the gaps alone", "[cuda]") {
    const std::vector<kernels::TensorPlace> places = places_with_gaps();
    const kernels::SegmentTable table{places};
    for (const LambVariant variant : {LambVariant::kStepDebiased, LambVariant::kMomentsDebiased}) {
        for (const std::size_t offset : {std::size_t{0}, std::size_t{1}}) {
            INFO("variant " << static_cast<int>(variant) << ", offset " << offset);
            Device device;
            ManyTensors host{places};
            const There there{host, device, offset};
            const Tensors tensors{table, device};
            const kernels::LambScalars scalars{.element = kLambElement,
                                               .learning_rate = 0.00176,
                                               .norm_limit = 10'000,
                                               .variant = variant};
            const Array<double> ratios{std::vector<double>(places.size(), -1.0), device};
            kernels::cuda::lamb({there.p, there.m, there.v, there.gradient}, tensors.span(),
                                scalars, ratios, tensors.workspace(), device.stream());
            std::vector<double> expected(places.size());
            kernels::lamb(host.lamb(), table, scalars, expected);
            CHECK(ratios.values() == expected);
            CHECK(there.has_bits_of(host));
        }
    }
}

TEST_CASE("SGD of all tensors on a device leaves the host's bits, and the gaps alone", "[cuda]") {
    const std::vector<kernels::TensorPlace> places = places_with_gaps();
    const kernels::SegmentTable table{places};
    for (const double trust : {0.0, 0.001}) {
        INFO("trust " << trust);
        Device device;
        ManyTensors host{places};
        const There there{host, device, 0};
        const Tensors tensors{table, device};
        const kernels::SgdScalars scalars{.element = kSgdElement, .trust = trust, .epsilon = 1e-8};
        const Array<float> rates{Floats(places.size(), -1.0f), device};
        kernels::cuda::sgd({there.p, there.m, there.gradient}, tensors.span(), scalars, rates,
                           tensors.workspace(), device.stream());
        Floats expected(places.size());
        kernels::sgd(host.sgd(), table, scalars, expected);
        CHECK(rates.values() == expected);
        CHECK(there.has_bits_of(host));
    }
}
