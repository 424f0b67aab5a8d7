#include "project_server/huggingface/tokenizer_files.hpp"

#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>
#include <sodium.h>

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "peer/base/error.hpp"
#include "peer/base/utf8.hpp"

namespace dedloc::huggingface {
namespace {

constexpr std::uint64_t kUnigram = 1;
constexpr const char* kBlank = "\u2581";  // ▁, which SentencePiece writes for a blank

using Writer = rapidjson::Writer<rapidjson::StringBuffer>;

void put(Writer& out, const char* name, const std::string& text) {
    out.Key(name);
    out.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}
void put(Writer& out, const char* name, const char* text) {
    put(out, name, std::string{text});
}
void put(Writer& out, const char* name, bool value) {
    out.Key(name);
    out.Bool(value);
}
void put(Writer& out, const char* name, std::uint64_t value) {
    out.Key(name);
    out.Uint64(value);
}
void put_null(Writer& out, const char* name) {
    out.Key(name);
    out.Null();
}
void begin(Writer& out, const char* name, const char* type) {
    if (name != nullptr) out.Key(name);
    out.StartObject();
    put(out, "type", type);
}

std::string base64(const std::string& bytes) {
    constexpr int kVariant = sodium_base64_VARIANT_ORIGINAL;
    std::string text(sodium_base64_encoded_len(bytes.size(), kVariant), '\0');
    sodium_bin2base64(text.data(), text.size(),
                      reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), kVariant);
    text.pop_back();  // the terminator
    return text;
}

const std::string& piece_at(const SentencePieceModel& model, std::uint16_t id) {
    if (id >= model.pieces.size()) {
        throw InputError(
            fmt::format("the tokenizer has {} pieces, but a special token of the run "
                        "has the id {}",
                        model.pieces.size(), id));
    }
    return model.pieces[id].text;
}

/// Ids of the special tokens, with the names that tokenizer_config.json gives them.
std::vector<std::pair<const char*, std::uint16_t>> special_tokens(const formats::RunFile& run) {
    const formats::SpecialTokens& ids = run.special_tokens;
    return {{"bos_token", ids.cls},    {"cls_token", ids.cls}, {"eos_token", ids.sep},
            {"mask_token", ids.mask},  {"pad_token", ids.pad}, {"sep_token", ids.sep},
            {"unk_token", ids.unknown}};
}

void put_added_tokens(Writer& out, const SentencePieceModel& model, const formats::RunFile& run) {
    const formats::SpecialTokens& ids = run.special_tokens;
    out.Key("added_tokens");
    out.StartArray();
    for (const std::uint16_t id : {ids.pad, ids.unknown, ids.cls, ids.sep, ids.mask}) {
        out.StartObject();
        put(out, "id", std::uint64_t{id});
        put(out, "content", piece_at(model, id));
        put(out, "single_word", false);
        // A blank before [MASK] belongs to it, as in ALBERT's tokenizer.
        put(out, "lstrip", id == ids.mask);
        put(out, "rstrip", false);
        put(out, "normalized", false);
        put(out, "special", true);
        out.EndObject();
    }
    out.EndArray();
}

void put_normaliser(Writer& out, const SentencePieceModel& model) {
    begin(out, "normalizer", "Sequence");
    out.Key("normalizers");
    out.StartArray();
    if (!model.charsmap.empty()) {
        begin(out, nullptr, "Precompiled");
        put(out, "precompiled_charsmap", base64(model.charsmap));
        out.EndObject();
    }
    if (model.removes_extra_blanks) {
        begin(out, nullptr, "Strip");
        put(out, "strip_left", true);
        put(out, "strip_right", true);
        out.EndObject();
        begin(out, nullptr, "Replace");
        out.Key("pattern");
        out.StartObject();
        put(out, "Regex", " {2,}");
        out.EndObject();
        put(out, "content", " ");
        out.EndObject();
    }
    out.EndArray();
    out.EndObject();
}

void put_metaspace(Writer& out, const char* name, const SentencePieceModel& model) {
    begin(out, name, "Metaspace");
    put(out, "replacement", kBlank);
    put(out, "prepend_scheme", model.adds_prefix ? "always" : "never");
    put(out, "split", false);
    out.EndObject();
}

void put_sequence(Writer& out, const char* kind, const std::string& id, std::uint64_t type) {
    out.StartObject();
    out.Key(kind);
    out.StartObject();
    put(out, "id", id);
    put(out, "type_id", type);
    out.EndObject();
    out.EndObject();
}

/// [CLS] A [SEP], and B [SEP] after it in a pair.
void put_template(Writer& out, const SentencePieceModel& model, const formats::RunFile& run) {
    const std::string& cls = piece_at(model, run.special_tokens.cls);
    const std::string& sep = piece_at(model, run.special_tokens.sep);
    begin(out, "post_processor", "TemplateProcessing");
    for (const char* name : {"single", "pair"}) {
        out.Key(name);
        out.StartArray();
        put_sequence(out, "SpecialToken", cls, 0);
        put_sequence(out, "Sequence", "A", 0);
        put_sequence(out, "SpecialToken", sep, 0);
        if (std::string_view{name} == "pair") {
            put_sequence(out, "Sequence", "B", 1);
            put_sequence(out, "SpecialToken", sep, 1);
        }
        out.EndArray();
    }
    out.Key("special_tokens");
    out.StartObject();
    for (const std::uint16_t id : {run.special_tokens.cls, run.special_tokens.sep}) {
        const std::string& text = piece_at(model, id);
        out.Key(text.c_str());
        out.StartObject();
        put(out, "id", text);
        out.Key("ids");
        out.StartArray();
        out.Uint64(id);
        out.EndArray();
        out.Key("tokens");
        out.StartArray();
        out.String(text.c_str());
        out.EndArray();
        out.EndObject();
    }
    out.EndObject();
    out.EndObject();
}

void put_model(Writer& out, const SentencePieceModel& model, const formats::RunFile& run) {
    begin(out, "model", "Unigram");
    put(out, "unk_id", std::uint64_t{run.special_tokens.unknown});
    out.Key("vocab");
    out.StartArray();
    for (const Piece& piece : model.pieces) {
        out.StartArray();
        const auto length = static_cast<rapidjson::SizeType>(piece.text.size());
        out.String(piece.text.data(), length);
        if (!out.Double(double{piece.score})) {
            throw InputError("the tokenizer has a piece without a score");
        }
        out.EndArray();
    }
    out.EndArray();
    put(out, "byte_fallback", false);
    out.EndObject();
}

}  // namespace

