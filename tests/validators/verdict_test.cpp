#include "validators/verdict.hpp"

#include <catch2/catch.hpp>

using namespace dedloc;
using namespace dedloc::validation;

namespace {

constexpr std::size_t kLines = 5;

const KeyPair& peer_key() {
    static const KeyPair key = KeyPair::generate();
    return key;
}

Job some_job() {
    return {.run = RunId{blake2b({}).bytes}, .result_name = "demo_7_0"};
}

formats::Receipt true_receipt() {
    formats::Receipt receipt{.run = some_job().run,
                             .result_name = some_job().result_name,
                             .peer = peer_key().public_key(),
                             .lines = {}};
    for (std::uint64_t i = 0; i < kLines; ++i) {
        receipt.lines.push_back({.step = StepIndex{2 * i}, .samples = Samples{8 * (i + 1)}});
    }
    return receipt;
}

/// The ledger in which true_receipt() is true; the peer was in no odd step.
LedgerView true_ledger() {
    LedgerView ledger{.lines = {}, .recorded = StepIndex{10}, .last_step = StepIndex{100}};
    for (const auto& line : true_receipt().lines) {
        ledger.lines.push_back(
            {.peer = peer_key().public_key(), .step = line.step, .samples = line.samples});
    }
    return ledger;
}

Fault fault_of(std::span<const std::byte> bytes) {
    const auto receipt = read_receipt(bytes, some_job());
    REQUIRE_FALSE(receipt);
    CHECK_FALSE(receipt.reason().reason.empty());
    return receipt.reason().fault;
}

Fault fault_of(const formats::Receipt& receipt, const LedgerView& ledger) {
    const auto answer = compare(receipt, ledger);
    REQUIRE_FALSE(answer);
    CHECK_FALSE(answer.reason().reason.empty());
    return answer.reason().fault;
}

Answer answer_of(const formats::Receipt& receipt, const LedgerView& ledger) {
    const auto answer = compare(receipt, ledger);
    REQUIRE(answer);
    return answer.value();
}

}  // namespace

TEST_CASE("a true receipt is valid, in any order of the ledger", "[validation]") {
    const auto read = read_receipt(formats::encode_receipt(true_receipt(), peer_key()), some_job());
    REQUIRE(read);
    CHECK(read.value() == true_receipt());
    auto ledger = true_ledger();
    CHECK(answer_of(read.value(), ledger) == Answer::kValid);
    std::ranges::reverse(ledger.lines);
    CHECK(answer_of(read.value(), ledger) == Answer::kValid);
}

TEST_CASE("a receipt without lines is valid and earns nothing", "[validation]") {
    auto receipt = true_receipt();
    receipt.lines.clear();
    const auto read = read_receipt(formats::encode_receipt(receipt, peer_key()), some_job());
    REQUIRE(read);
    CHECK(answer_of(read.value(), true_ledger()) == Answer::kValid);
    CHECK(answer_of(read.value(), LedgerView{}) == Answer::kValid);
}

TEST_CASE("steps that the receipt omits do not matter", "[validation]") {
    auto receipt = true_receipt();
    receipt.lines.pop_back();
    CHECK(answer_of(receipt, true_ledger()) == Answer::kValid);
}

TEST_CASE("a line without samples is ignored", "[validation]") {
    auto receipt = true_receipt();
    receipt.lines.insert(receipt.lines.begin() + 1, {.step = StepIndex{1}, .samples = Samples{0}});
    CHECK(answer_of(receipt, true_ledger()) == Answer::kValid);
}

TEST_CASE("no receipt with a bit changed anywhere is accepted", "[validation]") {
    const Buffer bytes = formats::encode_receipt(true_receipt(), peer_key());
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        for (const int bit : {0, 3, 7}) {
            Buffer changed = bytes;
            changed[at] ^= static_cast<std::byte>(1 << bit);
            CHECK(fault_of(changed) == Fault::kUnreadable);
        }
    }
}

TEST_CASE("no receipt cut anywhere is accepted", "[validation]") {
    const Buffer bytes = formats::encode_receipt(true_receipt(), peer_key());
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        CHECK(fault_of(std::span{bytes}.first(size)) == Fault::kUnreadable);
    }
}

