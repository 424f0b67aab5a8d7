// Pieces of contributions that cannot be averaged: they are refused and their sender is reported.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <utility>
#include <variant>
#include <vector>

#include "peer/round/reduction.hpp"

using namespace dedloc;
using namespace dedloc::round;

namespace {

PeerKey sender_key(std::size_t k) {
    PeerKey key;
    key.bytes.fill(static_cast<std::byte>(k + 1));
    return key;
}

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr std::uint32_t kChunk = 128;  // two int8 blocks
constexpr std::uint32_t kFewChunks = 4;

/// One member reduces everything; three others send it their contributions.
struct Refusing {
    explicit Refusing(Codec its_codec)
        : codec(its_codec),
          reducer(kChunk * kFewChunks, its_codec, sender_key(0), std::uint64_t{1} << 30) {}

    /// Starts the round with these senders and the exponents in their Joins.
    wire::Plan plan(std::vector<std::size_t> senders, std::uint32_t attempt = 1) const {
        wire::Plan plan;
        plan.term = {.number = 1, .coordinator = sender_key(0)};
        plan.attempt = attempt;
        plan.elements = kChunk * kFewChunks;
        plan.chunk_elements = kChunk;
        plan.members.push_back({.peer = sender_key(0), .samples = Samples{0}, .receives = true});
        for (const std::size_t k : senders) {
            plan.members.push_back({.peer = sender_key(k),
                                    .samples = Samples{2},
                                    .loss_sum = 0,
                                    .contribution_id = contribution_id_of(k),
                                    .receives = true,
                                    .exponent = exponent()});
        }
        plan.ranges = {{.member = PeerIndex{0}, .first_chunk = 0, .last_chunk = kFewChunks}};
        return plan;
    }
    std::uint8_t exponent() const {
        return codec == Codec::kFp16 || codec == Codec::kInt8 ? 127 : 0;
    }
    std::uint32_t contribution_id_of(std::size_t k) const {
        return 10 + static_cast<std::uint32_t>(k) + 100 * refrozen;
    }
    void follow(const wire::Plan& plan) {
        reducer.follow(plan, Encoder{});
        reducer.check_invariants();
    }
    wire::Chunk piece(std::size_t from, std::uint32_t chunk) const {
        wire::Elements elements = FloatVector(kChunk, 6.0F);
        if (codec == Codec::kFp16) {
            elements = wire::Halves{.bits = std::vector<std::uint16_t>(kChunk, 0x4600),  // 6
                                    .exponent = 127};
        }
        if (codec == Codec::kBf16) {
            elements = wire::Bfloats{.bits = std::vector<std::uint16_t>(kChunk, 0x40c0)};  // 6
        }
        if (codec == Codec::kInt8) {
            elements = wire::Int8Blocks{.codes = std::vector<std::int8_t>(kChunk, 48),  // ÷ 8
                                        .exponents = std::vector<std::uint8_t>(2, 124)};
        }
        return {.kind = wire::ChunkKind::kScatter,
                .sum_id = contribution_id_of(from),
                .chunk = chunk,
                .chunk_elements = kChunk,
                .elements = std::move(elements)};
    }
    template <class Change>
    void give(std::size_t from, std::uint32_t chunk, Change change) {
        wire::Chunk given = piece(from, chunk);
        change(given);
        reducer.take(sender_key(from), std::move(given));
        reducer.check_invariants();
    }
    void give(std::size_t from, std::uint32_t chunk) {
        give(from, chunk, [](auto&) {});
    }
    void give_all(std::size_t from) {
        for (std::uint32_t c = 0; c < kFewChunks; ++c) give(from, c);
    }
    using Members = std::vector<std::uint32_t>;

    const Codec codec;
    Reduction reducer;
    std::uint32_t refrozen = 0;
};

void spoil(wire::Chunk& chunk, float number) {
    auto values = std::get<SharedSlice<float>>(chunk.elements).values();
    FloatVector numbers(values.begin(), values.end());
    numbers.back() = number;
    chunk.elements = std::move(numbers);
}

void spoil_bfloats(wire::Chunk& chunk, std::uint16_t bits) {
    std::vector<std::uint16_t> bfloats(kChunk, 0x40c0);
    bfloats.front() = bits;
    chunk.elements = wire::Bfloats{.bits = std::move(bfloats)};
}

void spoil_blocks(wire::Chunk& chunk, std::uint8_t exponent) {
    chunk.elements = wire::Int8Blocks{.codes = std::vector<std::int8_t>(kChunk, 1),
                                      .exponents = std::vector<std::uint8_t>{124, exponent}};
}

void spoil_halves(wire::Chunk& chunk, std::uint16_t bits, std::uint8_t exponent) {
    std::vector<std::uint16_t> halves(kChunk, 0x4600);
    halves.front() = bits;
    chunk.elements = wire::Halves{.bits = std::move(halves), .exponent = exponent};
}

}  // namespace

