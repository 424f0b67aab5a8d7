// Each kind has a row in a list of names, so that what has none is refused by its name. Sequences
// are flattened, and both their depth and the sum of their steps are limited.
#include "project_server/huggingface/tokenizer_steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "peer/base/bytes.hpp"
#include "peer/base/error.hpp"
#include "peer/base/utf8.hpp"
#include "peer/formats/json_fields.hpp"

namespace dedloc::huggingface {
namespace {

using formats::JsonFields;
using JsonValue = rapidjson::Value;

constexpr std::size_t kMaxSteps = 64;
constexpr unsigned kMaxNesting = 8;
constexpr std::size_t kMaxKind = 64;
constexpr std::uint64_t kMaxLength = std::uint64_t{1} << 32;
constexpr std::string_view kPieceBlank = "\u2581";
constexpr std::string_view kBlanks = " {2,}";

/// A reader of the steps of one part of the file, "normalizer" or another.
class StepReader {
  public:
    StepReader(const std::string& document, const char* part) : document_(document), part_(part) {}

    /// Calls take(object, its kind) for every step that is no sequence.
    template <class Take>
    void each(const JsonValue& value, const char* list, const Take& take, unsigned depth = 0);
    JsonFields fields_of(const JsonValue& value) const { return {value, part_, document_}; }
    [[noreturn]] void refuse(const std::string& what) const {
        throw InputError(fmt::format("{}: {}", document_, what));
    }
    [[noreturn]] void refuse_kind(std::string_view kind) const {
        refuse(fmt::format("the {} '{}' is not implemented", part_, kind));
    }
    /// Any text, also an empty one or one with control characters.
    std::string any_text(JsonFields& fields, const JsonValue& object, const char* name) const {
        const auto found = object.FindMember(name);
        if (found == object.MemberEnd() || !found->value.IsString()) {
            fields.refuse(name, "must be a text");
        }
        return {found->value.GetString(), found->value.GetStringLength()};
    }
    bool flag(JsonFields& fields, const char* name, bool otherwise) const {
        return fields.has(name) ? fields.boolean(name) : otherwise;
    }
    /// The text or the regular expression under "pattern".
    std::pair<std::string, bool> pattern(JsonFields& fields, const JsonValue& value) const;
    Matched matched(JsonFields& fields, Matched otherwise) const;

