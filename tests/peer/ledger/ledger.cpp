// The encoded entries are the only store: every walk over records decodes them with a second
// EntryCodec, while codec_ stands at their end. Totals are cached and counted again when a
// generation makes records void. append() and begin() check proofs before anything changes:
// certificates with membership::is_certified() against the head before the record, generations with
// is_signed(). decode() checks the same, and drops the whole ledger at the first failure.
#include "tests/peer/ledger/ledger.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "peer/base/check.hpp"
#include "peer/membership/quorum.hpp"

namespace dedloc::ledger {
namespace {

constexpr std::string_view kMagic = "dedloc ledger 4\n";

Buffer file_head(const Trust& trust) {
    ByteWriter out;
    out.append(bytes_of(kMagic));
    out.write(trust.run);
    out.write(trust.project);
    out.write(trust.backbone);
    return std::move(out).finish();
}

}  // namespace

const char* describe(LedgerError error) {
    switch (error) {
        case LedgerError::kForeign:
            return "it is not the ledger of this run";
        case LedgerError::kMalformed:
            return "an entry does not follow from the entries before it";
        case LedgerError::kNotCertified:
            return "a record is not signed by a majority of its generation's voters";
        case LedgerError::kNotSigned:
            return "a generation is not signed by the project";
    }
    return "unknown";
}

Ledger::Ledger(const Trust& trust) : trust_(trust), codec_(trust.run, trust.backbone) {}

bool Ledger::append(const Decision& decision) {
    if (!membership::is_certified(trust_.run, head(), decision.record, decision.certificate)) {
        return false;
    }
    ByteWriter out;
    if (!codec_.encode(decision, out)) return false;
    add(std::move(out).finish());
    count(decision.record);
    return true;
}

bool Ledger::begin(const SignedGeneration& generation) {
    if (!membership::is_signed(trust_.run, trust_.project, generation)) return false;
    ByteWriter out;
    if (!codec_.encode(generation, out)) return false;
    add(std::move(out).finish());
    generations_.push_back(generation.record);
    recount();
    return true;
}

Samples Ledger::samples_of(const PeerKey& peer) const {
    const auto found = totals_.find(peer);
    return found == totals_.end() ? Samples{} : found->second;
}

std::vector<formats::ReceiptLine> Ledger::receipt_lines(const PeerKey& peer) const {
    std::vector<formats::ReceiptLine> lines;
    for_each([&](const CommitRecord& record) {
        const CommitLine* const line = line_of(record, peer);
        if (line == nullptr) return;
        if (line->samples > Samples{}) lines.push_back({record.step, line->samples});
    });
    return lines;
}

void Ledger::for_each(const std::function<void(const CommitRecord&)>& visit) const {
    EntryCodec codec(trust_.run, trust_.backbone);
    ByteReader bytes(entries_);
    while (bytes.remaining() > 0) {
        const auto entry = codec.decode(bytes);
        DEDLOC_CHECK(entry.has_value(), "the ledger's own bytes cannot be read");
        const auto* const decision = std::get_if<Decision>(&*entry);
        if (decision != nullptr && !is_void(decision->record)) visit(decision->record);
    }
}

void Ledger::check_invariants() const {
    std::map<PeerKey, Samples> counted;
    Samples sum;
    for_each([&](const CommitRecord& record) {
        for (const CommitLine& line : record.members) {
            counted[line.peer] += line.samples;
            sum += line.samples;
        }
    });
    DEDLOC_CHECK(sum == samples_, "samples are not conserved", sum.value(), samples_.value());
    DEDLOC_CHECK(counted == totals_, "a peer's samples differ from the sum of its lines");
}

Buffer Ledger::encode() const {
    ByteWriter out;
    out.append(file_head(trust_));
    out.append(entries_);
    return std::move(out).finish();
}

Result<Ledger, LedgerError> Ledger::decode(std::span<const std::byte> bytes, const Trust& trust) {
    const Buffer expected = file_head(trust);
    if (bytes.size() < expected.size() ||
        !std::ranges::equal(bytes.first(expected.size()), expected)) {
        return Failure{LedgerError::kForeign};
    }
    Ledger ledger(trust);
    ByteReader reader(bytes.subspan(expected.size()));
    while (reader.remaining() > 0) {
        if (const auto error = ledger.read(reader)) return Failure{*error};
    }
    const auto entries = bytes.subspan(expected.size());
    ledger.entries_.assign(entries.begin(), entries.end());
    if (!ledger.generations_.empty()) ledger.recount();
    return ledger;
}

/// Verifies and counts the next entry of a file; the caller keeps its bytes.
std::optional<LedgerError> Ledger::read(ByteReader& bytes) {
    const Head before = head();
    const auto entry = codec_.decode(bytes);
    if (!entry) return LedgerError::kMalformed;
    if (const auto* const decision = std::get_if<Decision>(&*entry)) {
        if (!membership::is_certified(trust_.run, before, decision->record,
                                      decision->certificate)) {
            return LedgerError::kNotCertified;
        }
        count(decision->record);
    } else {
        const auto& generation = std::get<SignedGeneration>(*entry);
        if (!membership::is_signed(trust_.run, trust_.project, generation)) {
            return LedgerError::kNotSigned;
        }
        generations_.push_back(generation.record);
    }
    return std::nullopt;
}

void Ledger::add(std::span<const std::byte> entry) {
    entries_.insert(entries_.end(), entry.begin(), entry.end());
}

/// Counts the totals again, after some records have become void.
void Ledger::recount() {
    totals_.clear();
    samples_ = Samples{};
    for_each([this](const CommitRecord& record) { count(record); });
}

void Ledger::count(const CommitRecord& record) {
    for (const CommitLine& line : record.members) {
        totals_[line.peer] += line.samples;
        samples_ += line.samples;
    }
}

bool Ledger::is_void(const CommitRecord& record) const {
    return std::ranges::any_of(generations_, [&](const GenerationRecord& generation) {
        return generation.generation > record.generation && generation.step <= record.step;
    });
}

}  // namespace dedloc::ledger
