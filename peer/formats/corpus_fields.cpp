// Both documents name these fields alike, so only the number of shards and the size of the
// vocabulary differ. Names of shards have no control characters (JsonFields::text), so they are
// written as C strings.
#include "peer/formats/corpus_fields.hpp"

#include <algorithm>
#include <set>
#include <string>

namespace dedloc::formats {
namespace {

constexpr std::uint64_t kMaxShardBytes = std::uint64_t{1} << 40;

}  // namespace

SpecialTokens read_special_tokens(JsonFields& fields, std::uint64_t vocabulary) {
    JsonFields object = fields.object("special_tokens");
    const auto token = [&](const char* name) {
        return static_cast<std::uint16_t>(object.integer(name, 0, vocabulary - 1));
    };
    SpecialTokens tokens;
    tokens.pad = token("pad");
    tokens.unknown = token("unknown");
    tokens.cls = token("cls");
    tokens.sep = token("sep");
    tokens.mask = token("mask");
    object.finish();
    const std::set distinct{tokens.pad, tokens.unknown, tokens.cls, tokens.sep, tokens.mask};
    if (distinct.size() != 5)
        object.refuse("mask",
                      "must differ from all other special tokens, and these from each other");
    return tokens;
}

std::vector<SourceSpec> read_sources(JsonFields& fields) {
    std::vector<SourceSpec> sources;
    if (!fields.has("sources")) return sources;
    std::set<std::string> names;
    std::uint64_t sum = 0;
    for (JsonFields& object : fields.objects("sources", 1, kMaxSources)) {
        SourceSpec& source = sources.emplace_back();
        source.name = object.text("name", kMaxSourceName);
        if (!is_source_name(source.name))
            object.refuse("name", "must have letters, digits, - and _");
        if (!names.insert(source.name).second) object.refuse("name", "is another source's, too");
        source.weight = object.integer("weight", 0, kMaxSourceWeight);
        if (object.has("licence")) source.licence = object.text("licence", kMaxLicenceBytes);
        object.finish();
        sum += source.weight;
    }
    if (sum == 0) fields.refuse("sources", "must have a weight above 0");
    return sources;
}

std::vector<ShardReference> read_shards(JsonFields& fields, std::size_t min,
                                        const std::vector<SourceSpec>& sources) {
    std::vector<ShardReference> shards;
    for (JsonFields& object : fields.objects("shards", min, kMaxShards)) {
        ShardReference& shard = shards.emplace_back();
        shard.name = object.text("name", kMaxNameBytes);
        object.hex("digest", shard.digest.bytes);
        shard.bytes = object.integer("bytes", 1, kMaxShardBytes);
        if (object.has("weight")) shard.weight = object.integer("weight", 1, kMaxShardWeight);
        if (object.has("source") && !sources.empty()) {
            shard.source =
                static_cast<std::uint32_t>(object.integer("source", 0, sources.size() - 1));
        }
        if (object.has("held_out")) shard.is_held_out = object.boolean("held_out");
        object.finish();
    }
    for (std::size_t i = 0; i < sources.size() && min > 0; ++i) {
        const bool is_trained = std::ranges::any_of(shards, [&](const ShardReference& shard) {
            return shard.source == i && !shard.is_held_out;
        });
        if (!is_trained) {
            fields.refuse("sources", "must each have a shard to train on, but '" + sources[i].name +
                                         "' has none");
        }
    }
    return shards;
}

}  // namespace dedloc::formats