TEST_CASE("a sender of numbers that are not finite is refused and reported", "[averaging]") {
    for (const float bad : {kNaN, -kNaN, std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity(), 0x1p117F, -0x1p117F}) {
        Refusing round{Codec::kFp32};
        round.follow(round.plan({1, 2, 3}));
        round.give_all(1);
        round.give(2, 0);
        CHECK(round.reducer.refused_senders().empty());
        round.give(2, 1, [&](auto& chunk) { spoil(chunk, bad); });
        CHECK(round.reducer.refused_senders() == Refusing::Members{2});
        // Its later pieces are refused too, and its earlier ones are dropped.
        round.give_all(2);
        round.give_all(3);
        CHECK_FALSE(round.reducer.is_reduced());
        CHECK(round.reducer.offered_chunks() == 0);
        CHECK(round.reducer.missing_senders() == Refusing::Members{2});
        CHECK(round.reducer.refused_senders() == Refusing::Members{2});
        // Without this sender the round ends with the mean of the others.
        round.follow(round.plan({1, 3}, 2));
        CHECK(round.reducer.refused_senders().empty());
        REQUIRE(round.reducer.is_complete());
        CHECK(*round.reducer.average() == FloatVector(kChunk * kFewChunks, 3.0F));
    }
}

TEST_CASE("the sum of the largest pieces that are accepted is finite", "[averaging]") {
    std::vector<std::size_t> senders;
    for (std::size_t k = 1; k < 64; ++k) senders.push_back(k);
    Refusing round{Codec::kFp32};
    round.follow(round.plan(senders));
    for (const std::size_t k : senders) {
        for (std::uint32_t c = 0; c < kFewChunks; ++c) {
            round.give(k, c, [](auto& chunk) { spoil(chunk, std::nextafter(0x1p117F, 0.0F)); });
        }
    }
    CHECK(round.reducer.refused_senders().empty());
    REQUIRE(round.reducer.is_complete());
    CHECK(std::isfinite(round.reducer.average()->back()));
}

TEST_CASE("averages that are not finite are refused, and their reducer is named", "[averaging]") {
    Refusing round{Codec::kFp32};
    wire::Plan plan = round.plan({1});
    std::swap(plan.members[0].samples, plan.members[1].samples);
    plan.members[0].contribution_id = 7;
    Reduction receiver{kChunk * kFewChunks, Codec::kFp32, sender_key(1), std::uint64_t{1} << 30};
    receiver.follow(plan, Encoder{});
    const auto take = [&](std::uint32_t c, float number) {
        wire::Chunk chunk = round.piece(0, c);
        chunk.kind = wire::ChunkKind::kGather;
        chunk.sum_id = wire::sum_id_of(plan);
        spoil(chunk, number);
        return receiver.take(sender_key(0), chunk);
    };
    CHECK(take(0, 1.0F) == Reduction::Taken::kPlaced);
    CHECK(receiver.refused_reducers().empty());
    for (const float bad : {kNaN, std::numeric_limits<float>::infinity()}) {
        CHECK(take(1, bad) == Reduction::Taken::kNothing);
        CHECK(receiver.refused_reducers() == Refusing::Members{0});
        CHECK(receiver.missing_reducers() == Refusing::Members{0});
    }
    receiver.check_invariants();
}

TEST_CASE("averages with a refused sender's pieces stay until it is left out", "[averaging]") {
    Refusing round{Codec::kFp32};
    round.follow(round.plan({1, 2}));
    round.give_all(1);
    round.give(2, 0);
    CHECK(round.reducer.offered_chunks() == 1);
    round.give(2, 1, [](auto& chunk) { spoil(chunk, kNaN); });
    CHECK(round.reducer.offered_chunks() == 1);
    CHECK(round.reducer.missing_senders() == Refusing::Members{2});
    round.follow(round.plan({1}, 2));
    REQUIRE(round.reducer.is_complete());
    CHECK(*round.reducer.average() == FloatVector(kChunk * kFewChunks, 3.0F));
}

TEST_CASE("a sender with a new contribution id is not refused for its former pieces",
          "[averaging]") {
    Refusing round{Codec::kFp32};
    round.follow(round.plan({1, 2}));
    round.give(2, 0, [](auto& chunk) { spoil(chunk, kNaN); });
    round.refrozen = 1;
    round.follow(round.plan({1, 2}, 2));
    CHECK(round.reducer.refused_senders().empty());
    round.give_all(1);
    round.give_all(2);
    REQUIRE(round.reducer.is_complete());
    CHECK(*round.reducer.average() == FloatVector(kChunk * kFewChunks, 3.0F));
}

