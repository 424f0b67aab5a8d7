// The fields of sources and shards are read and written as a run file's are. The text is written
// again after it was read and compared, so white space or another order of fields is refused.
#include "peer/formats/added_source.hpp"

#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <set>

#include "peer/base/error.hpp"
#include "peer/formats/corpus_fields.hpp"
#include "peer/formats/json_fields.hpp"
#include "peer/formats/json_puts.hpp"

namespace dedloc::formats {
namespace {

constexpr const char* kFile = "the file of an added source";
constexpr std::uint64_t kAddedSourceVersion = 1;

AddedSource read_fields(std::string_view json) {
    const rapidjson::Document document = parse_json(kFile, json, kMaxAddedSourceBytes);
    JsonFields fields{document, "", kFile};
    if (fields.integer("version", 0, ~std::uint64_t{0}) != kAddedSourceVersion) {
        fields.refuse("version", "is of another version of this program");
    }
    AddedSource source;
    source.name = fields.text("name", kMaxSourceName);
    if (!is_source_name(source.name)) fields.refuse("name", "must have letters, digits, - and _");
    if (fields.has("licence")) source.licence = fields.text("licence", kMaxLicenceBytes);
    source.shards = read_shards(fields, 1);
    fields.finish();
    std::set<std::string_view> names;
    for (const ShardReference& shard : source.shards) {
        if (!names.insert(shard.name).second) {
            fields.refuse("shards", fmt::format("contains '{}' twice", shard.name));
        }
        if (shard.source != 0) fields.refuse("shards", "must be of one source");
    }
    if (std::ranges::all_of(source.shards, &ShardReference::is_held_out)) {
        fields.refuse("shards", "must have one to train on");
    }
    return source;
}

std::string serialise_source(const AddedSource& source) {
    rapidjson::StringBuffer buffer;
    rapidjson::Writer<rapidjson::StringBuffer> out(buffer);
    out.StartObject();
    put(out, "version", kAddedSourceVersion);
    put(out, "name", source.name);
    if (!source.licence.empty()) put(out, "licence", source.licence);
    put_shards(out, source.shards);
    out.EndObject();
    return {buffer.GetString(), buffer.GetSize()};
}

}  // namespace

AddedSource parse_added_source(std::string_view json) {
    AddedSource source = read_fields(json);
    if (serialise_source(source) != json) {
        throw InputError{fmt::format("{} is not as this program writes it", kFile)};
    }
    return source;
}

std::string write_added_source(const AddedSource& source) {
    std::string json = serialise_source(source);
    if (!(parse_added_source(json) == source)) {
        throw InputError{fmt::format("{} does not read back as it was written", kFile)};
    }
    return json;
}

Digest digest_of(const AddedSource& source) {
    return blake2b(bytes_of(serialise_source(source)));
}

void add_source(RunFile& run, const AddedSource& source) {
    const auto refuse = [&](const std::string& why) {
        throw InputError{
            fmt::format("source {} cannot be added to the run {}: {}", source.name, run.name, why)};
    };
    if (run.sources.empty()) refuse("the run began without sources");
    if (run.sources.size() >= kMaxSources) {
        refuse(fmt::format("a run has at most {} sources", kMaxSources));
    }
    if (std::ranges::count(run.sources, source.name, &SourceSpec::name) != 0) {
        refuse("it has a source of this name");
    }
    if (run.shards.size() + source.shards.size() > kMaxShards) {
        refuse(fmt::format("a run has at most {} shards", kMaxShards));
    }
    std::set<std::string_view> names;
    std::set<Digest> digests;
    for (const ShardReference& shard : run.shards) {
        names.insert(shard.name);
        digests.insert(shard.digest);
    }
    for (const ShardReference& shard : source.shards) {
        if (names.contains(shard.name) || digests.contains(shard.digest)) {
            refuse(fmt::format("the run has its shard {} already", shard.name));
        }
    }
    const auto index = static_cast<std::uint32_t>(run.sources.size());
    run.sources.push_back({.name = source.name, .weight = 0, .licence = source.licence});
    for (ShardReference shard : source.shards) {
        shard.source = index;
        run.shards.push_back(std::move(shard));
    }
    ++run.added_sources;
    run.added_shards += source.shards.size();
}

}  // namespace dedloc::formats
