// Fields that only matter for decoding, for lengths or for saving are ignored. A field that changes
// ids in a way that is not implemented is refused.
#include "project_server/huggingface/tokenizer_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "peer/base/error.hpp"
#include "peer/formats/json_fields.hpp"

namespace dedloc::huggingface {
namespace {

using formats::JsonFields;
using Value = rapidjson::Value;

constexpr std::size_t kMaxConfigBytes = std::size_t{16} << 20;
constexpr std::size_t kMaxAdded = 65'536;
constexpr std::array<const char*, 7> kSpecialFields{
    "bos_token", "cls_token", "eos_token", "mask_token", "pad_token", "sep_token", "unk_token"};
constexpr std::array<const char*, 2> kFurtherFields{"additional_special_tokens",
                                                    "extra_special_tokens"};

/// A token as a text, or as an object with its properties.
AddedToken read_token(const Value& value, const char* field, const std::string& document) {
    AddedToken token;
    token.is_special = true;
    if (value.IsString()) {
        token.content = {value.GetString(), value.GetStringLength()};
        // As AlbertTokenizer does with a plain text.
        token.takes_space_before = std::string_view{field} == "mask_token";
        return token;
    }
    JsonFields fields{value, field, document};
    const auto content = value.FindMember("content");
    if (content == value.MemberEnd() || !content->value.IsString()) {
        fields.refuse("content", "must be a text");
    }
    token.content = {content->value.GetString(), content->value.GetStringLength()};
    const auto flag = [&](const char* name, bool otherwise) {
        return fields.has(name) ? fields.boolean(name) : otherwise;
    };
    token.is_single_word = flag("single_word", false);
    token.takes_space_before = flag("lstrip", false);
    token.takes_space_after = flag("rstrip", false);
    token.is_normalised = flag("normalized", false);
    token.is_special = flag("special", true);
    return token;
}

void read_special_tokens(const Value& whole, const std::string& document, TokenizerConfig& config) {
    for (const char* const field : kSpecialFields) {
        const auto found = whole.FindMember(field);
        if (found == whole.MemberEnd() || found->value.IsNull()) continue;
        config.special_tokens[field] = read_token(found->value, field, document);
    }
    for (const char* const field : kFurtherFields) {
        const auto found = whole.FindMember(field);
        if (found == whole.MemberEnd() || !found->value.IsArray()) continue;
        for (const Value& token : found->value.GetArray()) {
            config.further.push_back(read_token(token, field, document));
        }
    }
}

/// "added_tokens_decoder": tokens by their ids.
void read_added_tokens(const Value& whole, const std::string& document, TokenizerConfig& config) {
    const auto found = whole.FindMember("added_tokens_decoder");
    if (found == whole.MemberEnd() || found->value.IsNull()) return;
    JsonFields fields{whole, "", document};
    if (!found->value.IsObject() || found->value.MemberCount() > kMaxAdded) {
        fields.refuse("added_tokens_decoder", "must be an object of at most 65536 tokens");
    }
    for (const auto& item : found->value.GetObject()) {
        const std::string_view name{item.name.GetString(), item.name.GetStringLength()};
        AddedToken token = read_token(item.value, "added_tokens_decoder", document);
        const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), token.id);
        if (error != std::errc{} || end != name.data() + name.size()) {
            fields.refuse("added_tokens_decoder",
                          fmt::format("has the id '{}', which is no number below 65536", name));
        }
        config.added.push_back(std::move(token));
    }
}

/// Refuses what would change ids.
void refuse_others(const Value& whole, JsonFields& fields) {
    const auto is_true = [&](const char* name) { return fields.has(name) && fields.boolean(name); };
    if (is_true("split_special_tokens")) {
        fields.refuse("split_special_tokens", "is not implemented");
    }
    if (const auto found = whole.FindMember("sp_model_kwargs");
        found != whole.MemberEnd() && found->value.IsObject() && !found->value.ObjectEmpty()) {
        fields.refuse("sp_model_kwargs", "other than {} is not implemented");
    }
    if (const auto found = whole.FindMember("auto_map");
        found != whole.MemberEnd() && !found->value.IsNull()) {
        fields.refuse("auto_map", "asks for a program of the model's own, which is not run");
    }
}

}  // namespace

TokenizerConfig parse_tokenizer_config(const std::string& document, std::string_view json) {
    const auto parsed = formats::parse_json(document, json, kMaxConfigBytes);
    JsonFields fields{parsed, "", document};
    TokenizerConfig config;
    const auto is_set = [&](const char* name) {
        return fields.has(name) && !parsed[name].IsNull();
    };
    if (is_set("tokenizer_class")) config.tokenizer_class = fields.text("tokenizer_class", 254);
    if (is_set("do_lower_case")) config.lower_case = fields.boolean("do_lower_case");
    if (is_set("keep_accents")) config.keep_accents = fields.boolean("keep_accents");
    if (is_set("add_prefix_space")) config.adds_prefix = fields.boolean("add_prefix_space");
    refuse_others(parsed, fields);
    read_special_tokens(parsed, document, config);
    read_added_tokens(parsed, document, config);
    return config;
}

void parse_special_tokens_map(const std::string& document, std::string_view json,
                              TokenizerConfig& config) {
    const auto parsed = formats::parse_json(document, json, kMaxConfigBytes);
    const JsonFields whole{parsed, "", document};  // refuses anything but an object
    read_special_tokens(parsed, document, config);
}

}  // namespace dedloc::huggingface
