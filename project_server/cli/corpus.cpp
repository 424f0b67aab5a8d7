#include "project_server/cli/corpus.hpp"

#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "peer/base/error.hpp"
#include "peer/formats/shard.hpp"
#include "peer/platform/files.hpp"
#include "project_server/cli/sentences.hpp"
#include "project_server/cli/tokenizer.hpp"
#include "project_server/cli/unfinished_folder.hpp"
#include "project_server/settings.hpp"

namespace dedloc::cli {
namespace {

namespace fs = std::filesystem;

std::vector<Document> documents_of(const fs::path& text) {
    std::ifstream input(text);
    if (fs::is_directory(text) || !input) {
        throw InputError(
            fmt::format("cannot read the text {}: {}", text.string(),
                        fs::exists(text) ? "it is not a readable file" : "no such file"));
    }
    auto documents = read_documents(input);
    if (documents.empty()) {
        throw InputError(fmt::format("the text {} contains no sentence", text.string()));
    }
    return documents;
}

/// Writes a shard under a name made from its digest, because BOINC requires that a file name always
/// stands for the same bytes.
formats::ShardReference write_shard(const fs::path& folder, formats::Shard&& shard) {
    const Buffer bytes = formats::encode_shard(shard);
    const Digest digest = blake2b(bytes);
    formats::ShardReference reference{.name = fmt::format("shard-{}", digest.hex().substr(0, 16)),
                                      .digest = digest,
                                      .bytes = bytes.size()};
    platform::replace_file(folder / reference.name,
                           {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    return reference;
}

void write_shards(const std::vector<Document>& documents, const Tokenizer& tokenizer,
                  const CorpusOptions& options, const fs::path& folder, Corpus& corpus) {
    const auto vocabulary = static_cast<std::uint32_t>(corpus.vocabulary);
    formats::ShardBuilder builder{vocabulary};
    const auto end_shard = [&] {
        auto shard = std::move(builder).finish();
        builder = formats::ShardBuilder{vocabulary};
        corpus.documents += shard.document_count();
        corpus.sentences += shard.sentence_count();
        corpus.tokens += shard.tokens.size();
        corpus.shards.push_back(write_shard(folder, std::move(shard)));
    };
    for (const auto& document : documents) {
        for (const auto& sentence : document) builder.add_sentence(tokenizer.encode(sentence));
        builder.end_document();
        if (builder.token_count() >= options.shard_tokens) end_shard();
    }
    if (builder.token_count() > 0) end_shard();
}

void write_summary(const fs::path& folder, const Corpus& corpus) {
    rapidjson::StringBuffer buffer;
    rapidjson::PrettyWriter<rapidjson::StringBuffer> writer(buffer);
    const auto number = [&](const char* name, std::uint64_t value) {
        writer.Key(name);
        writer.Uint64(value);
    };
    writer.StartObject();
    number("vocabulary", corpus.vocabulary);
    number("documents", corpus.documents);
    number("sentences", corpus.sentences);
    number("tokens", corpus.tokens);
    writer.Key("shards");
    writer.StartArray();
    for (const auto& shard : corpus.shards) {
        writer.StartObject();
        writer.Key("name");
        writer.String(shard.name.c_str());
        writer.Key("digest");
        writer.String(shard.digest.hex().c_str());
        number("bytes", shard.bytes);
        writer.EndObject();
    }
    writer.EndArray();
    writer.EndObject();
    platform::replace_file(folder / "corpus.json", std::string(buffer.GetString()) + "\n");
}

bool read_shard_reference(const rapidjson::Value& value, formats::ShardReference& reference) {
    if (!value.IsObject() || !value.HasMember("name") || !value["name"].IsString() ||
        !value.HasMember("digest") || !value["digest"].IsString() || !value.HasMember("bytes") ||
        !value["bytes"].IsUint64()) {
        return false;
    }
    reference.name = value["name"].GetString();
    reference.bytes = value["bytes"].GetUint64();
    return Digest::parse(value["digest"].GetString(), reference.digest);
}

bool read_summary(const rapidjson::Document& document, Corpus& corpus) {
    if (document.HasParseError() || !document.IsObject()) return false;
    const auto number = [&](const char* name, std::uint64_t& value) {
        if (!document.HasMember(name) || !document[name].IsUint64()) return false;
        value = document[name].GetUint64();
        return true;
    };
    if (!number("vocabulary", corpus.vocabulary) || !number("documents", corpus.documents) ||
        !number("sentences", corpus.sentences) || !number("tokens", corpus.tokens) ||
        !document.HasMember("shards") || !document["shards"].IsArray()) {
        return false;
    }
    for (const auto& shard : document["shards"].GetArray()) {
        if (!read_shard_reference(shard, corpus.shards.emplace_back())) return false;
    }
    return !corpus.shards.empty();
}

}  // namespace

Corpus build_corpus(const CorpusOptions& options) {
    const auto documents = documents_of(options.text);
    UnfinishedFolder folder{options.folder};
    const std::string model = train_tokenizer(documents, options.vocabulary);
    platform::replace_file(folder.path() / "tokenizer.model", model);
    const Tokenizer tokenizer{model};
    Corpus corpus;
    corpus.vocabulary = static_cast<std::uint64_t>(tokenizer.vocabulary());
    write_shards(documents, tokenizer, options, folder.path(), corpus);
    write_summary(folder.path(), corpus);
    folder.finish();
    return corpus;
}

Corpus read_corpus(const fs::path& folder) {
    const auto file = folder / "corpus.json";
    if (!fs::exists(file)) {
        throw InputError(
            fmt::format("{} is not a corpus (it has no corpus.json)", folder.string()));
    }
    rapidjson::Document document;
    document.Parse<rapidjson::kParseIterativeFlag>(platform::read_text(file).c_str());
    Corpus corpus;
    if (!read_summary(document, corpus)) {
        throw InputError(fmt::format("{} is not a valid corpus description", file.string()));
    }
    return corpus;
}

}  // namespace dedloc::cli
