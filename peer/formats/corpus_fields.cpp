// Both documents name these fields alike, so only the number of shards and the size of the
// vocabulary differ. Names of shards have no control characters (JsonFields::text), so they are
// written as C strings.
#include "peer/formats/corpus_fields.hpp"

#include <set>

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

std::vector<ShardReference> read_shards(JsonFields& fields, std::size_t min) {
    std::vector<ShardReference> shards;
    for (JsonFields& object : fields.objects("shards", min, kMaxShards)) {
        ShardReference& shard = shards.emplace_back();
        shard.name = object.text("name", kMaxNameBytes);
        object.hex("digest", shard.digest.bytes);
        shard.bytes = object.integer("bytes", 1, kMaxShardBytes);
        if (object.has("weight")) shard.weight = object.integer("weight", 1, kMaxShardWeight);
        if (object.has("held_out")) shard.is_held_out = object.boolean("held_out");
        object.finish();
    }
    return shards;
}

}  // namespace dedloc::formats
