#include "boinc_app/seat/slot_files.hpp"

#include <fmt/format.h>

#include <string_view>

#include "peer/base/error.hpp"
#include "peer/base/text.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/key_file.hpp"

namespace dedloc::seat {
namespace {

constexpr std::size_t kMaxJournalBytes = std::size_t{64} << 20;

std::string line_of(StepIndex step, Samples samples) {
    return fmt::format("{} {}\n", step.value(), samples.value());
}

/// Parses one line "step samples" without its line end; false if it is malformed.
bool parse_line(std::string_view line, std::uint64_t& step, std::uint64_t& samples) {
    const auto blank = line.find(' ');
    if (blank == line.npos) return false;
    const auto first = parse_number<std::uint64_t>(line.substr(0, blank));
    const auto second = parse_number<std::uint64_t>(line.substr(blank + 1));
    step = first.value_or(0);
    samples = second.value_or(0);
    return first && second;
}

}  // namespace

ReceiptJournal::ReceiptJournal(std::filesystem::path path, const RunId& run, const PeerKey& peer)
    : path_(std::move(path)),
      head_(fmt::format("dedloc receipt journal 1 run {} peer {}\n", run.hex(), peer.hex())) {
    if (std::filesystem::exists(path_)) {
        read();
    } else {
        platform::replace_file(path_, head_);
    }
    file_.emplace(path_, platform::DurableFile::Mode::kAppend);
}

void ReceiptJournal::read() {
    const std::string text = platform::read_text(path_, kMaxJournalBytes);
    if (!text.starts_with(head_)) {
        throw InputError{fmt::format("{} belongs to another run or key", path_.string())};
    }
    std::size_t whole = head_.size();
    while (whole < text.size()) {
        const std::size_t end = text.find('\n', whole);
        if (end == std::string::npos) break;
        std::uint64_t step = 0;
        std::uint64_t samples = 0;
        if (!parse_line(std::string_view{text}.substr(whole, end - whole), step, samples)) {
            throw InputError{fmt::format("{} has a bad line at byte {}", path_.string(), whole)};
        }
        lines_[StepIndex{step}] = Samples{samples};
        whole = end + 1;
    }
    if (whole < text.size()) std::filesystem::resize_file(path_, whole);
}

void ReceiptJournal::append(StepIndex step, Samples samples) {
    lines_[step] = samples;
    if (!is_on_disk_) return rewrite();
    is_on_disk_ = false;
    file_->append(bytes_of(line_of(step, samples)));
    is_on_disk_ = true;
}

void ReceiptJournal::rewind(StepIndex step) {
    if (lines_.lower_bound(step) == lines_.end()) return;
    lines_.erase(lines_.lower_bound(step), lines_.end());
    rewrite();
}

void ReceiptJournal::rewrite() {
    is_on_disk_ = false;
    std::string text = head_;
    for (const auto& [kept, samples] : lines_) text += line_of(kept, samples);
    platform::replace_file(path_, text);
    file_.emplace(path_, platform::DurableFile::Mode::kAppend);
    is_on_disk_ = true;
}

std::vector<formats::ReceiptLine> ReceiptJournal::lines() const {
    std::vector<formats::ReceiptLine> lines;
    for (const auto& [step, samples] : lines_) lines.push_back({step, samples});
    return lines;
}

Samples ReceiptJournal::samples() const {
    Samples sum;
    for (const auto& [step, samples] : lines_) sum += samples;
    return sum;
}

}  // namespace dedloc::seat
