// How bounds of the wire are tested: a good value is changed, signed without a check, and decoded.
#pragma once

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "peer/wire/limits.hpp"
#include "peer/wire/message.hpp"
#include "peer/wire/message_codec.hpp"
#include "tests/peer/wire/samples.hpp"

namespace dedloc::tests {

using namespace wire;

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr std::uint32_t kNanBits = 0x7fc00000u;
inline constexpr std::uint32_t kInfinityBits = 0x7f800000u;
inline constexpr std::uint32_t kMinusOneBits = 0xbf800000u;

/// The result of decode() for a body that was signed without a check of its bounds.
inline bool is_accepted(const wire::Message& message) {
    const KeyPair key = test_key();
    const auto decoded = decode(*frame_of(message, &key), LinkKind::kUnproven);
    if (!decoded) REQUIRE(decoded.reason() == DecodeError::kOutOfBounds);
    return decoded.has_value();
}
inline bool is_accepted(wire::Body body) {
    return is_accepted(WireSamples{1}.message(std::move(body), test_key()));
}

/// A body of this kind within its bounds.
template <class M>
M good() {
    M body;
    WireSamples{2}.make(body);
    return body;
}

/// Such a body after `change`.
template <class M, class Change>
bool accepts(Change change) {
    M body = good<M>();
    REQUIRE(is_accepted(body));
    change(body);
    return is_accepted(body);
}

/// Checks that a field may have the value `limit` and not `beyond`.
template <class M, class Field, class Value>
void check_limit(Field field, Value limit, Value beyond) {
    REQUIRE(accepts<M>([&](M& m) { std::invoke(field, m) = limit; }));
    REQUIRE_FALSE(accepts<M>([&](M& m) { std::invoke(field, m) = beyond; }));
}

inline std::vector<PeerKey> ascending_keys(std::size_t count) {
    std::vector<PeerKey> keys(count);
    for (std::size_t i = 0; i < count; ++i) {
        keys[i].bytes[0] = static_cast<std::byte>(i >> 8);
        keys[i].bytes[1] = static_cast<std::byte>(i);
    }
    return keys;
}

/// Checks every bound of a record in the body that `put` makes of it.
template <class Put>
void check_record_bounds(Put put) {
    const CommitRecord one = good<CommitRecord>();
    const auto with = [&](auto change) {
        CommitRecord record = one;
        change(record);
        return is_accepted(put(record));
    };
    const auto members = [](std::size_t count) {
        return [count](CommitRecord& r) {
            r.members.clear();
            for (const PeerKey& key : ascending_keys(count)) {
                r.members.push_back({.peer = key, .samples = Samples{0}, .reduced = 1});
            }
        };
    };
    REQUIRE(with([](CommitRecord&) {}));
    REQUIRE(with(members(kMaxMembers)));
    REQUIRE_FALSE(with(members(kMaxMembers + 1)));
    REQUIRE_FALSE(with(members(0)));
    REQUIRE_FALSE(with([](CommitRecord& r) { r.members.push_back(r.members.back()); }));
    REQUIRE_FALSE(with([](CommitRecord& r) { r.members.push_back({PeerKey{}, Samples{0}}); }));
    REQUIRE(with([](CommitRecord& r) { r.members[0].samples = Samples{kMaxSamples}; }));
    REQUIRE_FALSE(with([](CommitRecord& r) { r.members[0].samples = Samples{kMaxSamples + 1}; }));
    const auto with_parts = [&](std::uint64_t first, std::uint64_t others) {
        return with([&](CommitRecord& r) {
            for (CommitLine& line : r.members) line.reduced = 0;
            r.members[0].reduced = first;
            r.members.back().reduced += others;
        });
    };
    REQUIRE(with_parts(kMaxElements, 0));
    REQUIRE(with_parts(1, kMaxElements - 1));
    REQUIRE_FALSE(with_parts(0, 0));
    REQUIRE_FALSE(with_parts(kMaxElements, 1));
    REQUIRE_FALSE(with_parts(~std::uint64_t{0}, 2));
    const auto with_losses = [&](std::uint64_t count, double loss_sum) {
        return with([&](CommitRecord& r) {
            r.members[0] = {r.members[0].peer, Samples{count}, loss_sum, 1};
        });
    };
    REQUIRE(with_losses(8, -8 * kMaxMeanLoss));
    REQUIRE(with_losses(0, 0));
    REQUIRE_FALSE(with_losses(0, 1e-300));
    for (const double bad :
         {kNan, kInfinity, -kInfinity, std::nextafter(8 * kMaxMeanLoss, kInfinity)}) {
        REQUIRE_FALSE(with_losses(8, bad));
    }
    for (const std::uint32_t bad : {kNanBits, kInfinityBits, kMinusOneBits}) {
        REQUIRE_FALSE(with([&](CommitRecord& r) { r.scalars.learning_rate = bad; }));
        REQUIRE_FALSE(with([&](CommitRecord& r) { r.scalars.first_correction = bad; }));
        REQUIRE_FALSE(with([&](CommitRecord& r) { r.scalars.second_correction = bad; }));
    }
    for (const std::uint32_t bad : {0u, UpdateScalars::kOne + 1}) {
        REQUIRE_FALSE(with([&](CommitRecord& r) { r.scalars.first_correction = bad; }));
        REQUIRE_FALSE(with([&](CommitRecord& r) { r.scalars.second_correction = bad; }));
    }
    REQUIRE(with([](CommitRecord& r) { r.scalars = {.first_correction = UpdateScalars::kOne}; }));
    REQUIRE(with([](CommitRecord& r) { r.step = StepIndex{kMaxStep}; }));
    REQUIRE_FALSE(with([](CommitRecord& r) { r.step = StepIndex{kMaxStep + 1}; }));
    REQUIRE_FALSE(with([](CommitRecord& r) { r.generation = kMaxGeneration + 1; }));
}

/// Checks every bound of a list of votes in the body that `put` makes of it.
template <class Put>
void check_vote_bounds(Put put, bool may_be_empty) {
    const auto votes = [&](const std::vector<PeerKey>& keys) {
        std::vector<Vote> list;
        for (const PeerKey& key : keys) list.push_back({.voter = key});
        return is_accepted(put(std::move(list)));
    };
    REQUIRE(votes(ascending_keys(1)));
    REQUIRE(votes(ascending_keys(kMaxVoters)));
    REQUIRE_FALSE(votes(ascending_keys(kMaxVoters + 1)));
    REQUIRE(votes({}) == may_be_empty);
    const auto two = ascending_keys(2);
    REQUIRE_FALSE(votes({two[1], two[0]}));
    REQUIRE_FALSE(votes({two[1], two[1]}));
}

template <class Put>
void check_certificate_bounds(Put put) {
    const auto with_votes = [&](std::vector<Vote> votes) {
        return put(Certificate{.term = {}, .votes = std::move(votes)});
    };
    check_vote_bounds(with_votes, false);
    const auto with_term = [&](std::uint64_t number) {
        Certificate certificate = good<Certificate>();
        certificate.term.number = number;
        return is_accepted(put(certificate));
    };
    REQUIRE(with_term(kMaxTermNumber));
    REQUIRE_FALSE(with_term(kMaxTermNumber + 1));
}

/// Checks the bound of the number of one term of a body.
template <class M>
void check_term(Term M::*field) {
    check_limit<M>(
        [field](M & m) -> auto& { return (m.*field).number; }, kMaxTermNumber, kMaxTermNumber + 1);
}

}  // namespace dedloc::tests