TEST_CASE("halves are refused if they are not finite or have another exponent than the join",
          "[averaging]") {
    const auto refused_after = [](std::uint16_t bits, std::uint8_t exponent) {
        Refusing round{Codec::kFp16};
        round.follow(round.plan({1, 2}));
        round.give_all(1);
        round.give(2, 2, [&](auto& chunk) { spoil_halves(chunk, bits, exponent); });
        return round.reducer.refused_senders();
    };
    CHECK(refused_after(0x7BFF, 127).empty());
    CHECK(refused_after(0x0001, 127).empty());
    CHECK(refused_after(0x7C00, 127) == Refusing::Members{2});
    CHECK(refused_after(0xFC00, 127) == Refusing::Members{2});
    CHECK(refused_after(0x7E01, 127) == Refusing::Members{2});
    CHECK(refused_after(0x4600, 126) == Refusing::Members{2});
    CHECK(refused_after(0x4600, 239) == Refusing::Members{2});
}

TEST_CASE("bfloats are refused if they are not finite or too large to be added", "[averaging]") {
    const auto refused_after = [](std::uint16_t bits) {
        Refusing round{Codec::kBf16};
        round.follow(round.plan({1, 2}));
        round.give_all(1);
        round.give(2, 2, [&](auto& chunk) { spoil_bfloats(chunk, bits); });
        return round.reducer.refused_senders();
    };
    CHECK(refused_after(0x79ff).empty());
    CHECK(refused_after(0x7a00) == Refusing::Members{2});
    CHECK(refused_after(0x8001).empty());
    CHECK(refused_after(0x7f80) == Refusing::Members{2});
    CHECK(refused_after(0xff80) == Refusing::Members{2});
    CHECK(refused_after(0x7fc0) == Refusing::Members{2});
}

TEST_CASE("int8 blocks are refused if an exponent is above that of the join", "[averaging]") {
    const auto refused_after = [](std::uint8_t exponent) {
        Refusing round{Codec::kInt8};
        round.follow(round.plan({1, 2}));
        round.give_all(1);
        round.give(2, 2, [&](auto& chunk) { spoil_blocks(chunk, exponent); });
        return round.reducer.refused_senders();
    };
    CHECK(refused_after(1).empty());
    CHECK(refused_after(127).empty());
    CHECK(refused_after(128) == Refusing::Members{2});
    CHECK(refused_after(238) == Refusing::Members{2});
}

TEST_CASE("pieces that arrive before their plan are judged with the plan", "[averaging]") {
    const Codec codec = GENERATE(Codec::kFp32, Codec::kFp16, Codec::kBf16, Codec::kInt8);
    Refusing round{codec};
    round.give_all(1);
    round.give(2, 0);
    round.give(2, 3, [&](auto& chunk) {
        if (codec == Codec::kFp32) spoil(chunk, kNaN);
        if (codec == Codec::kFp16) spoil_halves(chunk, 0x4600, 200);
        if (codec == Codec::kBf16) spoil_bfloats(chunk, 0x7f80);
        if (codec == Codec::kInt8) spoil_blocks(chunk, 200);
    });
    CHECK(round.reducer.refused_senders().empty());
    round.follow(round.plan({1, 2}));
    CHECK(round.reducer.refused_senders() == Refusing::Members{2});
    round.give_all(2);
    CHECK_FALSE(round.reducer.is_reduced());
    round.follow(round.plan({1}, 2));
    REQUIRE(round.reducer.is_complete());
    CHECK(*round.reducer.average() == FloatVector(kChunk * kFewChunks, 3.0F));
}

TEST_CASE("a piece with another member's contribution id refuses only its sender", "[averaging]") {
    Refusing round{Codec::kFp32};
    round.follow(round.plan({1, 2}));
    wire::Chunk forged = round.piece(1, 0);  // carries the contribution id of the first sender
    spoil(forged, kNaN);
    round.reducer.take(sender_key(2), forged);
    CHECK(round.reducer.refused_senders().empty());
    round.give_all(1);
    round.give_all(2);
    CHECK(round.reducer.is_complete());
}

TEST_CASE("chunks ahead of their plan are bounded, and the senders that hold most lose theirs",
          "[averaging]") {
    // So many elements, and 64 a chunk: half as many as one sender may have kept.
    constexpr std::uint64_t kHalf = kChunk * kFewChunks + 16'384 * 64;
    constexpr std::uint64_t kFlood = 2 * kHalf / (kChunk + 64) - kFewChunks;
    Refusing round{Codec::kFp32};
    const std::size_t honest = 1;
    const std::vector<std::size_t> liars{2, 3, 4};
    round.give_all(honest);
    for (const std::size_t liar : liars) round.give_all(liar);
    for (std::uint32_t k = 0; k < kFlood; ++k) {
        for (const std::size_t liar : liars) {
            wire::Chunk chunk = round.piece(liar, k % kFewChunks);
            chunk.sum_id = 1'000 + k;
            round.reducer.take(sender_key(liar), std::move(chunk));
        }
    }
    round.reducer.check_invariants();
    round.follow(round.plan({1, 2, 3, 4}));
    CHECK(round.reducer.missing_senders() == Refusing::Members{2, 3, 4});
    round.follow(round.plan({1}, 2));
    CHECK(round.reducer.is_reduced());
}
