// Synthetic gradients, the check of averages, and synthetic run files.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <memory>
#include <vector>

#include "peer/base/error.hpp"
#include "peer/round/codec.hpp"
#include "peer/tool/average_check.hpp"
#include "peer/tool/synthetic_gradient.hpp"
#include "peer/tool/synthetic_run.hpp"

using namespace dedloc;
using namespace dedloc::tool;

namespace {

PeerKey key_of(unsigned char first) {
    PeerKey key;
    key.bytes[0] = std::byte{first};
    return key;
}

FloatVector gradient_of(const PeerKey& peer, std::uint64_t step, std::size_t elements) {
    FloatVector gradient(elements);
    fill_gradient(peer, StepIndex{step}, gradient);
    return gradient;
}

CommitLine line_of(const PeerKey& peer, std::uint64_t samples) {
    return {.peer = peer, .samples = Samples{samples}, .loss_sum = 0};
}

/// Seven peers that average their contributions in the run's codec, round by round.
struct Rounds {
    explicit Rounds(Codec codec_of_all)
        : codec(codec_of_all), feedback(7, round::Feedback{codec}) {}

    /// The next round; each peer has `samples` samples.
    void next(std::uint64_t samples) {
        std::vector<wire::Elements> pieces;
        record.step = record.step.next();
        record.members.clear();
        for (unsigned char k = 0; k < feedback.size(); ++k) {
            auto sum = std::make_shared<FloatVector>(kElements);
            scale_gradient(gradient_of(key_of(k), record.step.value(), kElements), Samples{samples},
                           *sum);
            const round::Encoder encoder = feedback[k].freeze(
                {.samples = Samples{samples}, .loss_sum = 0, .is_finite = true, .sum = sum});
            pieces.push_back(encoder.piece(0, kElements));
            feedback[k].counted(encoder);
            record.members.push_back(line_of(key_of(k), samples));
        }
        const std::vector<std::uint64_t> weights(pieces.size(), samples);
        round::average_of(pieces, weights, average);
    }

    static constexpr std::size_t kElements = 40'000;
    const Codec codec;
    std::vector<round::Feedback> feedback;
    CommitRecord record;
    FloatVector average = FloatVector(kElements);
};

}  // namespace

