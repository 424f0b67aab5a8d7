// The fields that a run file and the description of a corpus have in common: special tokens and
// shards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "peer/formats/json_fields.hpp"
#include "peer/formats/json_puts.hpp"
#include "peer/formats/run_file.hpp"

namespace dedloc::formats {

/// Reads the object "special_tokens". Errors: InputError, also for an id that is not below
/// `vocabulary`, and for two equal ids.
SpecialTokens read_special_tokens(JsonFields& fields, std::uint64_t vocabulary);

/// Reads the list "sources"; without it there is none. Errors: InputError, also for a name twice,
/// and if no weight is above 0.
std::vector<SourceSpec> read_sources(JsonFields& fields);

/// Reads the list "shards", of `min` to kMaxShards elements. Errors: InputError, also for a source
/// that is none of these and, with a `min` above 0, for a source without a shard to train on.
std::vector<ShardReference> read_shards(JsonFields& fields, std::size_t min,
                                        const std::vector<SourceSpec>& sources = {});

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

/// Writes the list "sources" with a writer of RapidJSON, unless it is empty: older runs keep their
/// ids.
template <class Writer>
void put_sources(Writer& out, std::span<const SourceSpec> sources) {
    if (sources.empty()) return;
    out.Key("sources");
    out.StartArray();
    for (const SourceSpec& source : sources) {
        out.StartObject();
        put(out, "name", source.name);
        put(out, "weight", source.weight);
        if (!source.licence.empty()) put(out, "licence", source.licence);
        out.EndObject();
    }
    out.EndArray();
}

/// Writes the list "shards" with a writer of RapidJSON. Weight, source and "held_out" are not
/// written while they have their defaults: the id of a run is the digest of what is written.
template <class Writer>
void put_shards(Writer& out, std::span<const ShardReference> shards) {
    out.Key("shards");
    out.StartArray();
    for (const ShardReference& shard : shards) {
        out.StartObject();
        put(out, "name", shard.name);
        put(out, "digest", shard.digest.hex());
        put(out, "bytes", shard.bytes);
        if (shard.weight != 1) put(out, "weight", shard.weight);
        if (shard.source != 0) put(out, "source", shard.source);
        if (shard.is_held_out) put(out, "held_out", true);
        out.EndObject();
    }
    out.EndArray();
}

}  // namespace dedloc::formats
