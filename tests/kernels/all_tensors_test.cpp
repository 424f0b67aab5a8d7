// One call that updates many tensors gives each the bits of a call of its own, and does not touch
// the elements between them.
#include <bit>
#include <catch2/catch.hpp>
#include <cstring>
#include <limits>

#include "kernels/lamb.hpp"
#include "kernels/sgd.hpp"
#include "tests/kernels/aborts.hpp"
#include "tests/kernels/every_worker.hpp"
#include "tests/kernels/inputs.hpp"
#include "tests/kernels/many_tensors.hpp"

using namespace dedloc;
using namespace dedloc::kernels;
using tests::Floats;

namespace {

LambScalars lamb_scalars(LambVariant variant) {
    return {.element = {.beta1 = 0.9f,
                        .one_minus_beta1 = 0.1f,
                        .beta2 = 0.999f,
                        .one_minus_beta2 = 0.001f,
                        .epsilon = 1e-6f,
                        .weight_decay = 0.01f,
                        .clip_factor = 0.37f,
                        .first_correction = 0.19f,
                        .second_correction = 0.001999f},
            .learning_rate = 0.00176,
            .norm_limit = 10'000,
            .variant = variant};
}

SgdScalars sgd_scalars(double trust) {
    return {.element = {.learning_rate = 0.3f,
                        .momentum = 0.9f,
                        .weight_decay = 1e-4f,
                        .clip_factor = 0.7f},
            .trust = trust,
            .epsilon = 1e-8};
}

/// A table that contains only this tensor, at the start of a vector.
SegmentTable alone(TensorPlace tensor) {
    tensor.offset = 0;
    return SegmentTable{std::span{&tensor, 1}};
}

template <class T>
std::span<T> part(std::vector<T>& values, const TensorPlace& tensor) {
    return std::span{values}.subspan(static_cast<std::size_t>(tensor.offset),
                                     static_cast<std::size_t>(tensor.count));
}

}  // namespace

TEST_CASE("LAMB of all tensors at once has the bits of one call for each", "[kernels]") {
    const std::vector<TensorPlace> places = tests::places_with_gaps();
    for (const LambVariant variant : {LambVariant::kStepDebiased, LambVariant::kMomentsDebiased}) {
        const LambScalars scalars = lamb_scalars(variant);
        tests::ManyTensors expected{places};
        std::vector<double> expected_ratios;
        for (const TensorPlace& place : places) {
            double& ratio = expected_ratios.emplace_back();
            lamb({part(expected.p, place), part(expected.m, place), part(expected.v, place),
                  part(expected.gradient, place)},
                 alone(place), scalars, std::span{&ratio, 1});
        }
        const SegmentTable table{places};
        tests::with_every_worker({1, 3}, [&](const Workers& workers) {
            tests::ManyTensors all{places};
            std::vector<double> ratios(places.size());
            lamb(all.lamb(), table, scalars, ratios, workers);
            CHECK(all.has_bits_of(expected));
            CHECK(ratios == expected_ratios);
        });
    }
}

TEST_CASE("SGD of all tensors at once has the bits of one call for each", "[kernels]") {
    const std::vector<TensorPlace> places = tests::places_with_gaps();
    for (const double trust : {0.0, 0.001}) {
        tests::ManyTensors expected{places};
        std::vector<float> expected_rates;
        for (const TensorPlace& place : places) {
            float& rate = expected_rates.emplace_back();
            sgd({part(expected.p, place), part(expected.m, place), part(expected.gradient, place)},
                alone(place), sgd_scalars(trust), std::span{&rate, 1});
        }
        const SegmentTable table{places};
        tests::with_every_worker({1, 3}, [&](const Workers& workers) {
            tests::ManyTensors all{places};
            std::vector<float> rates(places.size());
            sgd(all.sgd(), table, sgd_scalars(trust), rates, workers);
            CHECK(all.has_bits_of(expected));
            CHECK(rates == expected_rates);
        });
    }
}

TEST_CASE("an optimizer treats every tensor as its place says", "[kernels]") {
    const std::vector<TensorPlace> places{
        {.offset = 0, .count = 4, .decays = true, .adapts = true},
        {.offset = 4, .count = 4, .decays = false, .adapts = true},
        {.offset = 8, .count = 4, .decays = true, .adapts = false}};
    const SegmentTable table{places};
    const Floats zero(12, 0.0f);
    Floats p(12, 1.0f);
    Floats m(12, 0.0f);
    Floats v(12, 0.0f);
    std::vector<double> ratios(3);
    LambScalars scalars = lamb_scalars(LambVariant::kMomentsDebiased);
    scalars.learning_rate = 0.5;
    lamb({p, m, v, zero}, table, scalars, ratios);
    CHECK(ratios[0] == Approx(100));  // ‖p‖ ÷ ‖0.01 p‖
    CHECK(p[0] == Approx(0.5));
    CHECK(ratios[1] == 1);
    CHECK(p[4] == 1);
    CHECK(ratios[2] == 1);
    CHECK(p[8] == Approx(1 - 0.5 * 0.01));
    p.assign(12, 1.0f);
    m.assign(12, 0.0f);
    const Floats ones(12, 1.0f);
    std::vector<float> rates(3);
    sgd({p, m, ones}, table, sgd_scalars(0.001), rates);
    CHECK(double{rates[0]} == Approx(0.001 * 2 / (1.4 + 2e-4)).epsilon(1e-4));
    CHECK(double{rates[1]} == Approx(0.001 * 2 / 1.4).epsilon(1e-6));
    CHECK(rates[2] == 1);
}

TEST_CASE("a segment table divides every tensor by itself", "[kernels]") {
    const std::vector<TensorPlace> places{{.offset = 3, .count = 65'537},
                                          {.offset = 65'600, .count = 0},
                                          {.offset = 65'700, .count = 9}};
    const SegmentTable table{places};
    REQUIRE(table.segments().size() == 3);
    CHECK(table.segments()[0].first == 3);
    CHECK(table.segments()[0].count == 65'536);
    CHECK(table.segments()[1].first == 65'539);
    CHECK(table.segments()[1].count == 1);
    CHECK(table.segments()[2].first == 65'700);
    CHECK(table.segments()[2].tensor == 2);
    REQUIRE(table.tensors().size() == 3);
    CHECK(table.tensors()[0].count == 2);
    CHECK(table.tensors()[1].count == 0);
    CHECK(table.tensors()[2].first == 2);
    CHECK(table.end() == 65'709);
    CHECK(SegmentTable{std::span<const TensorPlace>{}}.end() == 0);
}

TEST_CASE("a segment table refuses tensors that overlap or are too long", "[kernels]") {
    const auto message = [](std::vector<TensorPlace> places) {
        return tests::abort_message([&] { SegmentTable{places}; });
    };
    constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();
    CHECK(message({{.offset = 0, .count = 5}, {.offset = 4, .count = 1}}).find("overlap") !=
          std::string::npos);
    CHECK(message({{.offset = 9, .count = 1}, {.offset = 0, .count = 1}}).find("overlap") !=
          std::string::npos);
    CHECK(message({{.offset = 0, .count = kMaxElements + 1}}).find("more elements") !=
          std::string::npos);
    CHECK(message({{.offset = kLast, .count = 1}}).find("overflows") != std::string::npos);
}
