#include "peer/ledger/ledger.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "peer/base/check.hpp"
#include "peer/membership/quorum.hpp"

namespace dedloc::ledger {
namespace {

constexpr std::string_view kMagic = "dedloc ledger 1\n";
constexpr std::uint64_t kKeptEvery = 32;

Buffer file_head(const Trust& trust) {
    ByteWriter out;
    out.append(bytes_of(kMagic));
    out.write(trust.run);
    out.write(trust.project);
    out.write(trust.backbone);
    return std::move(out).finish();
}

}  // namespace

bool is_kept(const Head& before, const CommitRecord& record) {
    return record.step.value() % kKeptEvery == 0 || view_after(record) != before.view;
}

const char* describe(LedgerError error) {
    switch (error) {
        case LedgerError::kForeign:
            return "it is not the ledger of this run";
        case LedgerError::kMalformed:
            return "an entry cannot come after those before it";
        case LedgerError::kNotCertified:
            return "a record is not proven by a quorum's signatures";
        case LedgerError::kNotSigned:
            return "a generation is not signed by the project";
    }
    return "unknown";
}

Ledger::Ledger(const Trust& trust) : trust_(trust), codec_(trust.run, trust.backbone) {}

bool Ledger::append(const CommitRecord& record, const Certificate& certificate) {
    const Head before = head();
    if (!membership::is_certified(trust_.run, before, trust_.backbone, record, certificate)) {
        return false;
    }
    write(record);
    note(before, record);
    last_->certificate = certificate;
    if (is_kept(before, record)) {
        write(certificate);
        last_->is_written = true;
    }
    return true;
}

bool Ledger::begin(const SignedGeneration& generation) {
    if (generation.record.generation <= head().generation) return false;
    if (!membership::is_signed(trust_.run, trust_.project, generation)) return false;
    if (last_ && !last_->is_written) write(*last_->certificate);
    write(generation);
    note(generation.record);
    recount();
    return true;
}

Samples Ledger::samples_of(const PeerKey& peer) const {
    const auto found = totals_.find(peer);
    return found == totals_.end() ? Samples{} : found->second;
}

std::vector<wire::ReceiptLine> Ledger::receipt_lines(const PeerKey& peer) const {
    std::vector<wire::ReceiptLine> lines;
    for_each([&](const CommitRecord& record) {
        const auto line = std::ranges::lower_bound(record.members, peer, {}, &CommitLine::peer);
        if (line == record.members.end() || line->peer != peer) return;
        if (line->samples > Samples{}) lines.push_back({record.step, line->samples});
    });
    return lines;
}

void Ledger::for_each(const std::function<void(const CommitRecord&)>& visit) const {
    Codec codec(trust_.run, trust_.backbone);
    ByteReader bytes(entries_);
    while (bytes.remaining() > 0) {
        const auto entry = codec.decode(bytes);
        DEDLOC_CHECK(entry.has_value(), "the ledger's own bytes cannot be read");
        const auto* const record = std::get_if<CommitRecord>(&*entry);
        if (record != nullptr && !is_void(*record)) visit(*record);
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
    DEDLOC_CHECK(counted == totals_, "a peer's samples are not those of its lines");
}

Buffer Ledger::encode() const {
    ByteWriter out;
    out.append(file_head(trust_));
    out.append(entries_);
    if (last_ && !last_->is_written) {
        Codec(codec_).encode(*last_->certificate, out);
    }
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
    if (ledger.last_ && !ledger.last_->certificate) return Failure{LedgerError::kNotCertified};
    const auto entries = bytes.subspan(expected.size());
    ledger.entries_.assign(entries.begin(), entries.end());
    if (!ledger.generations_.empty()) ledger.recount();
    return ledger;
}

/// Takes in the next entry of a file, whose bytes the caller keeps.
std::optional<LedgerError> Ledger::read(ByteReader& bytes) {
    const Head before = head();
    const auto entry = codec_.decode(bytes);
    if (!entry) return LedgerError::kMalformed;
    const bool is_unproven = last_ && !last_->certificate;
    if (const auto* const record = std::get_if<CommitRecord>(&*entry)) {
        // A view's last certificate proves all that it has decided; now another view decides.
        if (is_unproven && before.view != last_->before.view) return LedgerError::kNotCertified;
        note(before, *record);
    } else if (const auto* const certificate = std::get_if<Certificate>(&*entry)) {
        if (!membership::is_certified(trust_.run, last_->before, trust_.backbone, last_->record,
                                      *certificate)) {
            return LedgerError::kNotCertified;
        }
        last_->certificate = *certificate;
        last_->is_written = true;
    } else if (const auto* const generation = std::get_if<SignedGeneration>(&*entry)) {
        if (!membership::is_signed(trust_.run, trust_.project, *generation)) {
            return LedgerError::kNotSigned;
        }
        if (is_unproven) return LedgerError::kNotCertified;
        note(generation->record);
    }
    return std::nullopt;
}

void Ledger::write(const Entry& entry) {
    ByteWriter out;
    std::visit([&](const auto& what) { codec_.encode(what, out); }, entry);
    const Buffer bytes = std::move(out).finish();
    entries_.insert(entries_.end(), bytes.begin(), bytes.end());
}

void Ledger::note(const Head& before, const CommitRecord& record) {
    count(record);
    last_ = Last{.before = before, .record = record, .certificate = {}, .is_written = false};
}

void Ledger::note(const GenerationRecord& generation) {
    generations_.push_back(generation);
    last_.reset();
}

/// After some records have become void.
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
