#include "project_server/huggingface/tokenizer_files.hpp"

#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>
#include <sodium.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <variant>
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

const char* name_of(UnicodeForm::Form form) {
    switch (form) {
        case UnicodeForm::Form::kNfc:
            return "NFC";
        case UnicodeForm::Form::kNfd:
            return "NFD";
        case UnicodeForm::Form::kNfkc:
            return "NFKC";
        case UnicodeForm::Form::kNfkd:
            break;
    }
    return "NFKD";
}

const char* name_of(Metaspace::Prefix prefix) {
    switch (prefix) {
        case Metaspace::Prefix::kAlways:
            return "always";
        case Metaspace::Prefix::kFirst:
            return "first";
        case Metaspace::Prefix::kNever:
            break;
    }
    return "never";
}

std::string base64(const std::string& bytes) {
    constexpr int kVariant = sodium_base64_VARIANT_ORIGINAL;
    std::string text(sodium_base64_encoded_len(bytes.size(), kVariant), '\0');
    sodium_bin2base64(text.data(), text.size(),
                      reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), kVariant);
    text.pop_back();  // the terminator
    return text;
}

const std::string& piece_at(const TokenizerSpec& spec, std::uint16_t id) {
    if (id >= spec.pieces.size()) {
        throw InputError(
            fmt::format("the tokenizer has {} pieces, but a special token of the run "
                        "has the id {}",
                        spec.pieces.size(), id));
    }
    return spec.pieces[id].text;
}

/// Ids of the special tokens, with the names that tokenizer_config.json gives them.
std::vector<std::pair<const char*, std::uint16_t>> special_tokens(const formats::RunFile& run) {
    const formats::SpecialTokens& ids = run.special_tokens;
    return {{"bos_token", ids.cls},    {"cls_token", ids.cls}, {"eos_token", ids.sep},
            {"mask_token", ids.mask},  {"pad_token", ids.pad}, {"sep_token", ids.sep},
            {"unk_token", ids.unknown}};
}

void put_added_tokens(Writer& out, const TokenizerSpec& spec) {
    out.Key("added_tokens");
    out.StartArray();
    for (const AddedToken& token : spec.added) {
        out.StartObject();
        put(out, "id", std::uint64_t{token.id});
        put(out, "content", token.content);
        put(out, "single_word", token.is_single_word);
        put(out, "lstrip", token.takes_space_before);
        put(out, "rstrip", token.takes_space_after);
        put(out, "normalized", token.is_normalised);
        put(out, "special", token.is_special);
        out.EndObject();
    }
    out.EndArray();
}

/// Writes "Replace" with a pattern of one kind: "String" or "Regex".
void put_replacement(Writer& out, const char* kind, const std::string& pattern,
                     const std::string& content) {
    begin(out, nullptr, "Replace");
    out.Key("pattern");
    out.StartObject();
    put(out, kind, pattern);
    out.EndObject();
    put(out, "content", content);
    out.EndObject();
}

struct StepWriter {
    Writer& out;

    void operator()(const Replace& step) const {
        put_replacement(out, "String", step.pattern, step.content);
    }
    void operator()(const ReplaceBlanks& step) const {
        put_replacement(out, "Regex", " {2,}", step.content);
    }
    void operator()(const UnicodeForm& step) const {
        begin(out, nullptr, name_of(step.form));
        out.EndObject();
    }
    void operator()(const StripAccents&) const {
        begin(out, nullptr, "StripAccents");
        out.EndObject();
    }
    void operator()(const Lowercase&) const {
        begin(out, nullptr, "Lowercase");
        out.EndObject();
    }
    void operator()(const Precompiled& step) const {
        begin(out, nullptr, "Precompiled");
        put(out, "precompiled_charsmap", base64(step.charsmap));
        out.EndObject();
    }
    void operator()(const Strip& step) const {
        begin(out, nullptr, "Strip");
        put(out, "strip_left", step.left);
        put(out, "strip_right", step.right);
        out.EndObject();
    }
};

void put_normaliser(Writer& out, const TokenizerSpec& spec) {
    begin(out, "normalizer", "Sequence");
    out.Key("normalizers");
    out.StartArray();
    for (const NormaliserStep& step : spec.normaliser) std::visit(StepWriter{out}, step);
    out.EndArray();
    out.EndObject();
}

void put_metaspace(Writer& out, const char* name, const Metaspace& step) {
    begin(out, name, "Metaspace");
    put(out, "replacement", kBlank);
    put(out, "prepend_scheme", name_of(step.prefix));
    put(out, "split", step.splits);
    out.EndObject();
}

void put_divisions(Writer& out, const TokenizerSpec& spec) {
    const auto put_step = [&](const char* name, const Division& division) {
        if (const auto* const step = std::get_if<Metaspace>(&division)) {
            return put_metaspace(out, name, *step);
        }
        begin(out, name, "WhitespaceSplit");
        out.EndObject();
    };
    if (spec.divisions.size() == 1) return put_step("pre_tokenizer", spec.divisions[0]);
    begin(out, "pre_tokenizer", "Sequence");
    out.Key("pretokenizers");
    out.StartArray();
    for (const Division& division : spec.divisions) put_step(nullptr, division);
    out.EndArray();
    out.EndObject();
}