std::string write_tokenizer(const SentencePieceModel& model, const formats::RunFile& run) {
    if (model.algorithm != kUnigram) {
        throw InputError("the tokenizer is not a Unigram model, as ALBERT's is");
    }
    // rapidjson's own check reads past the end of a text that ends within a character.
    for (const Piece& piece : model.pieces) {
        if (!is_utf8(piece.text)) throw InputError("the tokenizer has a piece that is not UTF-8");
    }
    rapidjson::StringBuffer buffer;
    Writer out(buffer);
    out.StartObject();
    put(out, "version", "1.0");
    put_null(out, "truncation");
    put_null(out, "padding");
    put_added_tokens(out, model, run);
    put_normaliser(out, model);
    put_metaspace(out, "pre_tokenizer", model);
    put_template(out, model, run);
    put_metaspace(out, "decoder", model);
    put_model(out, model, run);
    out.EndObject();
    return std::string{buffer.GetString(), buffer.GetSize()} + "\n";
}

std::string write_tokenizer_config(const SentencePieceModel& model, const formats::RunFile& run) {
    rapidjson::StringBuffer buffer;
    Writer out(buffer);
    out.StartObject();
    for (const auto& [name, id] : special_tokens(run)) put(out, name, piece_at(model, id));
    put(out, "clean_up_tokenization_spaces", false);
    put(out, "do_lower_case", false);  // the normaliser's table does
    put(out, "keep_accents", true);    // likewise: it decides about accents
    out.Key("model_input_names");
    out.StartArray();
    for (const char* name : {"input_ids", "token_type_ids", "attention_mask"}) out.String(name);
    out.EndArray();
    put(out, "model_max_length", run.model.positions);
    put(out, "tokenizer_class", "PreTrainedTokenizerFast");
    out.EndObject();
    return std::string{buffer.GetString(), buffer.GetSize()} + "\n";
}

}  // namespace dedloc::huggingface
