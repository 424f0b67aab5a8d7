// The model and the added tokens are read field by field, and a field of theirs that nothing asks
// for is refused: it could change the ids.
#include "project_server/huggingface/tokenizer_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/formats/json_fields.hpp"
#include "project_server/huggingface/tokenizer_steps.hpp"

namespace dedloc::huggingface {
namespace {

using formats::JsonFields;
using JsonValue = rapidjson::Value;

constexpr std::size_t kMaxVocabulary = 65'536;
constexpr std::size_t kMaxAddedTokens = 65'536;
constexpr std::size_t kMaxPieceBytes = 4'096;
constexpr std::size_t kMaxType = 64;

std::string text_of(const JsonValue& value) {
    return {value.GetString(), value.GetStringLength()};
}

/// A reader of one part of the file.
class Reader {
  public:
    explicit Reader(std::string document) : document_(std::move(document)) {}

    TokenizerFile read(const JsonValue& whole);

  private:
    [[noreturn]] void refuse(const std::string& what) const {
        throw InputError(fmt::format("{}: {}", document_, what));
    }
    /// Any text, also an empty one or one with control characters.
    std::string any_text(JsonFields& fields, const JsonValue& object, const char* name) const;
    bool flag(JsonFields& fields, const char* name, bool otherwise) const {
        return fields.has(name) ? fields.boolean(name) : otherwise;
    }
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
        if (piece[0].GetStringLength() > kMaxPieceBytes) {
            fields.refuse("vocab",
                          fmt::format("has a piece of more than {} bytes", kMaxPieceBytes));
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

TokenizerFile Reader::read(const JsonValue& whole) {
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
    TokenizerFile file;
    TokenizerSpec& spec = file.spec;
    read_model(part("model"), spec);
    if (!part("added_tokens").IsNull()) {
        read_added(fields.array("added_tokens", 0, kMaxAddedTokens), spec);
    }
    spec.normaliser = read_normaliser_steps(document_, part("normalizer"));
    spec.divisions = read_divisions(document_, part("pre_tokenizer"));
    file.around = read_around(document_, part("post_processor"), spec.pieces.size());
    return file;
}

}  // namespace

TokenizerFile read_tokenizer_file(const std::string& document, std::string_view json) {
    const auto parsed = formats::parse_json(document, json, kMaxTokenizerJsonBytes);
    return Reader{document}.read(parsed);
}

TokenizerSpec parse_tokenizer(const std::string& document, std::string_view json) {
    return read_tokenizer_file(document, json).spec;
}

}  // namespace dedloc::huggingface
