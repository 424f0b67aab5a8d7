// Fields that only matter for decoding, for lengths or for saving are ignored. A field that changes
// ids in a way that is not implemented is refused.
#include "project_server/huggingface/tokenizer_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "peer/base/error.hpp"
#include "peer/base/text.hpp"
#include "peer/formats/json_fields.hpp"

namespace dedloc::huggingface {
namespace {

using formats::JsonFields;
using JsonValue = rapidjson::Value;

constexpr std::size_t kMaxConfigBytes = std::size_t{16} << 20;
constexpr std::size_t kMaxAdded = 65'536;
constexpr std::array<const char*, 7> kSpecialFields{
    "bos_token", "cls_token", "eos_token", "mask_token", "pad_token", "sep_token", "unk_token"};
constexpr std::array<const char*, 2> kFurtherFields{"additional_special_tokens",
                                                    "extra_special_tokens"};

/// A token as a text, or as an object with its properties. One that is not special is looked for in
/// the normalised text unless it says otherwise.
AddedToken read_token(const JsonValue& value, const char* field, bool is_special,
                      const std::string& document) {
    AddedToken token;
    token.is_special = is_special;
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
    token.is_special = flag("special", is_special);
    token.is_normalised = flag("normalized", !token.is_special);
    return token;
}

void read_special_tokens(const JsonValue& whole, const std::string& document,
                         TokenizerConfig& config) {
    for (const char* const field : kSpecialFields) {
        const auto found = whole.FindMember(field);
        if (found == whole.MemberEnd() || found->value.IsNull()) continue;
        config.special_tokens[field] = read_token(found->value, field, true, document);
    }
    for (const char* const field : kFurtherFields) {
        const auto found = whole.FindMember(field);
        if (found == whole.MemberEnd()) continue;
        const auto add = [&](const JsonValue& token) {
            config.further.push_back(read_token(token, field, true, document));
        };
        if (found->value.IsArray()) {
            for (const JsonValue& token : found->value.GetArray()) add(token);
        } else if (found->value.IsObject()) {
            for (const auto& item : found->value.GetObject()) add(item.value);
        } else if (!found->value.IsNull()) {
            JsonFields{whole, "", document}.refuse(field, "must be a list or an object of tokens");
        }
    }
}

/// "added_tokens_decoder": tokens by their ids.
void read_added_tokens(const JsonValue& whole, const std::string& document,
                       TokenizerConfig& config) {
    const auto found = whole.FindMember("added_tokens_decoder");
    if (found == whole.MemberEnd() || found->value.IsNull()) return;
    config.lists_added = true;
    JsonFields fields{whole, "", document};
    if (!found->value.IsObject() || found->value.MemberCount() > kMaxAdded) {
        fields.refuse("added_tokens_decoder", "must be an object of at most 65536 tokens");
    }
    for (const auto& item : found->value.GetObject()) {
        const std::string_view name{item.name.GetString(), item.name.GetStringLength()};
        AddedToken token = read_token(item.value, "added_tokens_decoder", false, document);
        const auto id = parse_number<decltype(token.id)>(name);
        if (!id) {
            fields.refuse("added_tokens_decoder",
                          fmt::format("has the id '{}', which is no number below 65536", name));
        }
        token.id = *id;
        config.added.push_back(std::move(token));
    }
}

/// Refuses files other than the usual ones.
void refuse_other_files(const JsonValue& whole, JsonFields& fields) {
    for (const char* const name : {"vocab_file", "tokenizer_file"}) {
        if (fields.has(name) && !whole[name].IsNull()) {
            fields.refuse(name,
                          "asks for another file, which versions of transformers treat "
                          "differently: remove the field");
        }
    }
    const auto files = whole.FindMember("fast_tokenizer_files");
    if (files == whole.MemberEnd() || files->value.IsNull()) return;
    const bool is_usual = files->value.IsArray() &&
                          std::ranges::all_of(files->value.GetArray(), [](const JsonValue& file) {
                              return file.IsString() && file == "tokenizer.json";
                          });
    if (!is_usual)
        fields.refuse("fast_tokenizer_files", "other than tokenizer.json is not implemented");
}

/// Refuses what would change ids.
void refuse_others(const JsonValue& whole, JsonFields& fields) {
    for (const char* const name : {"split_special_tokens", "from_slow"}) {
        if (fields.has(name) && !whole[name].IsNull() && fields.boolean(name)) {
            fields.refuse(name, "is not implemented");
        }
    }
    for (const auto& item : whole.GetObject()) {
        const std::string_view name{item.name.GetString(), item.name.GetStringLength()};
        if (!name.ends_with("_token") || !(item.value.IsString() || item.value.IsObject()))
            continue;
        if (std::ranges::find(kSpecialFields, name) == kSpecialFields.end()) {
            fields.refuse(item.name.GetString(),
                          "is a special token that only some versions of "
                          "transformers know: not implemented");
        }
    }
    refuse_other_files(whole, fields);
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

std::map<std::string, std::uint64_t> parse_added_tokens(const std::string& document,
                                                        std::string_view json) {
    const auto parsed = formats::parse_json(document, json, kMaxConfigBytes);
    const JsonFields whole{parsed, "", document};  // refuses anything but an object
    std::map<std::string, std::uint64_t> ids;
    for (const auto& item : parsed.GetObject()) {
        const std::string token{item.name.GetString(), item.name.GetStringLength()};
        if (!item.value.IsUint64()) {
            throw InputError(fmt::format("{}: the id of '{}' is no number", document, token));
        }
        ids[token] = item.value.GetUint64();
    }
    return ids;
}

}  // namespace dedloc::huggingface
