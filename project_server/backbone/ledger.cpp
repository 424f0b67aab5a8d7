#include "project_server/backbone/ledger.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"

namespace dedloc::backbone {
namespace {

constexpr std::string_view kMagic = "DEDLOCLG";
constexpr std::uint32_t kVersion = 1;
constexpr std::uint64_t kFileHeaderBytes = 8 + 4 + 4 + 32;
constexpr std::size_t kRecordHeaderBytes = 4 + 1 + 8;
/// Far above any commit (a member's line takes about 60 bytes): a greater size is damage.
constexpr std::uint32_t kMaxPayloadBytes = 16u << 20;

enum class Kind : std::uint8_t { kCommit = 1, kSettled = 2 };

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

std::optional<LedgerRecord> decode_payload(std::uint8_t kind, std::span<const std::byte> payload) {
    ByteReader reader{payload};
    if (kind == static_cast<std::uint8_t>(Kind::kCommit)) {
        const auto at = reader.read<std::int64_t>();
        const auto took = reader.read<std::uint32_t>();
        if (!took) return std::nullopt;
        const auto frame = *reader.take(reader.remaining());
        return LedgerCommit{.committed_at = WallTime{std::chrono::milliseconds{*at}},
                            .took = std::chrono::milliseconds{*took},
                            .signed_frame = Buffer(frame.begin(), frame.end())};
    }
    if (kind != static_cast<std::uint8_t>(Kind::kSettled)) return std::nullopt;
    const auto step = reader.read<std::uint64_t>();
    const auto digest = reader.read<Digest>();
    const auto reported = reader.read<std::uint32_t>();
    const auto equal = reader.read<std::uint32_t>();
    if (!equal || reader.remaining() != 0) return std::nullopt;
    return LedgerSettled{
        .step = StepIndex{*step}, .digest = *digest, .reported = *reported, .equal = *equal};
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
    std::optional<LedgerRecord> record;  ///< nothing: no whole record here
    std::uint64_t end = 0;
};

/// The record at `position`; `end` is set as far as the record's size could be read.
Found read_record(const DurableFile& file, std::uint64_t position) {
    Found found{.record = std::nullopt, .end = position + kRecordHeaderBytes};
    Buffer header(kRecordHeaderBytes);
    if (file.read_at(position, header) < header.size()) return found;
    ByteReader reader{header};
    const auto size = *reader.read<std::uint32_t>();
    const auto kind = *reader.read<std::uint8_t>();
    const auto checksum = *reader.read<Checksum>();
    found.end += size;
    if (size > kMaxPayloadBytes) return found;
    Buffer payload(size);
    if (file.read_at(position + kRecordHeaderBytes, payload) < size) return found;
    if (checksum_of(kind, payload) != checksum) return found;
    found.record = decode_payload(kind, payload);
    return found;
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

LedgerReader::LedgerReader(const std::filesystem::path& path, const RunId& run)
    : file_(path, DurableFile::Mode::kRead), position_(kFileHeaderBytes) {
    check_file_header(file_, run);
}

std::optional<LedgerRecord> LedgerReader::next() {
    auto found = read_record(file_, position_);
    if (found.record) position_ = found.end;
    return std::move(found.record);
}

LedgerWriter::LedgerWriter(const std::filesystem::path& path, const RunId& run)
    : file_(path, DurableFile::Mode::kAppend) {
    const auto size = file_.size();
    if (size < kFileHeaderBytes) {
        // Made just now, or by a start that crashed before its first record.
        if (size > 0) file_.truncate(0);
        file_.append(file_header(run));
        return;
    }
    check_file_header(file_, run);
    LedgerReader reader{path, run};
    while (reader.next()) {
    }
    const auto good = reader.position();
    if (good == size) return;
    if (!is_torn_tail(file_, good, read_record(file_, good).end)) {
        throw IoError(
            fmt::format("{} is damaged at byte {}: nothing was changed.", path.string(), good));
    }
    log_warning("The ledger {} ends with an unfinished record: cut {} bytes off", path.string(),
                size - good);
    file_.truncate(good);
}

void LedgerWriter::append(const LedgerCommit& commit) {
    ByteWriter payload;
    payload.write(std::int64_t{commit.committed_at.time_since_epoch().count()});
    payload.write(static_cast<std::uint32_t>(commit.took.count()));
    payload.append(commit.signed_frame);
    file_.append(encode(Kind::kCommit, std::move(payload).finish()));
}

void LedgerWriter::append(const LedgerSettled& settled) {
    ByteWriter payload;
    payload.write(settled.step.value());
    payload.write(settled.digest);
    payload.write(settled.reported);
    payload.write(settled.equal);
    file_.append(encode(Kind::kSettled, std::move(payload).finish()));
}

}  // namespace dedloc::backbone
