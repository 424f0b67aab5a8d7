// Dropout follows from public numbers: sample, site and element.
#include "boinc_app/albert/dropout.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <memory>
#include <utility>

#include "boinc_app/albert/albert.hpp"
#include "boinc_app/training/task.hpp"
#include "peer/base/aligned_floats.hpp"
#include "peer/state/run_state.hpp"
#include "tests/boinc_app/relative_error.hpp"
#include "tests/boinc_app/tiny_world.hpp"

namespace dedloc::training::albert {
namespace {

template <std::size_t kCount>
std::array<bool, kCount> kept(std::uint64_t key, std::uint32_t site, std::uint64_t first,
                              double rate) {
    std::array<bool, kCount> values{};
    draw_kept(key, site, first, DropoutRate{rate}, values);
    return values;
}

TEST_CASE("an element is kept or dropped by key, site and index alone", "[training]") {
    constexpr std::size_t kCount = 1'000;
    const auto all = kept<kCount>(7, 3, 100, 0.5);
    for (std::size_t at = 0; at + 13 <= kCount; at += 13) {
        const auto part = kept<13>(7, 3, 100 + at, 0.5);
        CHECK(std::equal(part.begin(), part.end(), all.begin() + static_cast<long>(at)));
    }
    CHECK(kept<kCount>(8, 3, 100, 0.5) != all);
    CHECK(kept<kCount>(7, 4, 100, 0.5) != all);
    CHECK(kept<kCount>(7 + (std::uint64_t{1} << 40), 3, 100, 0.5) != all);
    CHECK(kept<kCount>(7, 3, 100 + (std::uint64_t{1} << 36), 0.5) != all);
    // The header's formula with Philox's published vector for zeros, whose words are
    // 6627e8d5 e169c58d bc57ac4c 9b00dbd8.
    CHECK(kept<8>(0, 0, 0, 0.5) == std::array{true, false, true, true, true, true, true, true});
}

TEST_CASE("the share of dropped elements is the rate, and the scale makes up for it",
          "[training][property]") {
    for (const double rate : {0.0, 0.1, 0.5, 0.9}) {
        constexpr std::size_t kCount = 100'000;
        const auto values = std::make_unique<std::array<bool, kCount>>();
        draw_kept(1, 2, 0, DropoutRate{rate}, *values);
        const double share =
            static_cast<double>(std::count(values->begin(), values->end(), false)) / kCount;
        // Five standard deviations. The key is fixed.
        CHECK(share == Approx(rate).margin(5 * std::sqrt(rate * (1 - rate) / kCount)));
        CHECK(DropoutRate{rate}.scale() == Approx(1 / (1 - rate)).epsilon(1e-3));
        CHECK(DropoutRate{rate}.is_zero() == (rate == 0));
    }
}

struct DropoutFixture {
    DropoutFixture(double hidden, double attention, double classifier)
        : run(with(hidden, attention, classifier)),
          shards{test::skewed_shard(run, 1)},
          sampler(run, shards),
          model(run, parameters) {
        set_compute_threads(1);
        Random random{3};  // larger than the initial parameters, so that attention has an effect
        for (float& x : parameters) x += static_cast<float>(0.15 * random.near_normal());
    }
    static formats::RunFile with(double hidden, double attention, double classifier) {
        formats::RunFile run = test::tiny_run();
        formats::albert_of(run).hidden_dropout = hidden;
        formats::albert_of(run).attention_dropout = attention;
        formats::albert_of(run).classifier_dropout = classifier;
        return run;
    }
    AlignedFloats start() const {
        const FloatVector values = state::initial_parameters(run);
        return {values.begin(), values.end()};
    }
    MicroBatch draw(std::uint64_t first, std::size_t count) const {
        return sampler.draw(step_random(run.seed, PeerKey{}, StepIndex{0}), first, count);
    }
    std::pair<FloatVector, double> gradient(const MicroBatch& batch) {
        FloatVector sum(parameters.size());
        const auto loss = model.add_gradient(batch, sum);
        REQUIRE(loss);
        return {std::move(sum), *loss};
    }

    const formats::RunFile run;
    const std::vector<formats::Shard> shards;
    const Sampler sampler;
    AlignedFloats parameters = start();  ///< the model reads them in place
    Albert model;
};

TEST_CASE("each rate of dropout changes the training loss, and none the evaluated loss",
          "[training]") {
    DropoutFixture plain{0, 0, 0};
    const MicroBatch batch = plain.draw(0, 4);
    const double loss = plain.model.loss(batch);
    CHECK(plain.gradient(batch).second == loss);
    for (const auto& [hidden, attention, classifier] :
         {std::array{0.1, 0.0, 0.0}, std::array{0.0, 0.1, 0.0}, std::array{0.0, 0.0, 0.1}}) {
        DropoutFixture dropping{hidden, attention, classifier};
        CAPTURE(hidden, attention, classifier);
        CHECK(dropping.model.loss(batch) == loss);
        const auto first = dropping.gradient(batch);
        CHECK_FALSE(first.second == loss);
        CHECK(first == dropping.gradient(batch));
    }
}

TEST_CASE("with dropout too, micro-batches of any size give the same sum, within rounding",
          "[training]") {
    DropoutFixture tiny{0.1, 0.2, 0.3};
    constexpr std::size_t kSamples = 24;
    const auto [whole, loss] = tiny.gradient(tiny.draw(0, kSamples));
    for (const std::size_t micro_batch : {1u, 3u, 8u}) {
        FloatVector sum(whole.size());
        double sum_of_losses = 0;
        for (std::size_t first = 0; first < kSamples; first += micro_batch) {
            sum_of_losses += *tiny.model.add_gradient(tiny.draw(first, micro_batch), sum);
        }
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] -= whole[i];
        CAPTURE(micro_batch, test::norm(sum) / test::norm(whole));
        CHECK(test::norm(sum) < 2e-6 * test::norm(whole));
        CHECK(sum_of_losses == Approx(loss).epsilon(1e-6));
    }
}

TEST_CASE("with dropout the gradient is the slope of the training loss", "[training]") {
    DropoutFixture tiny{0.1, 0.2, 0.3};
    const MicroBatch batch = tiny.draw(0, 4);
    const FloatVector slope = tiny.gradient(batch).first;
    const AlignedFloats before = tiny.parameters;
    const double steepness = test::norm(slope);
    const auto loss_at = [&](double distance) {
        for (std::size_t i = 0; i < slope.size(); ++i) {
            const auto direction = static_cast<double>(slope[i]) / steepness;
            tiny.parameters[i] = before[i] + static_cast<float>(distance * direction);
        }
        return tiny.gradient(batch).second;
    };
    const double step = 1e-2 / steepness;
    CHECK((loss_at(step) - loss_at(-step)) / (2 * step) == Approx(steepness).epsilon(0.02));
}

}  // namespace
}  // namespace dedloc::training::albert