TEST_CASE("a synthetic gradient depends on the peer and the step alone", "[tool]") {
    const FloatVector gradient = gradient_of(key_of(1), 7, 1'001);
    REQUIRE(gradient == gradient_of(key_of(1), 7, 1'001));
    REQUIRE(gradient != gradient_of(key_of(2), 7, 1'001));
    REQUIRE(gradient != gradient_of(key_of(1), 8, 1'001));
    // A longer gradient begins with the same numbers.
    const FloatVector longer = gradient_of(key_of(1), 7, 2'000);
    REQUIRE(std::equal(gradient.begin(), gradient.end(), longer.begin()));
    double sum = 0;
    for (const float x : gradient) {
        REQUIRE(std::abs(x) <= 1.0F);
        sum += static_cast<double>(x);
    }
    REQUIRE(std::abs(sum / 1'001) < 0.1);
}

TEST_CASE("an average follows from the commit record", "[tool]") {
    constexpr std::size_t kElements = 33;
    CommitRecord record;
    record.step = StepIndex{4};
    record.members = {line_of(key_of(1), 3), line_of(key_of(2), 0), line_of(key_of(3), 5)};
    const FloatVector first = gradient_of(key_of(1), 4, kElements);
    const FloatVector third = gradient_of(key_of(3), 4, kElements);
    const FloatVector average = expected_average(record, kElements);
    for (std::size_t i = 0; i < kElements; ++i) {
        REQUIRE(average[i] == (3.0F * first[i] + 5.0F * third[i]) / 8.0F);
    }
    record.members = {line_of(key_of(2), 0)};
    REQUIRE(expected_average(record, kElements).empty());
}

TEST_CASE("an average is checked within the rounding error of its codec", "[tool]") {
    // Several rounding errors of each codec.
    for (const auto& [codec, wrong] : {std::pair{Codec::kFp32, 0.003F},
                                       {Codec::kFp16, 0.003F},
                                       {Codec::kBf16, 0.03F},
                                       {Codec::kInt8, 0.06F}}) {
        Rounds rounds{codec};
        AverageCheck check{codec, Rounds::kElements};
        // A small contribution carries the rounding error of a large one.
        for (const std::uint64_t samples : {30U, 235U, 2U, 2U}) {
            CAPTURE(name_of(codec), samples);
            rounds.next(samples);
            CHECK(check.holds(rounds.record, rounds.average));
        }
        rounds.next(2);
        rounds.average[17] += wrong;
        CHECK_FALSE(check.holds(rounds.record, rounds.average));
        rounds.next(2);
        rounds.record.members[3].samples += Samples{1};
        CHECK_FALSE(check.holds(rounds.record, rounds.average));
        rounds.next(2);
        rounds.average.pop_back();
        CHECK_FALSE(check.holds(rounds.record, rounds.average));
    }
}

TEST_CASE("a contribution that was frozen up to four steps earlier is checked as well", "[tool]") {
    for (const Codec codec : {Codec::kFp32, Codec::kFp16, Codec::kBf16}) {
        CAPTURE(name_of(codec));
        AverageCheck check{codec, Rounds::kElements};
        CommitRecord record;
        const auto holds = [&](std::uint64_t step, const std::vector<std::uint64_t>& members,
                               const StepsBefore& frozen) {
            record.step = StepIndex{step};
            record.members.clear();
            for (const std::uint64_t k : members) {
                record.members.push_back(line_of(key_of(static_cast<std::uint8_t>(k)), 3 + k));
            }
            return check.holds(record, expected_average(record, Rounds::kElements, frozen));
        };
        CHECK(holds(10, {1, 2, 3}, {}));
        CHECK(holds(11, {1}, {}));
        CHECK(holds(12, {1}, {}));
        // Two and three were frozen after the round of step 10.
        CHECK(holds(13, {1, 2, 3}, {{key_of(2), 2}, {key_of(3), 1}}));
        CHECK(holds(14, {1}, {}));
        CHECK_FALSE(holds(15, {1, 2}, {{key_of(2), 5}}));
        // One was counted in the round before, so it has begun anew.
        CHECK_FALSE(holds(16, {1, 3}, {{key_of(1), 1}}));
        CHECK(holds(17, {1, 2}, {{key_of(2), 4}}));
    }
}

TEST_CASE("with a codec that rounds, a round after a gap is not judged", "[tool]") {
    const Codec codec = GENERATE(Codec::kFp16, Codec::kBf16, Codec::kInt8);
    Rounds rounds{codec};
    AverageCheck check{codec, Rounds::kElements};
    for (int k = 0; k < 2; ++k) {
        rounds.next(2);
        CHECK(check.holds(rounds.record, FloatVector(Rounds::kElements)));
        rounds.next(2);
        CHECK_FALSE(check.holds(rounds.record, FloatVector(Rounds::kElements)));
        rounds.next(235);  // this round is not checked
    }
}

TEST_CASE("a synthetic run can be written and read back", "[tool]") {
    for (const std::uint64_t bytes : {1ull, 256ull, 1'000ull, 18'000'000ull, 17'179'869'184ull}) {
        const formats::RunFile run = make_run({.bytes = bytes, .dht_seeds = {}});
        REQUIRE(formats::element_count(run) == (bytes + 255) / 256 * 64);
        REQUIRE(formats::parameter_count(run) == formats::element_count(run));
        REQUIRE(formats::parse_run_file(formats::write_run_file(run)) == run);
    }
    REQUIRE(make_run({.bytes = 4, .codec = Codec::kFp16, .dht_seeds = {}}).codec == Codec::kFp16);
    REQUIRE_THROWS_AS(make_run({.bytes = 0, .dht_seeds = {}}), InputError);
}
