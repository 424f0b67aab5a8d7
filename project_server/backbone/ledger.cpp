// The codec holds the history so far, in writer and reader alike. An append encodes first, which
// refuses what cannot follow, then writes the record durably, and only then updates the members and
// calls the visitor. A reader returns a record once it is whole and its checksum fits, else
// nothing, so it can follow a growing file. The writer opens by reading everything; what follows
// the last whole record is cut off if it looks like a torn write, and any other rest is damage that
// is left as it is.
#include "project_server/backbone/ledger.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/platform/durable_file.hpp"
#include "peer/platform/files.hpp"

namespace dedloc::backbone {
namespace {

constexpr std::string_view kMagic = "DEDLOCLG";
constexpr std::uint32_t kVersion = 5;
constexpr std::uint64_t kFileHeaderBytes = 8 + 4 + 4 + 32;
constexpr std::size_t kRecordHeaderBytes = 4 + 1 + 8;
/// Far above any commit (a member's line takes about 50 bytes, a vote 100): more is damage.
constexpr std::uint32_t kMaxPayloadBytes = 16u << 20;

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

Buffer encode(LedgerKind kind, std::span<const std::byte> payload) {
    ByteWriter writer;
    writer.write(static_cast<std::uint32_t>(payload.size()));
    writer.write(static_cast<std::uint8_t>(kind));
    writer.write(checksum_of(static_cast<std::uint8_t>(kind), payload));
    writer.append(payload);
    return std::move(writer).finish();
}

std::optional<LedgerRecord> decode_commit(ByteReader& payload, ledger::EntryCodec& codec) {
    const auto at = payload.read<std::int64_t>();
    const auto took = payload.read<std::uint32_t>();
    if (!took) return std::nullopt;
    auto entry = codec.decode(payload);
    if (!entry || !std::holds_alternative<Decision>(*entry)) return std::nullopt;
    return LedgerCommit{.committed_at = WallTime{std::chrono::milliseconds{*at}},
                        .took = std::chrono::milliseconds{*took},
                        .decision = std::get<Decision>(std::move(*entry))};
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

std::optional<LedgerRecord> decode_generation(ByteReader& payload, ledger::EntryCodec& codec) {
    auto entry = codec.decode(payload);
    if (!entry || !std::holds_alternative<SignedGeneration>(*entry)) return std::nullopt;
    return std::get<SignedGeneration>(std::move(*entry));
}

std::optional<LedgerRecord> decode_certificate(ByteReader& payload, const Head& head) {
    const auto state = payload.read<Digest>();
    if (!state) return std::nullopt;
    StateCertificate certificate{.generation = head.generation,
                                 .step = head.step,
                                 .record = head.record,
                                 .state = *state,
                                 .votes = {}};
    while (payload.remaining() > 0) {
        const auto voter = payload.read<PeerKey>();
        const auto signature = payload.read<Signature>();
        if (!signature) return std::nullopt;
        certificate.votes.push_back({*voter, *signature});
    }
    return certificate;
}

/// Decodes the payload of a complete record and advances `codec`.
std::optional<LedgerRecord> decode_payload(std::uint8_t kind, std::span<const std::byte> bytes,
                                           ledger::EntryCodec& codec) {
    ByteReader payload{bytes};
    std::optional<LedgerRecord> record;
    switch (kind) {
        case static_cast<std::uint8_t>(LedgerKind::kCommit):
            record = decode_commit(payload, codec);
            break;
        case static_cast<std::uint8_t>(LedgerKind::kSettled):
            record = decode_settled(payload);
            break;
        case static_cast<std::uint8_t>(LedgerKind::kGeneration):
            record = decode_generation(payload, codec);
            break;
        case static_cast<std::uint8_t>(LedgerKind::kCertificate):
            record = decode_certificate(payload, codec.head());
            break;
        default:
            break;
    }
    if (payload.remaining() != 0) return std::nullopt;
    return record;
}

void check_file_header(const platform::DurableFile& file, const RunId& run) {
    const Buffer expected = file_header(run);
    Buffer header(kFileHeaderBytes);
    file.read_at(0, header);
    if (!std::equal(header.begin(), header.begin() + kMagic.size(), expected.begin())) {
        throw IoError(fmt::format("{} is not a ledger of this program.", file.path().string()));
    }
    ByteReader version{std::span{header}.subspan(kMagic.size())};
    if (const auto number = version.read<std::uint32_t>(); number != kVersion) {
        throw IoError(
            fmt::format("{} is a ledger of version {} of the file format and this "
                        "program reads version {}: create a new run, or use the program that "
                        "wrote it.",
                        file.path().string(), number.value_or(0), kVersion));
    }
    if (header != expected) {
        throw IoError(fmt::format("{} is the ledger of another run.", file.path().string()));
    }
}

/// Makes the file if it is absent or shorter than a header. It appears with its whole header, since
/// other processes may read it at any time.
const std::filesystem::path& with_header(const std::filesystem::path& path, const RunId& run) {
    std::error_code absent;
    const auto size = std::filesystem::file_size(path, absent);
    if (absent || size < kFileHeaderBytes) platform::replace_file(path, file_header(run));
    return path;
}

struct Found {
    bool is_whole = false;
    std::uint8_t kind = 0;
    Buffer payload;
    std::uint64_t end = 0;
};

/// Reads the record at `position`. `end` is set even if the record is incomplete, provided that its
/// size could be read.
Found read_record(const platform::DurableFile& file, std::uint64_t position) {
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

[[noreturn]] void fail_damaged(const platform::DurableFile& file, std::uint64_t position) {
    throw IoError(fmt::format("{} is damaged at byte {}: nothing was changed.",
                              file.path().string(), position));
}

/// A crash leaves a part of a record, or zeros if the file system wrote metadata before data.
/// Anything else is damage.
bool is_torn_tail(const platform::DurableFile& file, std::uint64_t position,
                  std::uint64_t record_end) {
    const auto size = file.size();
    if (record_end >= size) return true;
    Buffer rest(size - position);
    file.read_at(position, rest);
    return std::ranges::all_of(rest, [](std::byte byte) { return byte == std::byte{0}; });
}

}  // namespace

LedgerReader::LedgerReader(const std::filesystem::path& path, const LedgerOwner& owner)
    : file_(path, platform::DurableFile::Mode::kRead),
      place_{kFileHeaderBytes, ledger::EntryCodec{owner.run, owner.backbone}} {
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
                           LedgerVisitor visit)
    : visit_(std::move(visit)),
      file_(with_header(path, owner.run), platform::DurableFile::Mode::kAppend),
      place_{kFileHeaderBytes, ledger::EntryCodec{owner.run, owner.backbone}} {
    read(path, owner);
}

void LedgerWriter::read(const std::filesystem::path& path, const LedgerOwner& owner) {
    LedgerReader reader{path, owner};
    while (const auto record = reader.next()) {
        take(*record);
        if (visit_) visit_(*record, reader.place());
    }
    place_ = reader.place();
    const auto good = place_.position;
    const auto size = file_.size();
    if (good == size) return;
    if (!is_torn_tail(file_, good, read_record(file_, good).end)) fail_damaged(file_, good);
    log_warning("The ledger {} ends with an incomplete record: {} bytes cut off", path.string(),
                size - good);
    file_.truncate(good);
}

void LedgerWriter::take(const LedgerRecord& record) {
    is_empty_ = false;
    const bool is_note = std::holds_alternative<LedgerSettled>(record);
    if (!is_note) has_certificate_ = std::holds_alternative<StateCertificate>(record);
    if (const auto* const commit = std::get_if<LedgerCommit>(&record)) {
        last_decision_ = commit->decision;
    } else if (const auto* const settled = std::get_if<LedgerSettled>(&record)) {
        last_settled_ = settled->step;
    } else if (const auto* const begun = std::get_if<SignedGeneration>(&record)) {
        generation_ = *begun;
        last_decision_.reset();
        last_settled_.reset();
    }
}

void LedgerWriter::refuse(const std::string& what) const {
    throw IoError(
        fmt::format("{} ends at step {} of generation {}, and {} cannot follow: nothing "
                    "was written.",
                    file_.path().string(), head().step.value(), head().generation, what));
}

void LedgerWriter::write(LedgerKind kind, std::span<const std::byte> payload,
                         const LedgerRecord& record) {
    file_.append(encode(kind, payload));
    place_.position = file_.size();
    take(record);
    if (visit_) visit_(record, place_);
}

void LedgerWriter::append(const LedgerCommit& commit) {
    const CommitRecord& record = commit.decision.record;
    ByteWriter payload;
    payload.write(std::int64_t{commit.committed_at.time_since_epoch().count()});
    payload.write(static_cast<std::uint32_t>(commit.took.count()));
    if (!place_.codec.encode(commit.decision, payload)) {
        refuse(fmt::format("a decision of step {} of generation {}", record.step.value(),
                           record.generation));
    }
    write(LedgerKind::kCommit, std::move(payload).finish(), commit);
}

void LedgerWriter::append(const LedgerSettled& settled) {
    ByteWriter payload;
    payload.write(settled.step.value());
    payload.write(settled.reported);
    payload.write(settled.equal);
    if (settled.digest) payload.write(*settled.digest);
    write(LedgerKind::kSettled, std::move(payload).finish(), settled);
}

void LedgerWriter::append(const StateCertificate& certificate) {
    const bool is_next = certificate.generation == head().generation &&
                         certificate.step == head().step && certificate.record == head().record;
    if (!is_next) {
        refuse(fmt::format("a certificate of step {} of generation {}", certificate.step.value(),
                           certificate.generation));
    }
    ByteWriter payload;
    payload.write(certificate.state);
    for (const Vote& vote : certificate.votes) {
        payload.write(vote.voter);
        payload.write(vote.signature);
    }
    write(LedgerKind::kCertificate, std::move(payload).finish(), certificate);
}

void LedgerWriter::append(const SignedGeneration& generation) {
    ByteWriter payload;
    if (!place_.codec.encode(generation, payload)) {
        refuse(fmt::format("generation {}", generation.record.generation));
    }
    write(LedgerKind::kGeneration, std::move(payload).finish(), generation);
}

}  // namespace dedloc::backbone
