// rapidjson reads the text with its iterative parser, so nesting costs no stack. Its handler here,
// StrictDocument, converts numbers itself and checks strings. JsonFields records each name that is
// asked for; finish() compares them with the fields that the object has.
#include "peer/formats/json_fields.hpp"

#include <fmt/format.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

#include "peer/base/bytes.hpp"
#include "peer/base/error.hpp"
#include "peer/base/utf8.hpp"

namespace dedloc::formats {
namespace {

/// Builds a document more strictly than rapidjson. It converts numbers itself, because rapidjson's
/// conversion is undefined for a zero with an exponent ("0e-30") and less exact in its fast mode.
/// It refuses strings that are not UTF-8: rapidjson checks the bytes it reads, but not the result
/// of an escaped lone surrogate ("\udc00").
class StrictDocument : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, StrictDocument> {
  public:
    explicit StrictDocument(rapidjson::Document& document) : document_(document) {}

    /// Why this handler has stopped the reader.
    const char* complaint() const { return complaint_; }

    // rapidjson calls these by their names.
    bool Null() { return document_.Null(); }
    bool Bool(bool value) { return document_.Bool(value); }
    bool RawNumber(const char* text, rapidjson::SizeType length, bool) {
        const char* const end = text + length;
        const bool is_whole =
            std::none_of(text, end, [](char c) { return c == '.' || c == 'e' || c == 'E'; });
        if (is_whole) {
            std::uint64_t positive = 0;
            if (is_converted(text, end, positive)) return document_.Uint64(positive);
            std::int64_t negative = 0;
            if (is_converted(text, end, negative)) return document_.Int64(negative);
        }
        double number = 0;
        if (!is_converted(text, end, number)) return stop("a number is out of range");
        return document_.Double(number);
    }
    bool String(const char* text, rapidjson::SizeType length, bool copy) {
        if (!is_utf8({text, length})) return stop("a string contains half a surrogate pair");
        return document_.String(text, length, copy);
    }
    bool StartObject() { return document_.StartObject(); }
    bool Key(const char* text, rapidjson::SizeType length, bool copy) {
        return String(text, length, copy);
    }
    bool EndObject(rapidjson::SizeType members) { return document_.EndObject(members); }
    bool StartArray() { return document_.StartArray(); }
    bool EndArray(rapidjson::SizeType elements) { return document_.EndArray(elements); }

  private:
    template <class Number>
    static bool is_converted(const char* text, const char* end, Number& out) {
        const auto [rest, error] = std::from_chars(text, end, out);
        return error == std::errc{} && rest == end;
    }

    bool stop(const char* complaint) {
        complaint_ = complaint;
        return false;
    }

