#include "project_server/backbone/ledger.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "peer/base/check.hpp"
#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/ledger/ledger.hpp"
#include "peer/membership/quorum.hpp"

namespace dedloc::backbone {
namespace {

constexpr std::string_view kMagic = "DEDLOCLG";
constexpr std::uint32_t kVersion = 2;
constexpr std::uint64_t kFileHeaderBytes = 8 + 4 + 4 + 32;
constexpr std::size_t kRecordHeaderBytes = 4 + 1 + 8;
/// Far above any commit (a member's line takes about 50 bytes, a vote 100): more is damage.
constexpr std::uint32_t kMaxPayloadBytes = 16u << 20;

enum class Kind : std::uint8_t { kCommit = 1, kSettled = 2, kGeneration = 3, kCertificate = 4 };

using Checksum = std::array<std::byte, 8>;

Checksum checksum_of(std::uint8_t kind, std::span<const std::byte> payload) {
    ByteWriter writer;
    writer.write(kind);
    writer.append(payload);
    const Buffer bytes = std::move(writer).finish();
    const Digest digest = blake2b(bytes);
    Checksum checksum;
    std::copy_n(digest.bytes.begin(), checksum.size(), checksum.begin());
    return checksum;
}

Buffer file_header(const RunId& run) {
    ByteWriter writer;
    writer.append(bytes_of(kMagic));
    writer.write(kVersion);
    writer.write(std::uint32_t{0});
    writer.write(run.bytes);
    return std::move(writer).finish();
}

Buffer encode(Kind kind, std::span<const std::byte> payload) {
    ByteWriter writer;
    writer.write(static_cast<std::uint32_t>(payload.size()));
    writer.write(static_cast<std::uint8_t>(kind));
    writer.write(checksum_of(static_cast<std::uint8_t>(kind), payload));
    writer.append(payload);
    return std::move(writer).finish();
}

std::optional<LedgerRecord> decode_commit(ByteReader& payload, ledger::Codec& codec) {
    const auto at = payload.read<std::int64_t>();
    const auto took = payload.read<std::uint32_t>();
    if (!took) return std::nullopt;
    LedgerCommit commit{.committed_at = WallTime{std::chrono::milliseconds{*at}},
                        .took = std::chrono::milliseconds{*took},
                        .record = {},
                        .certificate = {}};
    auto record = codec.decode(payload);
    if (!record || !std::holds_alternative<CommitRecord>(*record)) return std::nullopt;
    commit.record = std::get<CommitRecord>(std::move(*record));
    if (payload.remaining() > 0) {
        auto certificate = codec.decode(payload);
        if (!certificate || !std::holds_alternative<Certificate>(*certificate)) return std::nullopt;
        commit.certificate = std::get<Certificate>(std::move(*certificate));
    }
    return commit;
}

std::optional<LedgerRecord> decode_settled(ByteReader& payload) {
    const auto step = payload.read<std::uint64_t>();
    const auto reported = payload.read<std::uint32_t>();
    const auto equal = payload.read<std::uint32_t>();
    if (!equal) return std::nullopt;
    LedgerSettled settled{
        .step = StepIndex{*step}, .reported = *reported, .equal = *equal, .digest = {}};
    if (payload.remaining() > 0) {
        settled.digest = payload.read<Digest>();
        if (!settled.digest) return std::nullopt;
    }
    return settled;
}

template <class What>
std::optional<LedgerRecord> decode_entry(ByteReader& payload, ledger::Codec& codec) {
    auto entry = codec.decode(payload);
    if (!entry || !std::holds_alternative<What>(*entry)) return std::nullopt;
    return std::get<What>(std::move(*entry));
}

/// What the payload of a whole record says; moves `codec` on.
std::optional<LedgerRecord> decode_payload(std::uint8_t kind, std::span<const std::byte> bytes,
                                           ledger::Codec& codec) {
    ByteReader payload{bytes};
    std::optional<LedgerRecord> record;
    switch (kind) {
        case static_cast<std::uint8_t>(Kind::kCommit):
            record = decode_commit(payload, codec);
            break;
        case static_cast<std::uint8_t>(Kind::kSettled):
            record = decode_settled(payload);
            break;
        case static_cast<std::uint8_t>(Kind::kGeneration):
            record = decode_entry<SignedGeneration>(payload, codec);
            break;
        case static_cast<std::uint8_t>(Kind::kCertificate):
            record = decode_entry<Certificate>(payload, codec);
            break;
        default:
            break;
    }
    if (payload.remaining() != 0) return std::nullopt;
    return record;
}

void check_file_header(const DurableFile& file, const RunId& run) {
    const Buffer expected = file_header(run);
    Buffer header(kFileHeaderBytes);
    file.read_at(0, header);
    constexpr std::size_t kBeforeRun = 16;
    if (!std::equal(header.begin(), header.begin() + kBeforeRun, expected.begin())) {
        throw IoError(fmt::format("{} is not a ledger of this program.", file.path().string()));
    }
    if (header != expected) {
        throw IoError(fmt::format("{} is the ledger of another run.", file.path().string()));
    }
}

struct Found {
    bool is_whole = false;
    std::uint8_t kind = 0;
    Buffer payload;
    std::uint64_t end = 0;
};

/// The record at `position`; `end` is set as far as the record's size could be read.
Found read_record(const DurableFile& file, std::uint64_t position) {
    Found found{.is_whole = false, .kind = 0, .payload = {}, .end = position + kRecordHeaderBytes};
    Buffer header(kRecordHeaderBytes);
    if (file.read_at(position, header) < header.size()) return found;
    ByteReader reader{header};
    const auto size = *reader.read<std::uint32_t>();
    found.kind = *reader.read<std::uint8_t>();
    const auto checksum = *reader.read<Checksum>();
    found.end += size;
    if (size > kMaxPayloadBytes) return found;
    found.payload.resize(size);
    if (file.read_at(position + kRecordHeaderBytes, found.payload) < size) return found;
    found.is_whole = checksum == checksum_of(found.kind, found.payload);
    return found;
}

[[noreturn]] void fail_damaged(const DurableFile& file, std::uint64_t position) {
    throw IoError(fmt::format("{} is damaged at byte {}: nothing was changed.",
                              file.path().string(), position));
}

/// A crash leaves less than a record, or (metadata written before data) zeros. Anything else is
/// damage.
bool is_torn_tail(const DurableFile& file, std::uint64_t position, std::uint64_t record_end) {
    const auto size = file.size();
    if (record_end >= size) return true;
    Buffer rest(size - position);
    file.read_at(position, rest);
    return std::ranges::all_of(rest, [](std::byte byte) { return byte == std::byte{0}; });
}

}  // namespace

LedgerReader::LedgerReader(const std::filesystem::path& path, const LedgerOwner& owner)
    : file_(path, DurableFile::Mode::kRead),
      place_{kFileHeaderBytes, ledger::Codec{owner.run, owner.backbone}} {
    check_file_header(file_, owner.run);
}

std::optional<LedgerRecord> LedgerReader::next() {
    const Found found = read_record(file_, place_.position);
    if (!found.is_whole) return std::nullopt;
    auto record = decode_payload(found.kind, found.payload, place_.codec);
    if (!record) fail_damaged(file_, place_.position);
    place_.position = found.end;
    return record;
}

LedgerWriter::LedgerWriter(const std::filesystem::path& path, const LedgerOwner& owner,
                           const std::optional<Decision>& last)
    : file_(path, DurableFile::Mode::kAppend), codec_(owner.run, owner.backbone) {
    const auto size = file_.size();
    bool is_proven = true;
    if (size < kFileHeaderBytes) {
        // Made just now, or by a start that crashed before its first record.
        if (size > 0) file_.truncate(0);
        file_.append(file_header(owner.run));
    } else {
        is_proven = read(path, owner);
    }
    if (last) resume(*last, owner, is_proven);
}

/// False when the newest commit's certificate is not in the file.
bool LedgerWriter::read(const std::filesystem::path& path, const LedgerOwner& owner) {
    LedgerReader reader{path, owner};
    bool is_proven = true;
    while (const auto record = reader.next()) {
        if (const auto* const commit = std::get_if<LedgerCommit>(&*record)) {
            last_record_ = commit->record;
            is_proven = commit->certificate.has_value();
        } else if (const auto* const begun = std::get_if<SignedGeneration>(&*record)) {
            generation_ = *begun;
            last_record_.reset();
        } else if (std::holds_alternative<Certificate>(*record)) {
            is_proven = true;
        }
    }
    codec_ = reader.place().codec;
    const auto good = reader.place().position;
    const auto size = file_.size();
    if (good == size) return is_proven;
    if (!is_torn_tail(file_, good, read_record(file_, good).end)) fail_damaged(file_, good);
    log_warning("The ledger {} ends with an unfinished record: cut {} bytes off", path.string(),
                size - good);
    file_.truncate(good);
    return is_proven;
}

void LedgerWriter::resume(const Decision& last, const LedgerOwner& owner, bool is_proven) {
    const bool is_certified = membership::is_certified(owner.run, codec_.head(), owner.backbone,
                                                       last.record, last.certificate);
    if (is_certified) {
        append(LedgerCommit{.committed_at = std::chrono::round<std::chrono::milliseconds>(
                                std::chrono::system_clock::now()),
                            .took = {},
                            .record = last.record,
                            .certificate = last.certificate});
    } else if (last_record_ == last.record && !is_proven) {
        unwritten_ = last.certificate;
    }
}

void LedgerWriter::append(const LedgerCommit& commit) {
    DEDLOC_CHECK(commit.certificate.has_value(), "a commit without what proves it");
    const bool is_kept = ledger::is_kept(codec_.head(), commit.record);
    ByteWriter payload;
    payload.write(std::int64_t{commit.committed_at.time_since_epoch().count()});
    payload.write(static_cast<std::uint32_t>(commit.took.count()));
    codec_.encode(commit.record, payload);
    if (is_kept) codec_.encode(*commit.certificate, payload);
    file_.append(encode(Kind::kCommit, std::move(payload).finish()));
    last_record_ = commit.record;
    unwritten_ = is_kept ? std::nullopt : commit.certificate;
}

void LedgerWriter::append(const LedgerSettled& settled) {
    ByteWriter payload;
    payload.write(settled.step.value());
    payload.write(settled.reported);
    payload.write(settled.equal);
    if (settled.digest) payload.write(*settled.digest);
    file_.append(encode(Kind::kSettled, std::move(payload).finish()));
}

void LedgerWriter::append(const SignedGeneration& generation) {
    seal();
    ByteWriter payload;
    codec_.encode(generation, payload);
    file_.append(encode(Kind::kGeneration, std::move(payload).finish()));
    generation_ = generation;
    last_record_.reset();
}

void LedgerWriter::seal() {
    if (!unwritten_) return;
    ByteWriter payload;
    codec_.encode(*unwritten_, payload);
    file_.append(encode(Kind::kCertificate, std::move(payload).finish()));
    unwritten_.reset();
}

}  // namespace dedloc::backbone
