// All writers know only a TokenizerSpec; sentencepiece_spec() makes one of a SentencePiece model,
// so both kinds of corpora take the same way. Each part of tokenizer.json is an object with a type.
// A visitor (StepData) converts the steps of the normaliser in their order; one division is written
// bare, several as a Sequence. The decoder is the last Metaspace, because it undoes that step.
#include "project_server/huggingface/tokenizer_files.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "peer/base/bytes.hpp"
#include "peer/base/error.hpp"
#include "peer/base/utf8.hpp"
#include "project_server/json/value.hpp"

namespace dedloc::huggingface {
namespace {

constexpr std::uint64_t kUnigram = 1;
constexpr const char* kBlank = "\u2581";  // ▁, which SentencePiece writes for a blank

/// An object with this type.
json::Value typed(const char* type) {
    json::Value data;
    data.set("type", type);
    return data;
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
std::vector<std::pair<const char*, std::uint16_t>> special_tokens(
    const formats::SpecialTokens& ids) {
    return {{"bos_token", ids.cls},    {"cls_token", ids.cls}, {"eos_token", ids.sep},
            {"mask_token", ids.mask},  {"pad_token", ids.pad}, {"sep_token", ids.sep},
            {"unk_token", ids.unknown}};
}

json::Value::List added_tokens(const TokenizerSpec& spec) {
    json::Value::List list;
    for (const AddedToken& token : spec.added) {
        list.emplace_back()
            .set("id", token.id)
            .set("content", token.content)
            .set("single_word", token.is_single_word)
            .set("lstrip", token.takes_space_before)
            .set("rstrip", token.takes_space_after)
            .set("normalized", token.is_normalised)
            .set("special", token.is_special);
    }
    return list;
}

/// "Replace" with a pattern of one kind: "String" or "Regex".
json::Value replacement(const char* kind, const std::string& pattern, const std::string& content) {
    json::Value replaced;
    replaced.set(kind, pattern);
    return typed("Replace").set("pattern", std::move(replaced)).set("content", content);
}

struct StepData {
    json::Value operator()(const Replace& step) const {
        return replacement("String", step.pattern, step.content);
    }
    json::Value operator()(const ReplaceBlanks& step) const {
        return replacement("Regex", " {2,}", step.content);
    }
    json::Value operator()(const ReplaceRegex& step) const {
        return replacement("Regex", step.pattern, step.content);
    }
    json::Value operator()(const Nmt&) const { return typed("Nmt"); }
    json::Value operator()(const Prepend& step) const {
        return typed("Prepend").set("prepend", step.prefix);
    }
    json::Value operator()(const UnicodeForm& step) const { return typed(name_of(step.form)); }
    json::Value operator()(const StripAccents&) const { return typed("StripAccents"); }
    json::Value operator()(const Lowercase&) const { return typed("Lowercase"); }
    json::Value operator()(const Precompiled& step) const {
        return typed("Precompiled").set("precompiled_charsmap", to_base64(bytes_of(step.charsmap)));
    }
    json::Value operator()(const Strip& step) const {
        return typed("Strip").set("strip_left", step.left).set("strip_right", step.right);
    }
};

json::Value normaliser(const TokenizerSpec& spec) {
    json::Value::List steps;
    for (const NormaliserStep& step : spec.normaliser) {
        steps.push_back(std::visit(StepData{}, step));
    }
    return typed("Sequence").set("normalizers", std::move(steps));
}

json::Value metaspace(const Metaspace& step) {
    return typed("Metaspace")
        .set("replacement", kBlank)
        .set("prepend_scheme", name_of(step.prefix))
        .set("split", step.splits);
}

const char* name_of(Matched matched) {
    switch (matched) {
        case Matched::kRemoved:
            return "Removed";
        case Matched::kIsolated:
            return "Isolated";
        case Matched::kContiguous:
            return "Contiguous";
        case Matched::kMergedWithPrevious:
            return "MergedWithPrevious";
        case Matched::kMergedWithNext:
            break;
    }
    return "MergedWithNext";
}

struct DivisionData {
    json::Value operator()(const WhitespaceSplit&) const { return typed("WhitespaceSplit"); }
    json::Value operator()(const Metaspace& step) const { return metaspace(step); }
    json::Value operator()(const Digits& step) const {
        return typed("Digits").set("individual_digits", step.individual);
    }
    json::Value operator()(const Punctuation& step) const {
        return typed("Punctuation").set("behavior", name_of(step.matched));
    }
    json::Value operator()(const Whitespace&) const { return typed("Whitespace"); }
    json::Value operator()(const Split& step) const {
        json::Value pattern;
        pattern.set(step.is_regex ? "Regex" : "String", step.pattern);
        return typed("Split")
            .set("pattern", std::move(pattern))
            .set("behavior", name_of(step.matched))
            .set("invert", step.inverts);
    }
    json::Value operator()(const FixedLength& step) const {
        return typed("FixedLength").set("length", step.length);
    }
};

json::Value divisions(const TokenizerSpec& spec) {
    if (spec.divisions.size() == 1) return std::visit(DivisionData{}, spec.divisions[0]);
    json::Value::List steps;
    for (const Division& division : spec.divisions) {
        steps.push_back(std::visit(DivisionData{}, division));
    }
    return typed("Sequence").set("pretokenizers", std::move(steps));
}

/// The last Metaspace also says how to make text of tokens.
json::Value decoder(const TokenizerSpec& spec) {
    Metaspace step;
    for (const Division& division : spec.divisions) {
        if (const auto* const found = std::get_if<Metaspace>(&division)) step = *found;
    }
    return metaspace(step);
}

json::Value template_item(const char* kind, const std::string& id, int type) {
    json::Value named;
    named.set("id", id).set("type_id", type);
    json::Value item;
    item.set(kind, std::move(named));
    return item;
}

/// [CLS] A [SEP], and B [SEP] after it in a pair.
json::Value template_data(const TokenizerSpec& spec, const formats::SpecialTokens& special) {
    const std::string& cls = piece_at(spec, special.cls);
    const std::string& sep = piece_at(spec, special.sep);
    const json::Value::List single{template_item("SpecialToken", cls, 0),
                                   template_item("Sequence", "A", 0),
                                   template_item("SpecialToken", sep, 0)};
    json::Value::List pair = single;
    pair.push_back(template_item("Sequence", "B", 1));
    pair.push_back(template_item("SpecialToken", sep, 1));
    json::Value tokens;
    for (const std::uint16_t id : {special.cls, special.sep}) {
        const std::string& text = piece_at(spec, id);
        json::Value token;
        token.set("id", text)
            .set("ids", json::Value::List{id})
            .set("tokens", json::Value::List{text});
        tokens.set(text, std::move(token));
    }
    return typed("TemplateProcessing")
        .set("single", single)
        .set("pair", std::move(pair))
        .set("special_tokens", std::move(tokens));
}

json::Value model_data(const TokenizerSpec& spec) {
    json::Value::List vocabulary;
    for (const ScoredPiece& piece : spec.pieces) {
        if (!std::isfinite(piece.score)) {
            throw InputError("the tokenizer has a piece without a score");
        }
        vocabulary.emplace_back(json::Value::List{piece.text, piece.score});
    }
    json::Value data = typed("Unigram");
    data.set("unk_id", spec.unknown)
        .set("vocab", std::move(vocabulary))
        .set("byte_fallback", false);
    return data;
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
    json::Value data;
    data.set("version", "1.0")
        .set("truncation", nullptr)
        .set("padding", nullptr)
        .set("added_tokens", added_tokens(spec))
        .set("normalizer", normaliser(spec))
        .set("pre_tokenizer", divisions(spec))
        .set("post_processor", template_data(spec, special))
        .set("decoder", decoder(spec))
        .set("model", model_data(spec));
    return json::write(data) + "\n";
}

std::string write_tokenizer(const SentencePieceModel& model, const formats::RunFile& run) {
    return write_tokenizer(sentencepiece_spec(model, run.special_tokens), run.special_tokens);
}

std::string write_tokenizer_config(const TokenizerSpec& spec, const formats::RunFile& run) {
    const auto* const albert = std::get_if<formats::AlbertSpec>(&run.model);
    return write_tokenizer_config(spec, run.special_tokens,
                                  albert != nullptr ? albert->positions : run.sequence_length);
}

std::string write_tokenizer_config(const TokenizerSpec& spec, const formats::SpecialTokens& special,
                                   std::uint64_t positions) {
    json::Value data;
    for (const auto& [name, id] : special_tokens(special)) data.set(name, piece_at(spec, id));
    data.set("clean_up_tokenization_spaces", false);
    // What SentencePiece's own table does to them is not meant by these two.
    data.set("do_lower_case", has_step<Lowercase>(spec));
    data.set("keep_accents", !has_step<StripAccents>(spec));
    data.set("model_input_names",
             json::Value::List{"input_ids", "token_type_ids", "attention_mask"});
    data.set("model_max_length", positions);
    data.set("tokenizer_class", "PreTrainedTokenizerFast");
    return json::write(data) + "\n";
}

std::string write_tokenizer_config(const SentencePieceModel& model, const formats::RunFile& run) {
    return write_tokenizer_config(sentencepiece_spec(model, run.special_tokens), run);
}

}  // namespace dedloc::huggingface
