// Every object is read field by field, and a field that nothing asks for is refused: it could
// change the ids.
#include "project_server/huggingface/tokenizer_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <utility>

#include "peer/base/bytes.hpp"
#include "peer/base/error.hpp"
#include "peer/formats/json_fields.hpp"

namespace dedloc::huggingface {
namespace {

using formats::JsonFields;
using JsonValue = rapidjson::Value;

constexpr std::size_t kMaxVocabulary = 65'536;
constexpr std::size_t kMaxAddedTokens = 65'536;
constexpr std::size_t kMaxSteps = 64;
constexpr std::size_t kMaxType = 64;
constexpr std::string_view kPieceBlank = "\u2581";
constexpr std::string_view kBlanks = " {2,}";

std::string text_of(const JsonValue& value) {
    return {value.GetString(), value.GetStringLength()};
}

/// A reader of one part of the file.
class Reader {
  public:
    explicit Reader(std::string document) : document_(std::move(document)) {}

    TokenizerSpec read(const JsonValue& whole);

  private:
    [[noreturn]] void refuse(const std::string& what) const {
        throw InputError(fmt::format("{}: {}", document_, what));
    }
    /// Any text, also an empty one or one with control characters.
    std::string any_text(JsonFields& fields, const JsonValue& object, const char* name) const;
    bool flag(JsonFields& fields, const char* name, bool otherwise) const {
        return fields.has(name) ? fields.boolean(name) : otherwise;
    }
    void add_steps(const JsonValue& value, TokenizerSpec& spec) const;
    NormaliserStep read_step(const JsonValue& value) const;
    NormaliserStep read_replacement(JsonFields& fields, const JsonValue& value) const;
    std::string read_charsmap(JsonFields& fields, const JsonValue& value) const;
    void add_divisions(const JsonValue& value, TokenizerSpec& spec) const;
    Metaspace read_metaspace(JsonFields& fields, const JsonValue& value) const;
    void check_template(const JsonValue& value) const;
    void read_model(const JsonValue& value, TokenizerSpec& spec) const;
    void read_added(const JsonValue& list, TokenizerSpec& spec) const;