TEST_CASE("a huge file is no receipt", "[validation]") {
    const Buffer bytes(formats::kMaxReceiptBytes + 1, std::byte{0x41});
    CHECK(fault_of(bytes) == Fault::kUnreadable);
}

TEST_CASE("a receipt signed by another key than it names is a forgery", "[validation]") {
    const KeyPair other = KeyPair::generate();
    auto forged = true_receipt();
    forged.peer = other.public_key();
    Buffer bytes = formats::encode_receipt(forged, other);
    // The forger replaces its own key with the victim's.
    const auto& own = other.public_key().bytes;
    const auto place = std::search(bytes.begin(), bytes.end(), own.begin(), own.end());
    REQUIRE(place != bytes.end());
    std::ranges::copy(peer_key().public_key().bytes, place);
    CHECK(fault_of(bytes) == Fault::kUnreadable);
}

TEST_CASE("a receipt for another run is refused", "[validation]") {
    auto receipt = true_receipt();
    receipt.run = RunId{};
    CHECK(fault_of(formats::encode_receipt(receipt, peer_key())) == Fault::kOtherRun);
}

TEST_CASE("a receipt for another result is refused", "[validation]") {
    for (const std::string name : {"demo_7_1", "demo_7_00", "demo_7_", ""}) {
        auto receipt = true_receipt();
        receipt.result_name = name;
        CHECK(fault_of(formats::encode_receipt(receipt, peer_key())) == Fault::kOtherResult);
    }
}

TEST_CASE("a claim to a step that the peer was not in is refused", "[validation]") {
    auto receipt = true_receipt();
    receipt.lines.insert(receipt.lines.begin() + 1, {.step = StepIndex{1}, .samples = Samples{8}});
    CHECK(fault_of(receipt, true_ledger()) == Fault::kNotInLedger);
}

TEST_CASE("lines about rounds whose rows are summed and gone are not compared", "[validation]") {
    LedgerView ledger = true_ledger();
    const StepIndex first = ledger.lines.front().step;
    std::erase_if(ledger.lines, [&](const LedgerLine& line) { return line.step <= first; });
    CHECK(fault_of(true_receipt(), ledger) == Fault::kNotInLedger);
    ledger.compacted = first.next();
    CHECK(answer_of(true_receipt(), ledger) == Answer::kValid);
    ledger.lines.clear();
    CHECK(fault_of(true_receipt(), ledger) == Fault::kNotInLedger);
}

TEST_CASE("another peer's contribution proves nothing", "[validation]") {
    auto ledger = true_ledger();
    ledger.lines[2].peer = KeyPair::generate().public_key();
    CHECK(fault_of(true_receipt(), ledger) == Fault::kNotInLedger);
    // Next to the peer's own line it does no harm.
    ledger = true_ledger();
    ledger.lines.push_back({.peer = KeyPair::generate().public_key(),
                            .step = StepIndex{0},
                            .samples = Samples{1'000}});
    CHECK(answer_of(true_receipt(), ledger) == Answer::kValid);
}

TEST_CASE("any other sample count at any line is refused", "[validation]") {
    for (std::size_t line = 0; line < kLines; ++line) {
        for (const std::int64_t difference : {-1, 1, 1'000'000}) {
            auto receipt = true_receipt();
            auto& samples = receipt.lines[line].samples;
            samples = Samples{samples.value() + static_cast<std::uint64_t>(difference)};
            CHECK(fault_of(receipt, true_ledger()) == Fault::kOtherSamples);
        }
    }
}

TEST_CASE("a line about a round that is not recorded yet is too soon", "[validation]") {
    auto receipt = true_receipt();
    receipt.lines.push_back({.step = StepIndex{10}, .samples = Samples{8}});
    CHECK(answer_of(receipt, true_ledger()) == Answer::kTooSoon);
    // A line that is already known to be wrong is refused without waiting.
    receipt.lines[0].samples = Samples{9};
    CHECK(fault_of(receipt, true_ledger()) == Fault::kOtherSamples);
}

TEST_CASE("a step beyond the run's last one is refused at once", "[validation]") {
    auto receipt = true_receipt();
    receipt.lines.push_back({.step = StepIndex{100}, .samples = Samples{8}});
    CHECK(fault_of(receipt, true_ledger()) == Fault::kBeyondRun);
}
