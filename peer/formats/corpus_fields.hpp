// The fields that a run file and the description of a corpus have in common: special tokens and
// shards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "peer/formats/json_fields.hpp"
#include "peer/formats/json_puts.hpp"
#include "peer/formats/run_file.hpp"

namespace dedloc::formats {

/// Reads the object "special_tokens". Errors: InputError, also for an id that is not below
/// `vocabulary`, and for two equal ids.
SpecialTokens read_special_tokens(JsonFields& fields, std::uint64_t vocabulary);

/// Reads the list "shards", of `min` to kMaxShards elements. Errors: InputError.
std::vector<ShardReference> read_shards(JsonFields& fields, std::size_t min);

/// Writes the object "special_tokens" with a writer of RapidJSON.
template <class Writer>
void put_special_tokens(Writer& out, const SpecialTokens& tokens) {
    out.Key("special_tokens");
    out.StartObject();
    put(out, "pad", tokens.pad);
    put(out, "unknown", tokens.unknown);
    put(out, "cls", tokens.cls);
    put(out, "sep", tokens.sep);
    put(out, "mask", tokens.mask);
    out.EndObject();
}

/// Writes the list "shards" with a writer of RapidJSON. Weight and "held_out" are not written while
/// they have their defaults, because the id of a run is the digest of what is written.
template <class Writer>
void put_shards(Writer& out, const std::vector<ShardReference>& shards) {
    out.Key("shards");
    out.StartArray();
    for (const ShardReference& shard : shards) {
        out.StartObject();
        put(out, "name", shard.name);
        put(out, "digest", shard.digest.hex());
        put(out, "bytes", shard.bytes);
        if (shard.weight != 1) put(out, "weight", shard.weight);
        if (shard.is_held_out) put(out, "held_out", true);
        out.EndObject();
    }
    out.EndArray();
}

}  // namespace dedloc::formats