/// The last Metaspace also says how to make text of tokens.
void put_decoder(Writer& out, const TokenizerSpec& spec) {
    Metaspace step;
    for (const Division& division : spec.divisions) {
        if (const auto* const found = std::get_if<Metaspace>(&division)) step = *found;
    }
    put_metaspace(out, "decoder", step);
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
void put_template(Writer& out, const TokenizerSpec& spec, const formats::SpecialTokens& special) {
    const std::string& cls = piece_at(spec, special.cls);
    const std::string& sep = piece_at(spec, special.sep);
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
    for (const std::uint16_t id : {special.cls, special.sep}) {
        const std::string& text = piece_at(spec, id);
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

void put_model(Writer& out, const TokenizerSpec& spec) {
    begin(out, "model", "Unigram");
    put(out, "unk_id", std::uint64_t{spec.unknown});
    out.Key("vocab");
    out.StartArray();
    for (const ScoredPiece& piece : spec.pieces) {
        out.StartArray();
        const auto length = static_cast<rapidjson::SizeType>(piece.text.size());
        out.String(piece.text.data(), length);
        if (!out.Double(piece.score)) {
            throw InputError("the tokenizer has a piece without a score");
        }
        out.EndArray();
    }
    out.EndArray();
    put(out, "byte_fallback", false);
    out.EndObject();
}

}  // namespace

TokenizerSpec sentencepiece_spec(const SentencePieceModel& model,
                                 const formats::SpecialTokens& special) {
    if (model.algorithm != kUnigram) {
        throw InputError("the tokenizer is not a Unigram model, as ALBERT's is");
    }
    TokenizerSpec spec;
    for (const Piece& piece : model.pieces) {
        // rapidjson's own check reads past the end of a text that ends within a character.
        if (!is_utf8(piece.text)) throw InputError("the tokenizer has a piece that is not UTF-8");
        spec.pieces.push_back({.text = piece.text, .score = double{piece.score}});
    }
    for (const std::uint16_t id :
         {special.pad, special.unknown, special.cls, special.sep, special.mask}) {
        // A blank before [MASK] belongs to it, as in ALBERT's tokenizer.
        spec.added.push_back({.content = piece_at(spec, id),
                              .id = id,
                              .takes_space_before = id == special.mask,
                              .is_special = true});
    }
    if (!model.charsmap.empty()) spec.normaliser.emplace_back(Precompiled{model.charsmap});
    if (model.removes_extra_blanks) {
        spec.normaliser.emplace_back(Strip{.left = true, .right = true});
        spec.normaliser.emplace_back(ReplaceBlanks{" "});
    }
    using Prefix = Metaspace::Prefix;
    spec.divisions.emplace_back(
        Metaspace{.prefix = model.adds_prefix ? Prefix::kAlways : Prefix::kNever, .splits = false});
    spec.unknown = special.unknown;
    return spec;
}

std::string write_tokenizer(const TokenizerSpec& spec, const formats::SpecialTokens& special) {
    rapidjson::StringBuffer buffer;
    Writer out(buffer);
    out.StartObject();
    put(out, "version", "1.0");
    put_null(out, "truncation");
    put_null(out, "padding");
    put_added_tokens(out, spec);
    put_normaliser(out, spec);
    put_divisions(out, spec);
    put_template(out, spec, special);
    put_decoder(out, spec);
    put_model(out, spec);
    out.EndObject();
    return std::string{buffer.GetString(), buffer.GetSize()} + "\n";
}

std::string write_tokenizer(const SentencePieceModel& model, const formats::RunFile& run) {
    return write_tokenizer(sentencepiece_spec(model, run.special_tokens), run.special_tokens);
}

std::string write_tokenizer_config(const TokenizerSpec& spec, const formats::RunFile& run) {
    rapidjson::StringBuffer buffer;
    Writer out(buffer);
    out.StartObject();
    for (const auto& [name, id] : special_tokens(run)) put(out, name, piece_at(spec, id));
    put(out, "clean_up_tokenization_spaces", false);
    // What SentencePiece's own table does to them is not meant by these two.
    put(out, "do_lower_case", has_step<Lowercase>(spec));
    put(out, "keep_accents", !has_step<StripAccents>(spec));
    out.Key("model_input_names");
    out.StartArray();
    for (const char* name : {"input_ids", "token_type_ids", "attention_mask"}) out.String(name);
    out.EndArray();
    put(out, "model_max_length", run.model.positions);
    put(out, "tokenizer_class", "PreTrainedTokenizerFast");
    out.EndObject();
    return std::string{buffer.GetString(), buffer.GetSize()} + "\n";
}

std::string write_tokenizer_config(const SentencePieceModel& model, const formats::RunFile& run) {
    return write_tokenizer_config(sentencepiece_spec(model, run.special_tokens), run);
}

}  // namespace dedloc::huggingface