  private:
    const std::string& document_;
    const char* const part_;
    std::size_t count_ = 0;
};

template <class Take>
void StepReader::each(const JsonValue& value, const char* list, const Take& take, unsigned depth) {
    JsonFields fields = fields_of(value);
    const std::string kind = fields.text("type", kMaxKind);
    if (kind != "Sequence") {
        if (++count_ > kMaxSteps) refuse(fmt::format("the {} has too many steps", part_));
        return take(value, kind);
    }
    if (depth == kMaxNesting) refuse(fmt::format("the {} has sequences in sequences", part_));
    for (const JsonValue& step : fields.array(list, 0, kMaxSteps).GetArray()) {
        each(step, list, take, depth + 1);
    }
}

std::pair<std::string, bool> StepReader::pattern(JsonFields& fields, const JsonValue& value) const {
    const auto found = value.FindMember("pattern");
    if (found == value.MemberEnd()) fields.refuse("pattern", "is missing");
    JsonFields kinds{found->value, "pattern", document_};
    if (kinds.has("String")) {
        std::string text = any_text(kinds, found->value, "String");
        if (text.empty()) kinds.refuse("String", "must not be empty");
        return {std::move(text), false};
    }
    std::string expression = any_text(kinds, found->value, "Regex");
    if (expression.empty() || expression.size() > kMaxRegexBytes) {
        kinds.refuse("Regex", fmt::format("must have from 1 to {} bytes", kMaxRegexBytes));
    }
    return {std::move(expression), true};
}

Matched StepReader::matched(JsonFields& fields, Matched otherwise) const {
    if (!fields.has("behavior")) return otherwise;
    const std::string name = fields.text("behavior", kMaxKind);
    static constexpr std::array<std::pair<std::string_view, Matched>, 5> kNames{
        {{"Removed", Matched::kRemoved},
         {"Isolated", Matched::kIsolated},
         {"Contiguous", Matched::kContiguous},
         {"MergedWithPrevious", Matched::kMergedWithPrevious},
         {"MergedWithNext", Matched::kMergedWithNext}}};
    for (const auto& [known, value] : kNames) {
        if (name == known) return value;
    }
    fields.refuse("behavior", fmt::format("'{}' is not implemented", name));
}

// --- normalizer ---------------------------------------------------------------------------------

NormaliserStep read_replacement(const StepReader& reader, JsonFields& fields,
                                const JsonValue& value) {
    auto [pattern, is_regex] = reader.pattern(fields, value);
    std::string content = reader.any_text(fields, value, "content");
    if (!is_regex) return Replace{.pattern = std::move(pattern), .content = std::move(content)};
    if (pattern == kBlanks) return ReplaceBlanks{.content = std::move(content)};
    return ReplaceRegex{.pattern = std::move(pattern), .content = std::move(content)};
}

NormaliserStep read_step(const StepReader& reader, const JsonValue& value,
                         const std::string& kind) {
    JsonFields fields = reader.fields_of(value);
    using Form = UnicodeForm::Form;
    static constexpr std::array<std::pair<std::string_view, Form>, 4> kForms{
        {{"NFC", Form::kNfc}, {"NFD", Form::kNfd}, {"NFKC", Form::kNfkc}, {"NFKD", Form::kNfkd}}};
    for (const auto& [name, form] : kForms) {
        if (kind == name) return UnicodeForm{form};
    }
    if (kind == "StripAccents") return StripAccents{};
    if (kind == "Lowercase") return Lowercase{};
    if (kind == "Nmt") return Nmt{};
    if (kind == "Replace") return read_replacement(reader, fields, value);
    if (kind == "Prepend") return Prepend{reader.any_text(fields, value, "prepend")};
    if (kind == "Strip") {
        return Strip{.left = fields.boolean("strip_left"), .right = fields.boolean("strip_right")};
    }
    if (kind != "Precompiled") reader.refuse_kind(kind);
    const auto bytes = from_base64(reader.any_text(fields, value, "precompiled_charsmap"));
    if (!bytes) fields.refuse("precompiled_charsmap", "is not base64");
    return Precompiled{*bytes};
}

// --- pre_tokenizer ------------------------------------------------------------------------------

Metaspace read_metaspace(const StepReader& reader, const JsonValue& value) {
    JsonFields fields = reader.fields_of(value);
    if (reader.any_text(fields, value, "replacement") != kPieceBlank) {
        fields.refuse("replacement",
                      fmt::format("other than '{}' is not implemented", kPieceBlank));
    }
    Metaspace step;
    step.splits = reader.flag(fields, "split", true);
    const std::string scheme =
        fields.has("prepend_scheme") ? fields.text("prepend_scheme", kMaxKind) : "always";
    using Prefix = Metaspace::Prefix;
    if (scheme == "first") {
        step.prefix = Prefix::kFirst;
    } else if (scheme == "never") {
        step.prefix = Prefix::kNever;
    } else if (scheme != "always") {
        fields.refuse("prepend_scheme", fmt::format("'{}' is not implemented", scheme));
    }
    if (!reader.flag(fields, "add_prefix_space", true) && step.prefix != Prefix::kNever) {
        fields.refuse("add_prefix_space", "contradicts prepend_scheme");
    }
    return step;
}

Split read_split(const StepReader& reader, const JsonValue& value) {
    JsonFields fields = reader.fields_of(value);
    auto [pattern, is_regex] = reader.pattern(fields, value);
    return {.pattern = std::move(pattern),
            .is_regex = is_regex,
            .matched = reader.matched(fields, Matched::kRemoved),
            .inverts = reader.flag(fields, "invert", false)};
}

void add_division(const StepReader& reader, const JsonValue& value, const std::string& kind,
                  std::vector<Division>& divisions) {
    JsonFields fields = reader.fields_of(value);
    if (kind == "WhitespaceSplit") {
        divisions.emplace_back(WhitespaceSplit{});
    } else if (kind == "Metaspace") {
        divisions.emplace_back(read_metaspace(reader, value));
    } else if (kind == "Digits") {
        divisions.emplace_back(Digits{reader.flag(fields, "individual_digits", false)});
    } else if (kind == "Punctuation") {
        divisions.emplace_back(Punctuation{reader.matched(fields, Matched::kIsolated)});
    } else if (kind == "Whitespace") {
        divisions.emplace_back(Whitespace{});
    } else if (kind == "BertPreTokenizer") {
        divisions.emplace_back(WhitespaceSplit{});
        divisions.emplace_back(Punctuation{});
    } else if (kind == "Split") {
        divisions.emplace_back(read_split(reader, value));
    } else if (kind == "CharDelimiterSplit") {
        std::string delimiter = reader.any_text(fields, value, "delimiter");
        if (delimiter.empty() || utf8_length(delimiter) != delimiter.size()) {
            fields.refuse("delimiter", "must be one character");
        }
        divisions.emplace_back(Split{.pattern = std::move(delimiter)});
    } else if (kind == "FixedLength") {
        divisions.emplace_back(FixedLength{fields.integer("length", 1, kMaxLength)});
    } else {
        reader.refuse_kind(kind);
    }
}

// --- post_processor -----------------------------------------------------------------------------

/// A template: the special tokens' names and the sequences, with their types, as one text.
std::string form_of(StepReader& reader, JsonFields& fields, const char* name,
                    std::vector<std::string>& tokens) {
    std::string form;
    for (const JsonValue& item : fields.array(name, 0, kMaxSteps).GetArray()) {
        if (!item.IsObject() || item.MemberCount() != 1) fields.refuse(name, "is damaged");
        const auto& member = *item.MemberBegin();
        const std::string kind{member.name.GetString(), member.name.GetStringLength()};
        JsonFields named = reader.fields_of(member.value);
        const std::string id = reader.any_text(named, member.value, "id");
        if (kind == "SpecialToken") {
            tokens.push_back(id);
        } else if (kind != "Sequence" || (id != "A" && id != "B")) {
            fields.refuse(name, "has something else than special tokens and the texts A and B");
        }
        form += fmt::format("{}{} ", kind == "Sequence" ? id : "*",
                            named.integer("type_id", 0, kMaxLength));
    }
    return form;
}

std::uint16_t id_of(StepReader& reader, const JsonValue& value, const std::string& token,
                    std::size_t vocabulary) {
    JsonFields fields = reader.fields_of(value);
    JsonFields tokens = fields.object("special_tokens");
    const JsonValue& all = value["special_tokens"];
    const auto found = all.FindMember(JsonValue{token.data(),  // not copied
                                                static_cast<rapidjson::SizeType>(token.size())});
    if (found == all.MemberEnd()) tokens.refuse("special_tokens", "lacks a token of the template");
    JsonFields described = reader.fields_of(found->value);
    const auto& ids = described.array("ids", 1, 1);
    if (!ids[0].IsUint64() || ids[0].GetUint64() >= vocabulary) {
        described.refuse("ids", "has one that is no piece's");
    }
    return static_cast<std::uint16_t>(ids[0].GetUint64());
}

constexpr const char* kOtherTemplate =
    "a post_processor other than [CLS] A [SEP] and [CLS] A [SEP] B [SEP] is not implemented, as "
    "samples have that form";

Around read_template(StepReader& reader, const JsonValue& value, std::size_t vocabulary) {
    JsonFields fields = reader.fields_of(value);
    std::vector<std::string> tokens;
    if (form_of(reader, fields, "single", tokens) != "*0 A0 *0 ") reader.refuse(kOtherTemplate);
    if (fields.has("pair")) {
        std::vector<std::string> of_pair;
        const std::vector<std::string> wanted{tokens[0], tokens[1], tokens[1]};
        if (form_of(reader, fields, "pair", of_pair) != "*0 A0 *0 B1 *1 " || of_pair != wanted) {
            reader.refuse(kOtherTemplate);
        }
    }
    return {.before = id_of(reader, value, tokens[0], vocabulary),
            .after = id_of(reader, value, tokens[1], vocabulary)};
}

/// "BertProcessing": ["[SEP]", 3] and ["[CLS]", 2].
std::uint16_t read_pair(StepReader& reader, const JsonValue& value, const char* name,
                        std::size_t vocabulary) {
    JsonFields fields = reader.fields_of(value);
    const auto& pair = fields.array(name, 2, 2);
    if (!pair[1].IsUint64() || pair[1].GetUint64() >= vocabulary) {
        fields.refuse(name, "must be a token and its id");
    }
    return static_cast<std::uint16_t>(pair[1].GetUint64());
}

}  // namespace

std::vector<NormaliserStep> read_normaliser_steps(const std::string& document,
                                                  const JsonValue& value) {
    std::vector<NormaliserStep> steps;
    if (value.IsNull()) return steps;
    StepReader reader{document, "normalizer"};
    reader.each(value, "normalizers", [&](const JsonValue& step, const std::string& kind) {
        steps.push_back(read_step(reader, step, kind));
    });
    return steps;
}

std::vector<Division> read_divisions(const std::string& document, const JsonValue& value) {
    StepReader reader{document, "pre_tokenizer"};
    if (value.IsNull()) reader.refuse("a tokenizer without a pre_tokenizer is not implemented");
    std::vector<Division> divisions;
    reader.each(value, "pretokenizers", [&](const JsonValue& step, const std::string& kind) {
        add_division(reader, step, kind, divisions);
    });
    if (divisions.empty()) reader.refuse("a pre_tokenizer without steps is not implemented");
    return divisions;
}

std::optional<Around> read_around(const std::string& document, const JsonValue& value,
                                  std::size_t vocabulary) {
    if (value.IsNull()) return std::nullopt;
    StepReader reader{document, "post_processor"};
    std::optional<Around> around;
    reader.each(value, "processors", [&](const JsonValue& step, const std::string& kind) {
        if (around) reader.refuse(kOtherTemplate);
        if (kind == "BertProcessing") {
            around = Around{.before = read_pair(reader, step, "cls", vocabulary),
                            .after = read_pair(reader, step, "sep", vocabulary)};
        } else if (kind == "TemplateProcessing") {
            around = read_template(reader, step, vocabulary);
        } else {
            reader.refuse_kind(kind);
        }
    });
    return around;
}

}  // namespace dedloc::huggingface
