// Two shards are open at a time, one of pictures to train on and one of pictures to hold out, so
// when one is written the other has pictures that are in no shard. The journal therefore has a
// position for each part: a build that goes on reads the files from the smaller one again. Pictures
// that a shard has are duplicates then, and no refusal or duplicate counts before the position up
// to which files were counted.
//
// A shard's file is written first, then its labels, then the refusals, then the journal. A build
// that is killed in between writes the same files again; of refused.txt only as many lines count as
// the journal has refusals.
#include "project_server/pictures/picture_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <sstream>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"

namespace dedloc::pictures {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxRefusalLines = 10'000;

std::uint64_t sum_of(const std::vector<corpus::RefusalCount>& refused) {
    std::uint64_t sum = 0;
    for (const auto& refusal : refused) sum += refusal.count;
    return sum;
}

/// The first `count` lines of a file; none if it is absent.
std::vector<std::string> read_lines(const fs::path& file, std::uint64_t count) {
    std::vector<std::string> lines;
    if (count == 0 || !fs::exists(file)) return lines;
    std::istringstream in{platform::read_text(file)};
    for (std::string line; lines.size() < count && std::getline(in, line);) lines.push_back(line);
    return lines;
}

}  // namespace

PictureWriter::PictureWriter(fs::path folder, corpus::Journal journal, std::uint64_t shard_bytes)
    : folder_(std::move(folder)),
      shard_bytes_(shard_bytes),
      journal_(std::move(journal)),
      counted_(journal_.pictures.looked_at),
      position_(counted_),
      refusals_(read_lines(folder_ / corpus::kRefusedName,
                           std::min<std::uint64_t>(kMaxRefusalLines, refused_count()))) {}

std::uint64_t PictureWriter::refused_count() const {
    return sum_of(journal_.corpus.pictures->refused);
}

std::uint64_t PictureWriter::picture_count() const {
    return journal_.corpus.pictures->pictures + parts_[0].labels.size() + parts_[1].labels.size();
}

bool PictureWriter::is_counted(std::uint64_t position) const {
    return position < counted_;
}

std::uint64_t& PictureWriter::begin_of(bool is_held_out) {
    return is_held_out ? journal_.pictures.held_from : journal_.pictures.trained_from;
}

void PictureWriter::add(std::uint64_t position, const SourcePicture& picture, std::uint16_t label,
                        bool is_held_out) {
    position_ = position + 1;
    Part& part = parts_[is_held_out ? 1 : 0];
    part.builder.add(picture.jpeg);
    part.labels.push_back(label);
    const std::uint64_t side = std::min(picture.width, picture.height);
    part.smallest_side = part.labels.size() == 1 ? side : std::min(part.smallest_side, side);
    if (part.builder.byte_count() >= shard_bytes_) end_shard(is_held_out);
}

void PictureWriter::add_duplicate(std::uint64_t position) {
    position_ = position + 1;
    if (!is_counted(position)) ++facts().duplicates;
}

void PictureWriter::add_refusal(std::uint64_t position, const std::string& reason,
                                std::string line) {
    position_ = position + 1;
    if (is_counted(position)) return;
    auto& refused = facts().refused;
    auto found = std::ranges::lower_bound(refused, reason, {}, &corpus::RefusalCount::reason);
    if (found == refused.end() || found->reason != reason) {
        found = refused.insert(found, {.reason = reason});
    }
    ++found->count;
    if (refusals_.size() >= kMaxRefusalLines) return;
    refusals_.push_back(std::move(line));
    has_new_refusals_ = true;
}

/// The name is made from the digest, because BOINC requires that a file name always stands for the
/// same bytes.
void PictureWriter::write(Part part, bool is_held_out) {
    auto& shards = journal_.corpus.shards;
    if (shards.size() == formats::kMaxShards) {
        throw InputError(
            fmt::format("the pictures need more than {} shards: choose more bytes per shard",
                        formats::kMaxShards));
    }
    const std::uint64_t bytes = part.builder.byte_count();
    const auto shard = std::move(part.builder).finish();
    formats::ShardReference reference;
    reference.digest = blake2b(shard.file);
    reference.bytes = shard.file.size();
    reference.is_held_out = is_held_out;
    reference.name = fmt::format("{}-{}", is_held_out ? "held-out" : "shard",
                                 reference.digest.hex().substr(0, 16));
    platform::replace_file(folder_ / reference.name, shard.file);
    if (!facts().classes.empty()) {
        platform::replace_file(
            folder_ / corpus::labels_name(reference),
            formats::encode_picture_labels(
                {.shard = reference.digest, .classes = facts().classes, .labels = part.labels}));
    }
    const auto unlabelled = std::ranges::count(part.labels, formats::kNoClass);
    facts().labelled += part.labels.size() - static_cast<std::uint64_t>(unlabelled);
    facts().smallest_side = facts().pictures == 0
                                ? part.smallest_side
                                : std::min(facts().smallest_side, part.smallest_side);
    facts().pictures += part.labels.size();
    facts().held_out += is_held_out ? part.labels.size() : 0;
    facts().bytes += bytes;
    shards.push_back(std::move(reference));
}

void PictureWriter::write_refusals() {
    if (!has_new_refusals_) return;
    std::string text;
    for (const std::string& line : refusals_) text += line + "\n";
    platform::replace_file(folder_ / corpus::kRefusedName, text);
    has_new_refusals_ = false;
}

void PictureWriter::end_shard(bool is_held_out) {
    Part& part = parts_[is_held_out ? 1 : 0];
    if (!part.labels.empty()) write(std::exchange(part, {}), is_held_out);
    write_refusals();
    auto& position = journal_.pictures;
    position.looked_at = std::max(position.looked_at, position_);
    begin_of(is_held_out) = position_;
    // A part without pictures has all of them in shards.
    if (parts_[is_held_out ? 0 : 1].labels.empty()) begin_of(!is_held_out) = position_;
    corpus::write_journal(folder_, journal_);
}

void PictureWriter::finish() {
    end_shard(false);
    end_shard(true);
    std::ranges::sort(journal_.corpus.shards, {}, &formats::ShardReference::name);
}

}  // namespace dedloc::pictures
