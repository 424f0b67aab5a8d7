// corpus.json and the journal share the functions for their common fields, so the journal can
// become the summary. Both files are replaced as a whole. A summary is read strictly and a fault in
// it is an error; a journal that cannot be read counts as absent, because the build can then start
// again. Fields that older corpora lack are optional. tokenizer_fault() compares the digest in the
// summary with the bytes of tokenizer.json, and also finds a file that should not be there.
#include "project_server/corpus/corpus.hpp"

#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <string>

#include "peer/base/error.hpp"
#include "peer/formats/corpus_fields.hpp"
#include "peer/formats/json_fields.hpp"
#include "peer/formats/json_puts.hpp"
#include "peer/formats/picture_labels.hpp"
#include "peer/platform/files.hpp"

namespace dedloc::corpus {
namespace {

namespace fs = std::filesystem;
using formats::JsonFields;
using formats::put;

constexpr const char* kSummary = "corpus.json";
constexpr const char* kJournal = "journal.json";
constexpr std::uint64_t kMaxCount = std::uint64_t{1} << 60;
constexpr std::uint64_t kMaxVocabulary = 65'536;
constexpr const char* kPictures = "pictures";
constexpr std::size_t kMaxReasons = 100;
constexpr std::size_t kMaxReasonBytes = 100;

// --- writing ------------------------------------------------------------------------------------

using Writer = rapidjson::PrettyWriter<rapidjson::StringBuffer>;

void put_pictures(Writer& out, const PictureFacts& facts) {
    put(out, "holds", kPictures);
    put(out, "pictures", facts.pictures);
    put(out, "held_out", facts.held_out);
    put(out, "labelled", facts.labelled);
    put(out, "bytes", facts.bytes);
    put(out, "smallest_side", facts.smallest_side);
    put(out, "duplicates", facts.duplicates);
    out.Key("classes");
    out.StartArray();
    for (const std::string& name : facts.classes) out.String(name.c_str());
    out.EndArray();
    out.Key("refused");
    out.StartArray();
    for (const RefusalCount& refusal : facts.refused) {
        out.StartObject();
        put(out, "reason", refusal.reason);
        put(out, "count", refusal.count);
        out.EndObject();
    }
    out.EndArray();
}

void put_fields(Writer& out, const Corpus& corpus) {
    if (corpus.pictures) {
        put_pictures(out, *corpus.pictures);
        return formats::put_shards(out, corpus.shards);
    }
    put(out, "vocabulary", corpus.vocabulary);
    formats::put_special_tokens(out, corpus.special_tokens);
    put(out, "documents", corpus.documents);
    put(out, "single", corpus.single);
    put(out, "sentences", corpus.sentences);
    put(out, "tokens", corpus.tokens);
    put(out, "unknown", corpus.unknown);
    put(out, "held_out", corpus.held_out);
    if (corpus.rules) {
        out.Key("rules");
        out.StartObject();
        put(out, "lower_case", corpus.rules->lower_case);
        put(out, "strips_accents", corpus.rules->strips_accents);
        put(out, "tokenizer", corpus.rules->tokenizer.hex());
        if (corpus.rules->is_whole) put(out, "is_whole", true);
        out.EndObject();
    }
    formats::put_sources(out, corpus.sources);
    formats::put_shards(out, corpus.shards);
}

template <class Put>
void write_object(const fs::path& file, const Put& put_all) {
    rapidjson::StringBuffer buffer;
    Writer out(buffer);
    out.StartObject();
    put_all(out);
    out.EndObject();
    platform::replace_file(file, std::string(buffer.GetString()) + "\n");
}

// --- reading ------------------------------------------------------------------------------------

PictureFacts read_pictures(JsonFields& fields) {
    PictureFacts facts;
    if (fields.text("holds", kMaxReasonBytes) != kPictures) {
        fields.refuse("holds", "is not \"pictures\"; a corpus of text does not have it");
    }
    facts.pictures = fields.integer("pictures", 0, kMaxCount);
    facts.held_out = fields.integer("held_out", 0, kMaxCount);
    facts.labelled = fields.integer("labelled", 0, kMaxCount);
    facts.bytes = fields.integer("bytes", 0, kMaxCount);
    facts.smallest_side = fields.integer("smallest_side", 0, kMaxCount);
    facts.duplicates = fields.integer("duplicates", 0, kMaxCount);
    for (const auto& name : fields.array("classes", 0, formats::kMaxClasses).GetArray()) {
        if (!name.IsString()) fields.refuse("classes", "has a name that is no text");
        facts.classes.emplace_back(name.GetString(), name.GetStringLength());
        if (!formats::is_class_name(facts.classes.back())) {
            fields.refuse("classes", "has a name that no class may have");
        }
    }
    for (JsonFields& refusal : fields.objects("refused", 0, kMaxReasons)) {
        auto& count = facts.refused.emplace_back();
        count.reason = refusal.text("reason", kMaxReasonBytes);
        count.count = refusal.integer("count", 1, kMaxCount);
        refusal.finish();
    }
    return facts;
}

Corpus read_fields(JsonFields& fields, std::size_t min_shards) {
    Corpus corpus;
    if (fields.has("holds")) {
        corpus.pictures = read_pictures(fields);
        corpus.shards = formats::read_shards(fields, min_shards);
        return corpus;
    }
    corpus.vocabulary = fields.integer("vocabulary", 1, kMaxVocabulary);
    corpus.special_tokens = formats::read_special_tokens(fields, corpus.vocabulary);
    corpus.documents = fields.integer("documents", 0, kMaxCount);
    corpus.single = fields.integer("single", 0, kMaxCount);
    corpus.sentences = fields.integer("sentences", 0, kMaxCount);
    corpus.tokens = fields.integer("tokens", 0, kMaxCount);
    if (fields.has("unknown")) corpus.unknown = fields.integer("unknown", 0, kMaxCount);
    corpus.held_out = fields.integer("held_out", 0, kMaxCount);
    if (fields.has("rules")) {
        JsonFields rules = fields.object("rules");
        corpus.rules.emplace();
        corpus.rules->lower_case = rules.boolean("lower_case");
        corpus.rules->strips_accents = rules.boolean("strips_accents");
        rules.hex("tokenizer", corpus.rules->tokenizer.bytes);
        corpus.rules->is_whole = rules.has("is_whole") && rules.boolean("is_whole");
        rules.finish();
    }
    corpus.sources = formats::read_sources(fields);
    corpus.shards = formats::read_shards(fields, min_shards, corpus.sources);
    return corpus;
}

rapidjson::Document parse(const fs::path& file) {
    return formats::parse_json(file.string(), platform::read_text(file), platform::kMaxTextBytes);
}

}  // namespace

void write_corpus(const fs::path& folder, const Corpus& corpus) {
    write_object(folder / kSummary, [&](Writer& out) { put_fields(out, corpus); });
}

Corpus read_corpus(const fs::path& folder) {
    const auto file = folder / kSummary;
    if (!fs::exists(file)) {
        throw InputError(
            fmt::format("{} is not a corpus (it has no {})", folder.string(), kSummary));
    }
    const auto document = parse(file);
    JsonFields fields{document, "", file.string()};
    auto corpus = read_fields(fields, 1);
    fields.finish();
    return corpus;
}

std::string labels_name(const formats::ShardReference& shard) {
    return fmt::format("labels-{}", shard.digest.hex().substr(0, 16));
}

std::string tokenizer_fault(const fs::path& folder) {
    if (!fs::exists(folder / kSummary)) return {};
    const auto rules = read_corpus(folder).rules;
    const fs::path file = folder / "tokenizer.json";
    const bool exists = fs::exists(file);
    if (!rules && exists) {
        return fmt::format("{} does not belong to the corpus, which SentencePiece alone has made",
                           file.string());
    }
    if (!rules) return {};
    if (!exists) return fmt::format("{}, which made the corpus, is absent", file.string());
    if (blake2b(bytes_of(platform::read_text(file))) == rules->tokenizer) return {};
    return fmt::format("{} is altered: it is not the one that made the corpus", file.string());
}

bool has_whole_tokenizer(const fs::path& folder) {
    if (!fs::exists(folder / kSummary)) return false;
    const auto rules = read_corpus(folder).rules;
    return rules && rules->is_whole;
}

void write_journal(const fs::path& folder, const Journal& journal) {
    write_object(folder / kJournal, [&](Writer& out) {
        put(out, "build", journal.build.hex());
        put(out, "is_held_out", journal.is_held_out);
        put(out, "text", journal.text);
        put(out, "offset", journal.offset);
        put(out, "document", journal.document);
        out.Key("texts");
        out.StartArray();
        for (const auto& text : journal.texts) {
            out.StartObject();
            put(out, "shards", text.shards);
            put(out, "starts", text.starts);
            out.EndObject();
        }
        out.EndArray();
        if (journal.corpus.pictures) {
            put(out, "looked_at", journal.pictures.looked_at);
            put(out, "trained_from", journal.pictures.trained_from);
            put(out, "held_from", journal.pictures.held_from);
        }
        put_fields(out, journal.corpus);
    });
}

std::optional<Journal> read_journal(const fs::path& folder) {
    const auto file = folder / kJournal;
    if (!fs::exists(file)) return {};
    try {
        const auto document = parse(file);
        JsonFields fields{document, "", file.string()};
        Journal journal;
        fields.hex("build", journal.build.bytes);
        journal.is_held_out = fields.boolean("is_held_out");
        journal.text = fields.integer("text", 0, kMaxCount);
        journal.offset = fields.integer("offset", 0, kMaxCount);
        journal.document = fields.integer("document", 0, kMaxCount);
        for (JsonFields& text : fields.objects("texts", 0, kMaxCount)) {
            auto& count = journal.texts.emplace_back();
            count.shards = text.integer("shards", 0, kMaxCount);
            count.starts = text.integer("starts", 0, kMaxCount);
            text.finish();
        }
        if (fields.has("looked_at")) {
            journal.pictures.looked_at = fields.integer("looked_at", 0, kMaxCount);
            journal.pictures.trained_from = fields.integer("trained_from", 0, kMaxCount);
            journal.pictures.held_from = fields.integer("held_from", 0, kMaxCount);
        }
        journal.corpus = read_fields(fields, 0);
        fields.finish();
        return journal;
    } catch (const InputError&) {
        return {};
    }
}

void remove_journal(const fs::path& folder) {
    std::error_code failed;
    fs::remove(folder / kJournal, failed);
    if (failed) {
        throw IoError(
            fmt::format("cannot remove {}: {}", (folder / kJournal).string(), failed.message()));
    }
}

}  // namespace dedloc::corpus
