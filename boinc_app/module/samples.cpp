// A picture is decoded at the smallest DCT scale that enlarges no square; strangers' pictures are
// bounded by their decoder.
#include "boinc_app/module/samples.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "boinc_app/pictures/crops.hpp"
#include "boinc_app/pictures/jpeg_decoder.hpp"
#include "peer/base/check.hpp"
#include "peer/base/error.hpp"

namespace dedloc::training::module {
TextWindows::TextWindows(std::vector<formats::Shard> shards, std::uint64_t length,
                         std::span<const formats::SourceSpec> sources)
    : shards_(std::move(shards)), length_(length), masses_(sources) {
    DEDLOC_CHECK(length >= 1, "a window has a token");
    for (const formats::Shard& shard : shards_) {
        const std::uint64_t tokens = shard.tokens.size();
        masses_.add(shard.weight, tokens >= length ? tokens - length + 1 : 0, shard.source);
    }
    if (masses_.is_empty()) throw InputError{"no shard has as many tokens as a sample"};
}

std::optional<std::vector<InputTensor>> TextWindows::draw_unless(const IsInterrupted&,
                                                                 const Random& step,
                                                                 std::uint64_t first,
                                                                 std::uint64_t count,
                                                                 Weights weights) const {
    DEDLOC_CHECK(count >= 1, "a micro-batch has a sample");
    InputTensor tokens{.type = formats::ElementType::kInt64, .shape = {count, length_}};
    tokens.bytes.resize(count * length_ * sizeof(std::int64_t));
    std::byte* out = tokens.bytes.data();
    for (std::uint64_t i = 0; i < count; ++i) {
        Random random = step.split(first + i);
        const ShardPlace place = masses_.draw(random, weights);
        const formats::Shard& shard = shards_[place.shard];
        const auto window = shard.tokens.subspan(static_cast<std::size_t>(place.index),
                                                 static_cast<std::size_t>(length_));
        for (const std::int64_t token : window) {
            std::memcpy(out, &token, sizeof(token));
            out += sizeof(token);
        }
    }
    std::vector<InputTensor> inputs;
    inputs.push_back(std::move(tokens));
    return inputs;
}

TensorRows::TensorRows(std::vector<formats::TensorShard> shards,
                       std::span<const formats::SourceSpec> sources)
    : shards_(std::move(shards)), masses_(sources) {
    if (shards_.empty()) throw InputError{"there is no shard to train on"};
    for (const formats::TensorShard& shard : shards_) {
        if (!(shard.specs == shards_.front().specs)) {
            throw InputError{"the shards have tensors of different types or shapes"};
        }
        masses_.add(shard.weight, shard.samples, shard.source);
    }
}

std::optional<std::vector<InputTensor>> TensorRows::draw_unless(const IsInterrupted&,
                                                                const Random& step,
                                                                std::uint64_t first,
                                                                std::uint64_t count,
                                                                Weights weights) const {
    DEDLOC_CHECK(count >= 1, "a micro-batch has a sample");
    const auto& specs = shards_.front().specs;
    std::vector<InputTensor> inputs;
    for (const formats::SampleTensor& spec : specs) {
        InputTensor& input = inputs.emplace_back();
        input.type = spec.type;
        input.shape.push_back(count);
        input.shape.insert(input.shape.end(), spec.shape.begin(), spec.shape.end());
        input.bytes.resize(count * spec.bytes());
    }
    for (std::uint64_t i = 0; i < count; ++i) {
        Random random = step.split(first + i);
        const ShardPlace place = masses_.draw(random, weights);
        const formats::TensorShard& shard = shards_[place.shard];
        for (std::size_t at = 0; at < specs.size(); ++at) {
            const auto row = shard.row(at, place.index);
            std::ranges::copy(
                row, inputs[at].bytes.begin() + static_cast<std::ptrdiff_t>(i * row.size()));
        }
    }
    return inputs;
}

PictureSquares::PictureSquares(std::vector<formats::PictureShard> shards, std::uint64_t side,
                               std::span<const formats::SourceSpec> sources)
    : shards_(std::move(shards)), side_(static_cast<std::uint32_t>(side)), masses_(sources) {
    DEDLOC_CHECK(side >= 1 && side <= formats::kMaxPictureSide, "a square has pixels");
    for (const formats::PictureShard& shard : shards_) {
        masses_.add(shard.weight, shard.picture_count(), shard.source);
    }
    if (masses_.is_empty()) throw InputError{"there is no picture"};
}

std::optional<std::vector<InputTensor>> PictureSquares::draw_unless(
    const IsInterrupted& is_interrupted, const Random& step, std::uint64_t first,
    std::uint64_t count, Weights weights) const {
    DEDLOC_CHECK(count >= 1, "a micro-batch has a sample");
    const std::size_t bytes = std::size_t{3} * side_ * side_;
    InputTensor squares{.type = formats::ElementType::kUint8, .shape = {count, 3, side_, side_}};
    squares.bytes.resize(static_cast<std::size_t>(count) * bytes);
    std::vector<std::uint8_t> square(bytes);
    pictures::Scratch scratch;
    for (std::uint64_t i = 0; i < count; ++i) {
        if (is_interrupted && is_interrupted()) return std::nullopt;
        Random random = step.split(first + i);
        const ShardPlace place = masses_.draw(random, weights);
        const auto decoded = pictures::decode_jpeg(
            shards_[place.shard].picture(static_cast<std::size_t>(place.index)),
            {.min_side = side_});
        if (!decoded) {
            throw InputError{fmt::format("picture {} of shard {} cannot be used: {}", place.index,
                                         place.shard, decoded.reason().sentence)};
        }
        pictures::make_middle_crop(decoded.value(), {.shorter_side = side_, .size = side_}, square,
                                   scratch);
        std::memcpy(squares.bytes.data() + i * bytes, square.data(), bytes);
    }
    std::vector<InputTensor> inputs;
    inputs.push_back(std::move(squares));
    return inputs;
}

std::unique_ptr<const SampleSource> open_samples(const formats::RunFile& run, SampleShards shards) {
    if (auto* const text = std::get_if<std::vector<formats::Shard>>(&shards)) {
        return std::make_unique<TextWindows>(std::move(*text), run.sequence_length, run.sources);
    }
    const auto* const model = std::get_if<formats::ModuleSpec>(&run.model);
    DEDLOC_CHECK(model != nullptr, "the run trains no module");
    if (auto* const all = std::get_if<std::vector<formats::PictureShard>>(&shards)) {
        return std::make_unique<PictureSquares>(std::move(*all), model->picture_side, run.sources);
    }
    auto rows = std::make_unique<TensorRows>(
        std::get<std::vector<formats::TensorShard>>(std::move(shards)), run.sources);
    if (!(rows->tensors() == model->inputs)) {
        throw InputError{"the shards' tensors are not those of the run file"};
    }
    return rows;
}

}  // namespace dedloc::training::module
