// All samples are drawn into one order by the seed; those that are held out leave it, each by a
// draw of its own number, so that the choice does not depend on the order. What remains is cut into
// shards of equal numbers of samples. A build that fails starts again: it only copies.
#include "project_server/corpus/tensor_corpus.hpp"

#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <algorithm>
#include <span>
#include <string>

#include "peer/base/error.hpp"
#include "peer/base/random.hpp"
#include "peer/formats/corpus_fields.hpp"
#include "peer/formats/json_fields.hpp"
#include "peer/formats/module_fields.hpp"
#include "peer/platform/files.hpp"
#include "project_server/corpus/build_folder.hpp"
#include "project_server/corpus/tensor_sources.hpp"

namespace dedloc::corpus {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTensorSummary = "tensors.json";
constexpr std::uint64_t kMaxTensorSamples = std::uint64_t{1} << 40;

std::vector<TensorSource> open_all(const TensorOptions& options) {
    std::vector<TensorSource> sources;
    for (const auto& file : options.files) {
        for (TensorSource& opened : open_tensors(file)) sources.push_back(std::move(opened));
    }
    if (sources.empty() || sources.size() > formats::kMaxSampleTensors) {
        throw InputError{fmt::format("a sample has 1 to {} tensors, not {}",
                                     formats::kMaxSampleTensors, sources.size())};
    }
    for (const TensorSource& opened : sources) {
        if (opened.samples == sources.front().samples) continue;
        throw InputError{fmt::format("'{}' has {} samples, but '{}' has {}", opened.name,
                                     opened.samples, sources.front().name,
                                     sources.front().samples)};
    }
    return sources;
}

/// The numbers of the samples in the order of the shards, those held out last.
struct Order {
    std::vector<std::uint64_t> samples;
    std::size_t trained = 0;  ///< those before the held-out ones
};

Order draw_order(std::uint64_t count, const TensorOptions& options) {
    Order order;
    for (std::uint64_t i = 0; i < count; ++i) order.samples.push_back(i);
    Random random{options.seed};
    for (std::size_t left = order.samples.size(); left > 1; --left) {
        std::swap(order.samples[left - 1],
                  order.samples[static_cast<std::size_t>(random.below(left))]);
    }
    const Random choice{options.seed, 1};
    const auto held_out = std::stable_partition(
        order.samples.begin(), order.samples.end(),
        [&](std::uint64_t sample) { return choice.split(sample).uniform() >= options.held_out; });
    order.trained = static_cast<std::size_t>(held_out - order.samples.begin());
    return order;
}

Buffer shard_of(const std::vector<TensorSource>& sources, std::span<const std::uint64_t> samples) {
    std::vector<formats::SampleTensor> specs;
    std::vector<Buffer> arrays;
    for (const TensorSource& from : sources) {
        specs.push_back(from.tensor);
        Buffer& array = arrays.emplace_back();
        const auto row = static_cast<std::size_t>(from.tensor.bytes());
        array.reserve(samples.size() * row);
        for (const std::uint64_t sample : samples) {
            const auto bytes = from.bytes.subspan(static_cast<std::size_t>(sample) * row, row);
            array.insert(array.end(), bytes.begin(), bytes.end());
        }
    }
    return formats::encode_tensor_shard(
        specs, samples.size(),
        std::vector<std::span<const std::byte>>(arrays.begin(), arrays.end()));
}

/// Writes shards of at most `per_shard` samples.
void write_shards(const fs::path& folder, const std::vector<TensorSource>& sources,
                  std::span<const std::uint64_t> samples, std::size_t per_shard, bool is_held_out,
                  TensorCorpus& corpus) {
    while (!samples.empty()) {
        if (corpus.shards.size() == formats::kMaxShards) {
            throw InputError{fmt::format("the tensors need more than {} shards: choose larger ones",
                                         formats::kMaxShards)};
        }
        const std::size_t count = std::min(per_shard, samples.size());
        const Buffer bytes = shard_of(sources, samples.first(count));
        samples = samples.subspan(count);
        formats::ShardReference reference{.name = {},
                                          .digest = blake2b(bytes),
                                          .bytes = bytes.size(),
                                          .weight = 1,
                                          .is_held_out = is_held_out};
        reference.name = fmt::format("{}-{}", is_held_out ? "held-out" : "shard",
                                     reference.digest.hex().substr(0, 16));
        if (std::ranges::count(corpus.shards, reference.digest, &formats::ShardReference::digest) !=
            0) {
            throw InputError{"two shards are equal: the samples repeat themselves"};
        }
        platform::replace_file(folder / reference.name, bytes);
        corpus.shards.push_back(std::move(reference));
    }
}

void write_tensor_summary(const fs::path& folder, const TensorCorpus& corpus) {
    rapidjson::StringBuffer buffer;
    rapidjson::PrettyWriter<rapidjson::StringBuffer> out(buffer);
    out.StartObject();
    formats::put_inputs(out, corpus.inputs);
    out.Key("samples");
    out.Uint64(corpus.samples);
    out.Key("held_out");
    out.Uint64(corpus.held_out);
    formats::put_shards(out, corpus.shards);
    out.EndObject();
    platform::replace_file(folder / kTensorSummary, std::string{buffer.GetString()} + "\n");
}

void fill(const fs::path& folder, const TensorOptions& options) {
    const std::vector<TensorSource> sources = open_all(options);
    TensorCorpus corpus;
    std::uint64_t sample_bytes = 0;
    for (const TensorSource& from : sources) {
        corpus.inputs.push_back(from.tensor);
        sample_bytes += from.tensor.bytes();
    }
    if (sample_bytes > options.shard_bytes) {
        throw InputError{
            fmt::format("a sample has {} bytes, more than a shard may have", sample_bytes)};
    }
    const Order order = draw_order(sources.front().samples, options);
    const std::span<const std::uint64_t> samples{order.samples};
    if (order.trained == 0) throw InputError{"all samples are held out"};
    corpus.samples = samples.size();
    corpus.held_out = samples.size() - order.trained;
    const auto per_shard = static_cast<std::size_t>(options.shard_bytes / sample_bytes);
    write_shards(folder, sources, samples.first(order.trained), per_shard, false, corpus);
    write_shards(folder, sources, samples.subspan(order.trained), per_shard, true, corpus);
    std::ranges::sort(corpus.shards, {}, &formats::ShardReference::name);
    write_tensor_summary(folder, corpus);
}

}  // namespace

TensorCorpus build_tensor_corpus(const TensorOptions& options) {
    BuildFolder folder{options.folder};
    (void)folder.resume({});  // removes what an earlier build has left
    try {
        fill(folder.path(), options);
        folder.finish();
        return read_tensor_corpus(options.folder);
    } catch (...) {
        folder.discard();
        throw;
    }
}

TensorCorpus read_tensor_corpus(const fs::path& folder) {
    const fs::path file = folder / kTensorSummary;
    if (!fs::exists(file)) {
        throw InputError{fmt::format("{} is not a corpus of tensors (it has no {})",
                                     folder.string(), kTensorSummary)};
    }
    const auto document =
        formats::parse_json(file.string(), platform::read_text(file), platform::kMaxTextBytes);
    formats::JsonFields fields{document, "", file.string()};
    TensorCorpus corpus;
    corpus.inputs = formats::read_inputs(fields);
    corpus.samples = fields.integer("samples", 1, kMaxTensorSamples);
    corpus.held_out = fields.integer("held_out", 0, corpus.samples);
    corpus.shards = formats::read_shards(fields, 1);
    fields.finish();
    return corpus;
}

}  // namespace dedloc::corpus
