#include "peer/ledger/entry_codec.hpp"

#include <catch2/catch.hpp>
#include <cstdio>

#include "tests/peer/ledger/history.hpp"

namespace dedloc::ledger {
namespace {

EntryCodec codec_of(const History& history) {
    return {history.run, history.trust().backbone};
}

}  // namespace

TEST_CASE("decoding restores every entry while members come and go", "[ledger][property]") {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
        History history(seed, {.members = 1 + seed % 9,
                               .churn = seed % 3 == 0 ? 0.0 : 0.7,
                               .short_losses = seed % 2 == 0});
        EntryCodec encoder = codec_of(history);
        ByteWriter out;
        std::vector<Entry> entries;
        for (std::size_t i = 0; i < 40; ++i) {
            entries.emplace_back(history.decide());
            REQUIRE(encoder.encode(std::get<Decision>(entries.back()), out));
            if (i % 16 == 15) {
                entries.emplace_back(
                    history.begin_generation(StepIndex{history.head.step.value() - 7}, 1 + i / 9));
                REQUIRE(encoder.encode(std::get<SignedGeneration>(entries.back()), out));
            }
            REQUIRE(encoder.head() == history.head);
        }
        const Buffer bytes = std::move(out).finish();
        EntryCodec decoder = codec_of(history);
        ByteReader reader(bytes);
        for (const Entry& entry : entries) {
            const auto decoded = decoder.decode(reader);
            REQUIRE(decoded);
            REQUIRE(*decoded == entry);
        }
        CHECK(reader.remaining() == 0);
        CHECK_FALSE(decoder.decode(reader));
        CHECK(decoder.head() == encoder.head());
    }
}

TEST_CASE("the mixture of a step costs bytes only when it changes", "[ledger]") {
    History history(5, {.members = 3, .churn = 0.0, .short_losses = true});
    EntryCodec encoder = codec_of(history);
    EntryCodec decoder = codec_of(history);
    std::vector<std::size_t> sizes;
    const Digest first = blake2b(bytes_of(std::string_view{"first"}));
    for (const auto& mixture : {std::optional<Digest>{}, std::optional{first}, std::optional{first},
                                std::optional<Digest>{}, std::optional<Digest>{}}) {
        const Decision decision = history.decide(mixture);
        ByteWriter out;
        REQUIRE(encoder.encode(decision, out));
        const Buffer bytes = std::move(out).finish();
        sizes.push_back(bytes.size());
        ByteReader reader(bytes);
        const auto decoded = decoder.decode(reader);
        REQUIRE(decoded);
        CHECK(std::get<Decision>(*decoded) == decision);
        CHECK(reader.remaining() == 0);
    }
    // Numbers of reduced elements take some bytes more or less.
    CHECK(sizes[1] > sizes[2] + 20);
    CHECK(sizes[3] < sizes[2] + 15);
}

TEST_CASE("added sources of members cost bytes only when they change", "[ledger]") {
    History history(6, {.members = 4, .churn = 0.4, .short_losses = true});
    EntryCodec encoder = codec_of(history);
    EntryCodec decoder = codec_of(history);
    const Digest first = blake2b(bytes_of(std::string_view{"first"}));
    const std::vector<std::uint8_t> some{0, 1, 1, 0, 1, 1};
    const std::vector<std::uint8_t> all(6, std::uint8_t{16});
    std::size_t before = 0;
    for (const auto& added : {std::vector<std::uint8_t>{}, some, some, some, all, all, some}) {
        for (const auto& mixture : {std::optional<Digest>{}, std::optional{first}}) {
            const Decision decision = history.decide(mixture, added);
            ByteWriter out;
            REQUIRE(encoder.encode(decision, out));
            const Buffer bytes = std::move(out).finish();
            ByteReader reader(bytes);
            const auto decoded = decoder.decode(reader);
            REQUIRE(decoded);
            CHECK(std::get<Decision>(*decoded) == decision);
            CHECK(reader.remaining() == 0);
            before = bytes.size();
        }
    }
    CHECK(before > 0);
    // Once they are known, an entry is as large as without them.
    History still(7, {.members = 3, .churn = 0, .short_losses = true});
    EntryCodec codec = codec_of(still);
    std::vector<std::size_t> sizes;
    for (int step = 0; step < 3; ++step) {
        ByteWriter out;
        REQUIRE(codec.encode(still.decide(first, all), out));
        sizes.push_back(std::move(out).finish().size());
    }
    CHECK(sizes[2] + 20 < sizes[0]);
}

TEST_CASE("a damaged entry is refused or decodes to a different valid entry",
          "[ledger][property]") {
    History history(7, {.members = 5, .churn = 0.8, .short_losses = false});
    EntryCodec encoder = codec_of(history);
    ByteWriter out;
    for (int i = 0; i < 12; ++i) REQUIRE(encoder.encode(history.decide(), out));
    REQUIRE(encoder.encode(history.begin_generation(StepIndex{3}), out));
    REQUIRE(encoder.encode(history.decide({}, {1, 0, 2, 1, 0, 3}), out));
    const Buffer good = std::move(out).finish();
    Random random(11);
    for (int trial = 0; trial < 20'000; ++trial) {
        Buffer bytes = good;
        for (std::uint64_t flips = 1 + random.below(4); flips > 0; --flips) {
            bytes[random.below(bytes.size())] = static_cast<std::byte>(random.below(256));
        }
        bytes.resize(random.below(bytes.size() + 1));
        EntryCodec decoder = codec_of(history);
        ByteReader reader(bytes);
        while (decoder.decode(reader)) {
        }
    }
    // Random bytes.
    for (int trial = 0; trial < 20'000; ++trial) {
        Buffer bytes(random.below(300));
        for (auto& byte : bytes) byte = static_cast<std::byte>(random.below(256));
        if (!bytes.empty()) bytes[0] = static_cast<std::byte>(1 + random.below(3));
        EntryCodec decoder = codec_of(history);
        ByteReader reader(bytes);
        while (decoder.decode(reader)) {
        }
    }
}

TEST_CASE("an entry that cannot come next is not encoded, and changes nothing", "[ledger]") {
    History history(3, {.members = 4, .churn = 0.5, .short_losses = false});
    EntryCodec encoder = codec_of(history);
    ByteWriter out;
    const Decision first = history.decide();
    REQUIRE(encoder.encode(first, out));
    const Decision second = history.decide();
    const Decision third = history.decide();
    Decision unsorted = second;
    unsorted.certificate.votes.push_back(unsorted.certificate.votes.front());
    Decision by_strangers = second;
    by_strangers.certificate.votes.front().voter = KeyPair::generate().public_key();
    Decision without_samples = second;
    for (CommitLine& line : without_samples.record.members) line.samples = Samples{};
    ByteWriter nothing;
    for (const Decision& decision : {first, third, unsorted, by_strangers, without_samples}) {
        CHECK_FALSE(encoder.encode(decision, nothing));
    }
    SignedGeneration generation = history.begin_generation(StepIndex{2});
    generation.record.voters.clear();
    CHECK_FALSE(encoder.encode(generation, nothing));
    CHECK(std::move(nothing).finish().empty());
    CHECK(encoder.encode(second, out));
    CHECK(encoder.encode(third, out));
}

}  // namespace dedloc::ledger
