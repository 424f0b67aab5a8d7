// save() replaces the file atomically before it removes anything: an old note beside it, files that
// a killed process left, then surplus ones. Surplus is counted from the newest file on, apart for
// files that the ledger leads to and for others. newest() goes the same way and takes the first
// file whose size, standing by the ledger and digest are right; a file that does not pass is logged
// and stays. A file that vanishes while it is listed is no error, because another process may
// remove it.
#include "project_server/backbone/checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "peer/base/check.hpp"
#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/platform/files.hpp"

namespace dedloc::backbone {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".state";
/// Ends the names of files that platform::replace_file() has not finished.
constexpr std::string_view kUnfinishedSuffix = ".state.tmp";

/// Text for a line of a list; empty if there is no note, or none that can be printed.
std::string source_of(const fs::path& checkpoint) {
    const fs::path note = source_note_of(checkpoint);
    std::error_code absent;
    if (!fs::exists(note, absent)) return {};
    try {
        std::string text = platform::read_text(note, kMaxSourceBytes);
        const bool is_printable = std::ranges::all_of(
            text, [](unsigned char letter) { return letter >= ' ' && letter < 127; });
        return is_printable ? text : std::string{"unknown"};
    } catch (const Error&) {
        return "unknown";
    }
}

/// Nothing if the file is not a complete checkpoint of the run, or has just been removed.
std::optional<CheckpointEntry> look_at(const fs::path& path, const RunId& run) {
    try {
        const CheckpointFile file{path, run};
        const auto written = std::chrono::file_clock::to_sys(fs::last_write_time(path));
        return CheckpointEntry{.head = file.head(),
                               .path = path,
                               .bytes = file.bytes(),
                               .created_at = seconds_of(written.time_since_epoch()),
                               .source = source_of(path)};
    } catch (const InputError& error) {
        log_warning("{}: ignored", error.what());
    } catch (const std::exception&) {
        std::error_code unknown;
        if (fs::exists(path, unknown)) throw;
    }
    return std::nullopt;
}

void remove_file(const fs::path& path) {
    std::error_code error;
    fs::remove(source_note_of(path), error);
    fs::remove(path, error);
    if (error) log_warning("Cannot remove {}: {}", path.string(), error.message());
}

}  // namespace

std::string checkpoint_file_name(StepIndex step) {
    return fmt::format("step_{:09}{}", step.value(), kSuffix);
}

fs::path source_note_of(const fs::path& checkpoint) {
    return checkpoint.string() + ".source";
}

std::vector<CheckpointEntry> list_checkpoints(const fs::path& folder, const RunId& run) {
    std::vector<CheckpointEntry> entries;
    std::error_code error;
    fs::directory_iterator item{folder, error};
    for (; !error && item != fs::directory_iterator{}; item.increment(error)) {
        if (item->path().extension() != kSuffix) continue;
        if (const auto entry = look_at(item->path(), run)) entries.push_back(*entry);
    }
    if (error) {
        throw IoError(fmt::format("Cannot list {}: {}.", folder.string(), error.message()));
    }
    std::ranges::sort(entries, std::greater{},
                      [](const CheckpointEntry& entry) { return entry.head.step; });
    return entries;
}

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

fs::path CheckpointStore::save(const formats::CheckpointHead& head,
                               std::span<const std::byte> state) const {
    DEDLOC_CHECK(state.size() == head.state_bytes(), "a state has V vectors of N floats",
                 state.size(), head.vectors, head.elements);
    const auto path = folder_ / checkpoint_file_name(head.step);
    const Buffer first = formats::encode_checkpoint_head(run_, head);
    const std::array<std::span<const std::byte>, 2> pieces{first, state};
    platform::replace_file(path, pieces);
    std::error_code absent;
    fs::remove(source_note_of(path), absent);  // this one is the backbone's own
    drop_unfinished();
    drop_surplus();
    return path;
}

std::vector<CheckpointEntry> CheckpointStore::list() const {
    return list_checkpoints(folder_, run_);
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
        CheckpointFile{entry.path, run_}.read(0, checkpoint.state);
        if (verify(checkpoint)) return checkpoint;
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

Standing CheckpointStore::standing_of(const formats::CheckpointHead& head) const {
    return judge_ ? judge_(head) : Standing::kProven;
}

void CheckpointStore::drop_unfinished() const {
    std::vector<fs::path> unfinished;
    std::error_code error;
    fs::directory_iterator item{folder_, error};
    for (; !error && item != fs::directory_iterator{}; item.increment(error)) {
        if (item->path().string().ends_with(kUnfinishedSuffix)) unfinished.push_back(item->path());
    }
    for (const fs::path& path : unfinished) remove_file(path);
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
