#include "project_server/backbone/checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "peer/base/check.hpp"
#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/platform/durable_file.hpp"
#include "peer/platform/files.hpp"

namespace dedloc::backbone {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "DEDLOCST";
constexpr std::uint32_t kVersion = 2;
constexpr std::size_t kSealBytes = 8;
constexpr std::size_t kHeadBytes = 8 + 4 + 4 + 32 + 8 + 8 + 32 + kSealBytes;
constexpr std::uint32_t kMaxVectors = 8;
constexpr std::string_view kSuffix = ".state";

Buffer encode_head(const RunId& run, const CheckpointHead& head) {
    ByteWriter writer;
    writer.append(bytes_of(kMagic));
    writer.write(kVersion);
    writer.write(head.vectors);
    writer.write(run.bytes);
    writer.write(head.step.value());
    writer.write(head.elements);
    writer.write(head.digest.bytes);
    Buffer bytes = std::move(writer).finish();
    const Digest seal = blake2b(bytes);
    bytes.insert(bytes.end(), seal.bytes.begin(), seal.bytes.begin() + kSealBytes);
    return bytes;
}

/// Nothing if these are not the first bytes of a checkpoint of `run`.
std::optional<CheckpointHead> decode_head(const RunId& run, std::span<const std::byte> bytes) {
    ByteReader reader{bytes};
    reader.take(8 + 4);
    const auto vectors = reader.read<std::uint32_t>();
    reader.take(32);
    CheckpointHead head;
    const auto step = reader.read<std::uint64_t>();
    const auto elements = reader.read<std::uint64_t>();
    const auto digest = reader.read<std::array<std::byte, 32>>();
    if (!digest) return std::nullopt;
    head.step = StepIndex{*step};
    head.elements = *elements;
    head.vectors = *vectors;
    head.digest.bytes = *digest;
    if (!std::ranges::equal(bytes, encode_head(run, head))) return std::nullopt;
    return head;
}

std::optional<CheckpointEntry> look_at(const fs::path& path, const RunId& run) {
    const platform::DurableFile file{path, platform::DurableFile::Mode::kRead};
    Buffer bytes(kHeadBytes);
    if (file.read_at(0, bytes) < bytes.size()) return std::nullopt;
    const auto head = decode_head(run, bytes);
    const auto size = file.size();
    if (!head || head->vectors == 0 || head->vectors > kMaxVectors) return std::nullopt;
    const std::uint64_t element_bytes = sizeof(float) * head->vectors;
    if ((size - kHeadBytes) / element_bytes != head->elements ||
        (size - kHeadBytes) % element_bytes != 0) {
        return std::nullopt;
    }
    const auto written = std::chrono::file_clock::to_sys(fs::last_write_time(path));
    return CheckpointEntry{
        .head = *head,
        .path = path,
        .bytes = size,
        .created_at = std::chrono::duration<double>(written.time_since_epoch()).count()};
}

void remove_file(const fs::path& path) {
    std::error_code error;
    fs::remove(path, error);
    if (error) log_warning("Cannot remove {}: {}", path.string(), error.message());
}

}  // namespace

CheckpointStore::CheckpointStore(fs::path folder, const RunId& run, std::size_t keep,
                                 CheckpointJudge judge)
    : folder_(std::move(folder)), run_(run), keep_(keep), judge_(std::move(judge)) {
    DEDLOC_CHECK(keep >= 1, "a store must keep at least one checkpoint");
    std::error_code error;
    fs::create_directories(folder_, error);
    if (error) {
        throw IoError(
            fmt::format("Cannot make the folder {}: {}.", folder_.string(), error.message()));
    }
}

fs::path CheckpointStore::save(const CheckpointHead& head, std::span<const std::byte> state) const {
    DEDLOC_CHECK(state.size() == head.state_bytes(), "a state has V vectors of N floats",
                 state.size(), head.vectors, head.elements);
    const auto path = folder_ / fmt::format("step_{:09}{}", head.step.value(), kSuffix);
    const Buffer first = encode_head(run_, head);
    const std::array<std::span<const std::byte>, 2> pieces{first, state};
    platform::replace_file(path, pieces);
    drop_surplus();
    return path;
}

std::vector<CheckpointEntry> CheckpointStore::list() const {
    std::vector<CheckpointEntry> entries;
    for (const auto& item : fs::directory_iterator{folder_}) {
        if (item.path().extension() != kSuffix) continue;
        const auto entry = look_at(item.path(), run_);
        if (entry) {
            entries.push_back(*entry);
        } else {
            log_warning("Not a complete checkpoint of this run, ignored: {}", item.path().string());
        }
    }
    std::ranges::sort(entries, std::greater{},
                      [](const CheckpointEntry& entry) { return entry.head.step; });
    return entries;
}

std::optional<Checkpoint> CheckpointStore::newest(std::uint64_t elements,
                                                  const Verifier& verify) const {
    for (const auto& entry : list()) {
        if (entry.head.elements != elements) {
            log_warning("Checkpoint {} has {} elements, the run {}: not used", entry.path.string(),
                        entry.head.elements, elements);
            continue;
        }
        if (standing_of(entry.head) == Standing::kUnproven) {
            log_warning("The ledger does not lead to the state of checkpoint {}: not used",
                        entry.path.string());
            continue;
        }
        Checkpoint checkpoint{
            .head = entry.head, .path = entry.path, .state = Buffer(entry.head.state_bytes())};
        const platform::DurableFile file{entry.path, platform::DurableFile::Mode::kRead};
        const bool is_whole = file.read_at(kHeadBytes, checkpoint.state) == checkpoint.state.size();
        if (is_whole && verify(checkpoint)) return checkpoint;
        log_warning("The state in checkpoint {} does not have its digest: not used",
                    entry.path.string());
    }
    return std::nullopt;
}

void CheckpointStore::remove_after(StepIndex step) const {
    for (const auto& entry : list()) {
        if (entry.head.step > step) remove_file(entry.path);
    }
}

Standing CheckpointStore::standing_of(const CheckpointHead& head) const {
    return judge_ ? judge_(head) : Standing::kProven;
}

void CheckpointStore::drop_surplus() const {
    std::size_t led_to = 0;
    std::size_t others = 0;
    bool has_proven = false;
    for (const auto& entry : list()) {
        const Standing standing = standing_of(entry.head);
        const bool is_surplus = ++(standing == Standing::kUnproven ? others : led_to) > keep_;
        const bool is_newest_proven = standing == Standing::kProven && !has_proven;
        has_proven = has_proven || is_newest_proven;
        if (is_surplus && !is_newest_proven) remove_file(entry.path);
    }
}

}  // namespace dedloc::backbone
