// Tickets and revocations: what is written reads back equal, and other input is refused.
#include <catch2/catch.hpp>
#include <chrono>
#include <limits>

#include "peer/formats/ticket.hpp"
#include "peer/wire/limits.hpp"
#include "tests/peer/wire/samples.hpp"

namespace dedloc::formats {
namespace {

using tests::test_key;
using tests::test_ticket;

constexpr std::uint8_t kProject = 9;

TEST_CASE("a ticket reads back equal, and only its project has signed it", "[wire]") {
    const SignedTicket ticket = sign(test_ticket(1), test_key(kProject));
    const Buffer bytes = encode(ticket);
    CHECK(bytes.size() == wire::kTicketBytes);
    CHECK(decode_ticket(bytes) == ticket);
    CHECK(is_signed_by(test_key(kProject).public_key(), ticket));
    CHECK_FALSE(is_signed_by(test_key(1).public_key(), ticket));
}

TEST_CASE("a ticket with any bit changed is refused or has a bad signature", "[wire]") {
    const Buffer bytes = encode(sign(test_ticket(1), test_key(kProject)));
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
        Buffer changed = bytes;
        changed[bit / 8] ^= std::byte{1} << (bit % 8);
        const auto ticket = decode_ticket(changed);
        REQUIRE_FALSE((ticket && is_signed_by(test_key(kProject).public_key(), *ticket)));
    }
}

TEST_CASE("a ticket of another size is refused", "[wire]") {
    Buffer bytes = encode(sign(test_ticket(1), test_key(kProject)));
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        REQUIRE_FALSE(decode_ticket(std::span{bytes}.first(size)));
    }
    bytes.push_back(std::byte{});
    CHECK_FALSE(decode_ticket(bytes));
    CHECK_FALSE(decode_ticket(Buffer(wire::kTicketBytes)));
}

TEST_CASE("a ticket in the format without a speed limit is refused", "[wire]") {
    const Buffer good = encode(sign(test_ticket(1), test_key(kProject)));
    for (unsigned format = 0; format < 256; ++format) {
        Buffer bytes = good;
        bytes[0] = static_cast<std::byte>(format);
        CHECK(decode_ticket(bytes).has_value() == (format == 2));
    }
    Buffer old = good;
    old[0] = std::byte{1};
    constexpr std::ptrdiff_t kLimit = 4 + 32 + 32 + 3 * 8;
    old.erase(old.begin() + kLimit, old.begin() + kLimit + 8);
    CHECK_FALSE(decode_ticket(old));
}

// The expected value was computed with hashlib.blake2b over the fields in the order of ticket.hpp.
TEST_CASE("the project signs every field of a ticket", "[wire]") {
    Ticket ticket = test_ticket(1);
    ticket.peer.bytes.fill(std::byte{1});
    CHECK(digest_of(ticket).hex() ==
          "8cc6a26e38c6648d4b2684d1a91b9c8fed55333805ec69208468b34a2b2c5b8a");
    const Digest digest = digest_of(ticket);
    ++ticket.max_samples_per_second;
    CHECK(digest_of(ticket) != digest);
}

TEST_CASE("a ticket that expires before it is issued or has impossible ids is refused", "[wire]") {
    // Offsets of user, limit, issued and expires, after format, run and key.
    constexpr std::size_t kUser = 4 + 32 + 32;
    constexpr std::size_t kLimit = kUser + 3 * 8;
    constexpr std::size_t kIssued = kLimit + 8;
    constexpr std::size_t kExpires = kIssued + 8;
    const Buffer good = encode(sign(test_ticket(1), test_key(kProject)));
    const auto with = [&](std::size_t at, std::int64_t value) {
        Buffer bytes = good;
        std::memcpy(bytes.data() + at, &value, sizeof value);
        return decode_ticket(bytes);
    };
    CHECK(with(kUser, 0));
    CHECK_FALSE(with(kUser, -1));
    CHECK(with(kLimit, 0));
    CHECK(with(kLimit, std::int64_t{wire::kMaxSamplesPerSecond}));
    CHECK_FALSE(with(kLimit, std::int64_t{wire::kMaxSamplesPerSecond} + 1));
    CHECK_FALSE(with(kLimit, -1));
    CHECK_FALSE(with(kIssued, -1));
    CHECK_FALSE(with(kIssued, std::numeric_limits<std::int64_t>::min()));
    CHECK_FALSE(with(kExpires, 1'000'000));
    CHECK(with(kExpires, 1'000'001));
    CHECK(with(kExpires, wire::kMaxUtcSeconds));
    CHECK_FALSE(with(kExpires, wire::kMaxUtcSeconds + 1));
    CHECK_FALSE(with(kExpires, std::numeric_limits<std::int64_t>::max()));
}

