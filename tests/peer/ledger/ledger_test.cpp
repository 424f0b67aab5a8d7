#include "peer/ledger/ledger.hpp"

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
        records.push_back(history.next());
        REQUIRE(ledger.append(records.back(), history.certify(records.back())));
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

TEST_CASE("a ledger read from its bytes is the ledger", "[ledger]") {
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
            // It goes on where the other stopped.
            const CommitRecord next = written.history.next();
            CHECK(ledger.append(next, written.history.certify(next)));
            CHECK(Ledger::decode(ledger.encode(), written.history.trust()));
        }
    }
}

TEST_CASE("samples are conserved and receipts are everybody's own lines", "[ledger]") {
    Written written(5, kLively, 80);
    written.ledger.check_invariants();
    std::map<PeerKey, std::vector<wire::ReceiptLine>> lines;
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

TEST_CASE("a decision that is not proven does not come in", "[ledger]") {
    Written written(6, kLively, 10);
    Ledger& ledger = written.ledger;
    const Head head = ledger.head();
    const CommitRecord record = written.history.next();
    Certificate good = written.history.certify(record);

    Certificate too_few = good;
    too_few.votes.pop_back();
    CHECK_FALSE(ledger.append(record, too_few));
    Certificate forged = good;
    forged.votes[0].signature[0] ^= std::byte{1};
    CHECK_FALSE(ledger.append(record, forged));
    CommitRecord richer = record;
    richer.members[0].samples += Samples{1};
    CHECK_FALSE(ledger.append(richer, good));
    CHECK(ledger.head() == head);
    ledger.check_invariants();

    CHECK(ledger.append(record, good));
    CHECK_FALSE(ledger.append(record, good));
}

TEST_CASE("a generation makes what comes after its step void, for good", "[ledger]") {
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

TEST_CASE("a file without some proof, or of others, is refused with the reason", "[ledger]") {
    Written written(3, {.members = 3, .churn = 0, .short_losses = false}, 20);
    const Buffer good = written.ledger.encode();
    // The last certificate: a kind, a term, a coordinator, a count, and the votes.
    const std::size_t votes = written.history.before.view.size() / 2 + 1;
    const Buffer unproven(good.begin(), good.end() - static_cast<std::ptrdiff_t>(4 + votes * 65));
    CHECK(written.refusal(unproven) == LedgerError::kNotCertified);
    CHECK(written.refusal(std::span{good}.first(good.size() - 1)) == LedgerError::kMalformed);
    CHECK(written.refusal(std::span{good}.first(50)) == LedgerError::kForeign);

    Trust other = written.history.trust();
    other.run.bytes[0] ^= std::byte{1};
    CHECK(Ledger::decode(good, other).reason() == LedgerError::kForeign);

    // Records that a stranger has made up, signed by a view that nobody has decided.
    History stranger(99, {.members = 3, .churn = 0, .short_losses = false});
    Ledger made_up(stranger.trust());
    for (int i = 0; i < 3; ++i) {
        const CommitRecord record = stranger.next();
        REQUIRE(made_up.append(record, stranger.certify(record)));
    }
    CHECK_FALSE(Ledger::decode(made_up.encode(), written.history.trust()));
}

TEST_CASE("a step takes few bytes", "[ledger][size]") {
    for (const std::size_t members : {16U, 100U}) {
        for (const bool is_short : {false, true}) {
            constexpr int kSteps = 256;
            // Somebody comes or goes at one step of fifty.
            Written written(2, {.members = members, .churn = 0.02, .short_losses = is_short},
                            kSteps);
            const double per_step = static_cast<double>(written.ledger.encode().size()) / kSteps;
            std::printf("%zu members, %s losses: %.0f bytes a step, 10^6 steps %.0f MB\n", members,
                        is_short ? "binary32" : "binary64", per_step, per_step);
            if (members == 16) CHECK(per_step < 300);
        }
    }
}

}  // namespace dedloc::ledger