    const std::string document_;
};

std::string Reader::any_text(JsonFields& fields, const JsonValue& object, const char* name) const {
    const auto found = object.FindMember(name);
    if (found == object.MemberEnd() || !found->value.IsString()) {
        fields.refuse(name, "must be a text");
    }
    return text_of(found->value);
}

std::string Reader::read_charsmap(JsonFields& fields, const JsonValue& value) const {
    const auto bytes = from_base64(any_text(fields, value, "precompiled_charsmap"));
    if (!bytes) fields.refuse("precompiled_charsmap", "is not base64");
    return *bytes;
}

NormaliserStep Reader::read_replacement(JsonFields& fields, const JsonValue& value) const {
    const JsonValue& pattern = value.HasMember("pattern") ? value["pattern"] : value;
    JsonFields kinds{pattern, "normalizer.pattern", document_};
    std::string content = any_text(fields, value, "content");
    if (kinds.has("String")) {
        std::string text = any_text(kinds, pattern, "String");
        if (text.empty()) kinds.refuse("String", "must not be empty");
        return Replace{.pattern = std::move(text), .content = std::move(content)};
    }
    const std::string expression = any_text(kinds, pattern, "Regex");
    if (expression != kBlanks) {
        refuse(
            fmt::format("the normalizer 'Replace' with the regular expression '{}' is not "
                        "implemented, only '{}'",
                        expression, kBlanks));
    }
    return ReplaceBlanks{.content = std::move(content)};
}

NormaliserStep Reader::read_step(const JsonValue& value) const {
    JsonFields fields{value, "normalizer", document_};
    const std::string type = fields.text("type", kMaxType);
    using Form = UnicodeForm::Form;
    static constexpr std::array<std::pair<std::string_view, Form>, 4> kForms{
        {{"NFC", Form::kNfc}, {"NFD", Form::kNfd}, {"NFKC", Form::kNfkc}, {"NFKD", Form::kNfkd}}};
    for (const auto& [name, form] : kForms) {
        if (type == name) return UnicodeForm{form};
    }
    if (type == "StripAccents") return StripAccents{};
    if (type == "Lowercase") return Lowercase{};
    if (type == "Replace") return read_replacement(fields, value);
    if (type == "Precompiled") return Precompiled{read_charsmap(fields, value)};
    if (type == "Strip") {
        return Strip{.left = fields.boolean("strip_left"), .right = fields.boolean("strip_right")};
    }
    refuse(fmt::format("the normalizer '{}' is not implemented", type));
}

void Reader::add_steps(const JsonValue& value, TokenizerSpec& spec) const {
    if (value.IsNull()) return;
    JsonFields fields{value, "normalizer", document_};
    if (fields.text("type", kMaxType) != "Sequence") {
        spec.normaliser.push_back(read_step(value));
        return;
    }
    for (const JsonValue& step : fields.array("normalizers", 0, kMaxSteps).GetArray()) {
        spec.normaliser.push_back(read_step(step));
    }
}

Metaspace Reader::read_metaspace(JsonFields& fields, const JsonValue& value) const {
    if (any_text(fields, value, "replacement") != kPieceBlank) {
        fields.refuse("replacement",
                      fmt::format("other than '{}' is not implemented", kPieceBlank));
    }
    Metaspace step;
    step.splits = flag(fields, "split", true);
    const std::string scheme =
        fields.has("prepend_scheme") ? fields.text("prepend_scheme", kMaxType) : "always";
    using Prefix = Metaspace::Prefix;
    if (scheme == "first") {
        step.prefix = Prefix::kFirst;
    } else if (scheme == "never") {
        step.prefix = Prefix::kNever;
    } else if (scheme != "always") {
        fields.refuse("prepend_scheme", fmt::format("'{}' is not implemented", scheme));
    }
    if (!flag(fields, "add_prefix_space", true) && step.prefix != Prefix::kNever) {
        fields.refuse("add_prefix_space", "contradicts prepend_scheme");
    }
    return step;
}

void Reader::add_divisions(const JsonValue& value, TokenizerSpec& spec) const {
    if (value.IsNull()) refuse("a tokenizer without a pre_tokenizer is not implemented");
    const auto add = [&](const JsonValue& step) {
        JsonFields fields{step, "pre_tokenizer", document_};
        const std::string type = fields.text("type", kMaxType);
        if (type == "WhitespaceSplit") {
            spec.divisions.emplace_back(WhitespaceSplit{});
        } else if (type == "Metaspace") {
            spec.divisions.emplace_back(read_metaspace(fields, step));
        } else {
            refuse(fmt::format("the pre_tokenizer '{}' is not implemented", type));
        }
    };
    JsonFields fields{value, "pre_tokenizer", document_};
    if (fields.text("type", kMaxType) != "Sequence") return add(value);
    for (const JsonValue& step : fields.array("pretokenizers", 1, kMaxSteps).GetArray()) add(step);
}

/// Samples are built as [CLS] A [SEP] B [SEP], so another template would be ignored.
void Reader::check_template(const JsonValue& value) const {
    if (value.IsNull()) return;
    JsonFields fields{value, "post_processor", document_};
    const std::string type = fields.text("type", kMaxType);
    if (type == "BertProcessing") return;
    if (type != "TemplateProcessing") {
        refuse(fmt::format("the post_processor '{}' is not implemented", type));
    }
    const auto& single = fields.array("single", 0, kMaxSteps);
    const auto is = [&](rapidjson::SizeType i, const char* kind) {
        return i < single.Size() && single[i].IsObject() && single[i].HasMember(kind);
    };
    if (single.Size() != 3 || !is(0, "SpecialToken") || !is(1, "Sequence") ||
        !is(2, "SpecialToken")) {
        refuse("a post_processor other than a special token on each side is not implemented");
    }
}

void Reader::read_model(const JsonValue& value, TokenizerSpec& spec) const {
    JsonFields fields{value, "model", document_};
    const std::string type = fields.has("type") ? fields.text("type", kMaxType) : "Unigram";
    if (type != "Unigram") {
        refuse(fmt::format("the model '{}' is not implemented, only Unigram", type));
    }
    if (flag(fields, "byte_fallback", false)) refuse("byte_fallback is not implemented");
    for (const JsonValue& piece : fields.array("vocab", 1, kMaxVocabulary).GetArray()) {
        if (!piece.IsArray() || piece.Size() != 2 || !piece[0].IsString() || !piece[1].IsNumber()) {
            fields.refuse("vocab", "must contain pairs of a text and a score");
        }
        spec.pieces.push_back({.text = text_of(piece[0]), .score = piece[1].GetDouble()});
    }
    spec.unknown = static_cast<std::uint16_t>(fields.integer("unk_id", 0, spec.pieces.size() - 1));
    fields.finish();
}

void Reader::read_added(const JsonValue& list, TokenizerSpec& spec) const {
    std::set<std::string> known;
    for (const JsonValue& value : list.GetArray()) {
        JsonFields fields{value, "added_tokens", document_};
        AddedToken token;
        token.content = any_text(fields, value, "content");
        const auto id = fields.integer("id", 0, ~std::uint32_t{0});
        if (id >= spec.pieces.size() || spec.pieces[id].text != token.content) {
            refuse(
                fmt::format("the added token '{}' has the id {}, which is not its piece of the "
                            "model: tokens beside the model's are not implemented",
                            token.content, id));
        }
        if (!known.insert(token.content).second) {
            refuse(fmt::format("the added token '{}' is there twice", token.content));
        }
        token.id = static_cast<std::uint16_t>(id);
        token.is_single_word = flag(fields, "single_word", false);
        token.takes_space_before = flag(fields, "lstrip", false);
        token.takes_space_after = flag(fields, "rstrip", false);
        token.is_special = flag(fields, "special", false);
        token.is_normalised = flag(fields, "normalized", !token.is_special);
        spec.added.push_back(std::move(token));
    }
    std::ranges::stable_sort(spec.added, {}, &AddedToken::id);
}

TokenizerSpec Reader::read(const JsonValue& whole) {
    JsonFields fields{whole, "", document_};
    static const JsonValue kNull;
    const auto part = [&](const char* name) -> const JsonValue& {
        return fields.has(name) ? whole[name] : kNull;
    };
    static constexpr std::array<std::string_view, 9> kParts{
        "version",       "truncation",     "padding", "added_tokens", "normalizer",
        "pre_tokenizer", "post_processor", "decoder", "model"};
    for (const auto& item : whole.GetObject()) {
        const std::string name = text_of(item.name);
        if (std::ranges::find(kParts, name) == kParts.end()) {
            refuse(fmt::format("the field '{}' is not implemented", name));
        }
    }
    TokenizerSpec spec;
    read_model(part("model"), spec);
    if (!part("added_tokens").IsNull()) {
        read_added(fields.array("added_tokens", 0, kMaxAddedTokens), spec);
    }
    add_steps(part("normalizer"), spec);
    add_divisions(part("pre_tokenizer"), spec);
    check_template(part("post_processor"));
    return spec;
}

}  // namespace

TokenizerSpec parse_tokenizer(const std::string& document, std::string_view json) {
    const auto parsed = formats::parse_json(document, json, kMaxTokenizerJsonBytes);
    return Reader{document}.read(parsed);
}

}  // namespace dedloc::huggingface