TEST_CASE("tickets are revoked by user, host or key, those with a seat of zeros by key only",
          "[wire]") {
    const Ticket ticket = test_ticket(1);
    CHECK_FALSE(Revocations{}.covers(ticket));
    CHECK(Revocations{.users = {101}, .hosts = {}, .peers = {}}.covers(ticket));
    CHECK(Revocations{.users = {}, .hosts = {201}, .peers = {}}.covers(ticket));
    CHECK(Revocations{.users = {}, .hosts = {}, .peers = {ticket.peer}}.covers(ticket));
    CHECK_FALSE(Revocations{.users = {201}, .hosts = {101}, .peers = {}}.covers(ticket));
    Ticket own = ticket;
    own.job = {};
    CHECK_FALSE(Revocations{.users = {0}, .hosts = {0}, .peers = {}}.covers(own));
    CHECK(Revocations{.users = {}, .hosts = {}, .peers = {ticket.peer}}.covers(own));
}

Revocations some_revocations() {
    return {.as_of = UtcSeconds{std::chrono::seconds{1'700'000'000}},
            .users = {1, 300},
            .hosts = {7},
            .peers = {test_key(1).public_key(), test_key(2).public_key()}};
}

TEST_CASE("revocations read back equal, and only their project has signed them", "[wire]") {
    for (const Revocations& revocations : {Revocations{}, some_revocations()}) {
        const SignedRevocations all = sign(revocations, test_key(kProject));
        CHECK(decode_revocations(encode(all)) == all);
        CHECK(is_signed_by(test_key(kProject).public_key(), all));
        CHECK_FALSE(is_signed_by(test_key(1).public_key(), all));
    }
}

TEST_CASE("revocations that are changed, cut or extended are refused or have a bad signature",
          "[wire]") {
    Buffer bytes = encode(sign(some_revocations(), test_key(kProject)));
    for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
        Buffer changed = bytes;
        changed[bit / 8] ^= std::byte{1} << (bit % 8);
        const auto all = decode_revocations(changed);
        REQUIRE_FALSE((all && is_signed_by(test_key(kProject).public_key(), *all)));
    }
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        REQUIRE_FALSE(decode_revocations(std::span{bytes}.first(size)));
    }
    bytes.push_back(std::byte{});
    CHECK_FALSE(decode_revocations(bytes));
    CHECK_FALSE(decode_revocations(Buffer(wire::kMaxRevocationsBytes + 1)));
}

TEST_CASE("the largest revocation list fits its limit, and a larger one is refused", "[wire]") {
    Revocations max;
    for (std::uint64_t id = 0; id < wire::kMaxRevocations; ++id) max.hosts.insert(id);
    Buffer bytes = encode(sign(max, test_key(kProject)));
    CHECK(decode_revocations(bytes));
    // The count of hosts comes after the format, the time and the count of users.
    bytes[4 * sizeof(std::uint32_t)] = std::byte{(wire::kMaxRevocations + 1) & 0xff};
    bytes.insert(bytes.begin() + 6 * sizeof(std::uint32_t), sizeof(std::uint64_t), std::byte{});
    CHECK_FALSE(decode_revocations(bytes));
}

}  // namespace
}  // namespace dedloc::formats
