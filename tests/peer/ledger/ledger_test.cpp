#include "tests/peer/ledger/ledger.hpp"

#include <catch2/catch.hpp>
#include <cstdio>
#include <map>

#include "tests/peer/ledger/history.hpp"

namespace dedloc::ledger {
namespace {

struct Written {
    Written(std::uint64_t seed, const HistoryOptions& options, int steps)
        : history(seed, options), ledger(history.trust()) {
        for (int i = 0; i < steps; ++i) write();
    }
    void write() {
        const Decision decision = history.decide();
        records.push_back(decision.record);
        REQUIRE(ledger.append(decision));
    }
    std::vector<CommitRecord> in(const Ledger& some) const {
        std::vector<CommitRecord> all;
        some.for_each([&](const CommitRecord& record) { all.push_back(record); });
        return all;
    }
    LedgerError refusal(std::span<const std::byte> bytes) const {
        const auto read = Ledger::decode(bytes, history.trust());
        REQUIRE_FALSE(read);
        return read.reason();
    }
    History history;
    Ledger ledger;
    std::vector<CommitRecord> records;
};

constexpr HistoryOptions kLively{.members = 6, .churn = 0.5, .short_losses = false};

}  // namespace

TEST_CASE("a ledger read from its file equals the original", "[ledger]") {
    for (const int steps : {0, 1, 2, 31, 32, 33, 100}) {
        for (const double churn : {0.0, 0.05, 1.0}) {
            Written written(9, {.members = 6, .churn = churn, .short_losses = false}, steps);
            const Buffer bytes = written.ledger.encode();
            auto read = Ledger::decode(bytes, written.history.trust());
            REQUIRE(read);
            Ledger ledger = std::move(read).value();
            CHECK(ledger.head() == written.history.head);
            CHECK(written.in(ledger) == written.records);
            CHECK(ledger.samples() == written.ledger.samples());
            CHECK(ledger.encode() == bytes);
            ledger.check_invariants();
            // The copy can be continued.
            CHECK(ledger.append(written.history.decide()));
            CHECK(Ledger::decode(ledger.encode(), written.history.trust()));
        }
    }
}

TEST_CASE("samples are conserved and receipts are each peer's own lines", "[ledger]") {
    Written written(5, kLively, 80);
    written.ledger.check_invariants();
    std::map<PeerKey, std::vector<formats::ReceiptLine>> lines;
    Samples total;
    for (const CommitRecord& record : written.records) {
        for (const CommitLine& line : record.members) {
            if (line.samples > Samples{}) lines[line.peer].push_back({record.step, line.samples});
            total += line.samples;
        }
    }
    CHECK(written.ledger.samples() == total);
    for (const KeyPair& key : written.history.keys) {
        const PeerKey peer = key.public_key();
        CHECK(written.ledger.receipt_lines(peer) == lines[peer]);
        Samples sum;
        for (const auto& line : lines[peer]) sum += line.samples;
        CHECK(written.ledger.samples_of(peer) == sum);
    }
}

TEST_CASE("a decision without a proof is not appended", "[ledger]") {
    Written written(6, kLively, 10);
    REQUIRE(written.ledger.begin(written.history.begin_generation(StepIndex{9}, 5)));
    Ledger& ledger = written.ledger;
    const Head head = ledger.head();
    const Decision good = written.history.decide();

    Decision too_few = good;
    too_few.certificate.votes.pop_back();
    CHECK_FALSE(ledger.append(too_few));
    Decision forged = good;
    forged.certificate.votes[0].signature[0] ^= std::byte{1};
    CHECK_FALSE(ledger.append(forged));
    Decision richer = good;
    richer.record.members[0].samples += Samples{1};
    CHECK_FALSE(ledger.append(richer));
    CHECK(ledger.head() == head);
    ledger.check_invariants();

    CHECK(ledger.append(good));
    CHECK_FALSE(ledger.append(good));
}

TEST_CASE("a generation makes the records from its step on void", "[ledger]") {
    Written written(8, kLively, 50);
    SignedGeneration forged = written.history.begin_generation(StepIndex{20});
    const SignedGeneration generation = forged;
    forged.record.step = StepIndex{10};
    CHECK_FALSE(written.ledger.begin(forged));
    REQUIRE(written.ledger.begin(generation));
    CHECK_FALSE(written.ledger.begin(generation));
    CHECK(written.ledger.head() == written.history.head);
    written.records.resize(20);
    CHECK(written.in(written.ledger) == written.records);
    written.ledger.check_invariants();

    for (int i = 0; i < 10; ++i) written.write();
    REQUIRE(written.ledger.begin(written.history.begin_generation(StepIndex{25})));
    written.records.resize(25);
    for (int i = 0; i < 40; ++i) written.write();
    CHECK(written.in(written.ledger) == written.records);
    written.ledger.check_invariants();
    const auto read = Ledger::decode(written.ledger.encode(), written.history.trust());
    REQUIRE(read);
    CHECK(written.in(*read) == written.records);
    CHECK(read->samples() == written.ledger.samples());
    read->check_invariants();
}

TEST_CASE("no flipped bit of a file passes", "[ledger][property]") {
    Written written(4, {.members = 3, .churn = 0.5, .short_losses = false}, 12);
    REQUIRE(written.ledger.begin(written.history.begin_generation(StepIndex{9})));
    for (int i = 0; i < 4; ++i) written.write();
    const Buffer good = written.ledger.encode();
    for (std::size_t place = 0; place < good.size(); ++place) {
        Buffer bytes = good;
        bytes[place] ^= static_cast<std::byte>(1U << place % 8);
        CHECK_FALSE(Ledger::decode(bytes, written.history.trust()));
    }
}

TEST_CASE("a file with a missing proof, or of another run, is refused with the reason",
          "[ledger]") {
    Written written(3, {.members = 3, .churn = 0, .short_losses = false}, 20);
    const Buffer good = written.ledger.encode();
    Buffer unproven = good;
    unproven.back() ^= std::byte{1};  // the last byte of the last signature
    CHECK(written.refusal(unproven) == LedgerError::kNotCertified);
    CHECK(written.refusal(std::span{good}.first(good.size() - 1)) == LedgerError::kMalformed);
    CHECK(written.refusal(std::span{good}.first(50)) == LedgerError::kForeign);

    Trust other = written.history.trust();
    other.run.bytes[0] ^= std::byte{1};
    CHECK(Ledger::decode(good, other).reason() == LedgerError::kForeign);

    // Forged records, signed by a voter that the project has not appointed.
    History stranger(99, {.members = 3, .churn = 0, .short_losses = false});
    Ledger made_up(stranger.trust());
    for (int i = 0; i < 3; ++i) REQUIRE(made_up.append(stranger.decide()));
    CHECK_FALSE(Ledger::decode(made_up.encode(), written.history.trust()));
}

TEST_CASE("a step takes few bytes", "[ledger][size]") {
    for (const std::size_t members : {16U, 100U}) {
        for (const std::size_t voters : {1U, 3U}) {
            constexpr int kSteps = 256;
            // A member comes or goes at one step of fifty.
            Written written(2, {.members = members, .churn = 0.02, .short_losses = false}, 0);
            REQUIRE(written.ledger.begin(written.history.begin_generation(StepIndex{0}, voters)));
            for (int i = 0; i < kSteps; ++i) written.write();
            const double per_step = static_cast<double>(written.ledger.encode().size()) / kSteps;
            std::printf("%zu members, %zu voters: %.0f bytes a step, 10^6 steps %.0f MB\n", members,
                        voters, per_step, per_step);
            if (members == 16) CHECK(per_step < 420);
        }
    }
}

}  // namespace dedloc::ledger