    rapidjson::Document& document_;
    const char* complaint_ = "";
};

}  // namespace

rapidjson::Document parse_json(std::string_view what, std::string_view text, std::size_t limit) {
    if (text.size() > limit) {
        throw InputError{
            fmt::format("{} has {} bytes, more than the limit of {}", what, text.size(), limit)};
    }
    constexpr unsigned kFlags = rapidjson::kParseIterativeFlag |
                                rapidjson::kParseValidateEncodingFlag |
                                rapidjson::kParseNumbersAsStringsFlag;
    rapidjson::MemoryStream stream(text.data(), text.size());
    rapidjson::Reader reader;
    rapidjson::ParseResult result;
    rapidjson::Document document;
    StrictDocument handler(document);
    const auto fill = [&](rapidjson::Document&) {
        result = reader.Parse<kFlags>(stream, handler);
        return !result.IsError();
    };
    document.Populate(fill);
    if (result.IsError()) {
        const bool is_stopped = result.Code() == rapidjson::kParseErrorTermination;
        const char* const complaint =
            is_stopped ? handler.complaint() : rapidjson::GetParseError_En(result.Code());
        throw InputError{
            fmt::format("{} is not JSON: {} (byte {})", what, complaint, result.Offset())};
    }
    return document;
}

JsonFields::JsonFields(const rapidjson::Value& value, std::string path, std::string document)
    : value_(value), path_(std::move(path)), document_(std::move(document)) {
    if (!value_.IsObject()) {
        throw InputError{fmt::format("{}: {} must be an object", document_,
                                     path_.empty() ? "the whole" : "field '" + path_ + "'")};
    }
}

std::string JsonFields::path_of(const char* name) const {
    return path_.empty() ? name : path_ + "." + name;
}

void JsonFields::refuse(const char* name, const std::string& sentence) const {
    throw InputError{fmt::format("{}: field '{}' {}", document_, path_of(name), sentence)};
}

const rapidjson::Value& JsonFields::take(const char* name) {
    const auto found = value_.FindMember(name);
    if (found == value_.MemberEnd()) refuse(name, "is missing");
    asked_.emplace_back(name);
    return found->value;
}

std::uint64_t JsonFields::integer(const char* name, std::uint64_t low, std::uint64_t high) {
    const rapidjson::Value& value = take(name);
    if (!value.IsUint64() || value.GetUint64() < low || value.GetUint64() > high) {
        refuse(name, fmt::format("must be a whole number from {} to {}", low, high));
    }
    return value.GetUint64();
}

double JsonFields::number(const char* name, double low, double high) {
    const rapidjson::Value& value = take(name);
    const double x = value.IsNumber() ? value.GetDouble() : std::nan("");
    if (!(x >= low && x <= high)) {
        refuse(name, fmt::format("must be a number from {} to {}", low, high));
    }
    return x;
}

bool JsonFields::boolean(const char* name) {
    const rapidjson::Value& value = take(name);
    if (!value.IsBool()) refuse(name, "must be true or false");
    return value.GetBool();
}

std::string JsonFields::text(const char* name, std::size_t limit) {
    const rapidjson::Value& value = take(name);
    const bool is_text =
        value.IsString() && value.GetStringLength() >= 1 && value.GetStringLength() <= limit;
    if (!is_text) refuse(name, fmt::format("must be a text of 1 to {} bytes", limit));
    std::string text{value.GetString(), value.GetStringLength()};
    const auto is_control = [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    };
    if (std::any_of(text.begin(), text.end(), is_control)) {
        refuse(name, "must not contain control characters");
    }
    return text;
}

void JsonFields::hex(const char* name, std::span<std::byte> out) {
    const rapidjson::Value& value = take(name);
    const bool is_hex = value.IsString() &&
                        from_hex(std::string_view{value.GetString(), value.GetStringLength()}, out);
    if (!is_hex) refuse(name, fmt::format("must be {} hexadecimal digits", out.size() * 2));
}

const rapidjson::Value& JsonFields::array(const char* name, std::size_t min, std::size_t max) {
    const rapidjson::Value& value = take(name);
    if (!value.IsArray() || value.Size() < min || value.Size() > max) {
        refuse(name, fmt::format("must be a list of {} to {} elements", min, max));
    }
    return value;
}

std::vector<JsonFields> JsonFields::objects(const char* name, std::size_t min, std::size_t max) {
    std::vector<JsonFields> all;
    for (const auto& value : array(name, min, max).GetArray()) {
        all.push_back({value, fmt::format("{}[{}]", path_of(name), all.size()), document_});
    }
    return all;
}

JsonFields JsonFields::object(const char* name) {
    return JsonFields{take(name), path_of(name), document_};
}

void JsonFields::finish() const {
    std::vector<std::string_view> seen;
    for (const auto& member : value_.GetObject()) {
        const std::string name{member.name.GetString(), member.name.GetStringLength()};
        if (std::find(asked_.begin(), asked_.end(), name) == asked_.end()) {
            refuse(name.c_str(), "is not known");
        }
        if (std::find(seen.begin(), seen.end(), name) != seen.end()) {
            refuse(name.c_str(), "is given twice");
        }
        seen.emplace_back(member.name.GetString(), member.name.GetStringLength());
    }
}

}  // namespace dedloc::formats
