#include "project_server/corpus/sample_cost.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "peer/base/error.hpp"
#include "peer/formats/albert_layout.hpp"
#include "peer/platform/mapped_file.hpp"

namespace dedloc::corpus {
namespace {

constexpr std::uint64_t kSpecialTokens = 3;  // the class token and two separators

}  // namespace

double mean_sample_flops(const formats::Shard& shard, const formats::RunFile& run) {
    if (shard.start_count() == 0) return 0;
    double sum = 0;
    for (std::size_t document = 0; document < shard.document_count(); ++document) {
        // From each sentence but the last one a sample goes to the end of its document.
        std::uint64_t tokens = 0;
        const std::size_t begin = shard.document_begin(document);
        const std::size_t last = shard.document_ends[document] - 1;
        for (std::size_t sentence = last + 1; sentence-- > begin;) {
            tokens += shard.sentence(sentence).size();
            if (sentence == last) continue;
            sum += formats::albert_min_flops(
                formats::albert_of(run), std::min(tokens + kSpecialTokens, run.sequence_length));
        }
    }
    return sum / static_cast<double>(shard.start_count());
}

double min_sample_flops(const std::filesystem::path& folder, const formats::RunFile& run) {
    double min = std::numeric_limits<double>::infinity();
    for (const auto& reference : run.shards) {
        if (reference.is_held_out) continue;
        const auto path = folder / reference.name;
        const auto file = std::make_shared<const platform::MappedFile>(path);
        const auto shard = formats::decode_shard(file->bytes(), file);
        if (!shard) {
            throw InputError(fmt::format("the shard {} cannot be used: {}", path.string(),
                                         formats::describe(shard.reason())));
        }
        const double mean = mean_sample_flops(*shard, run);
        if (mean > 0) min = std::min(min, mean);
        file->forget_pages();
    }
    return min == std::numeric_limits<double>::infinity() ? 0 : min;
}

}  // namespace dedloc::corpus
