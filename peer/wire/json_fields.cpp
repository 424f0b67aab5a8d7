#include "peer/wire/json_fields.hpp"

#include <fmt/format.h>
#include <rapidjson/error/en.h>

#include <algorithm>
#include <cmath>

#include "peer/base/bytes.hpp"
#include "peer/base/error.hpp"

namespace dedloc::wire {

rapidjson::Document parse_json(std::string_view what, std::string_view text, std::size_t limit) {
    if (text.size() > limit) {
        throw InputError{
            fmt::format("{} has {} bytes; at most {} are read", what, text.size(), limit)};
    }
    constexpr unsigned kFlags = rapidjson::kParseIterativeFlag |
                                rapidjson::kParseValidateEncodingFlag |
                                rapidjson::kParseFullPrecisionFlag;
    rapidjson::Document document;
    document.Parse<kFlags>(text.data(), text.size());
    if (document.HasParseError()) {
        throw InputError{fmt::format("{} is not JSON: {} (byte {})", what,
                                     rapidjson::GetParseError_En(document.GetParseError()),
                                     document.GetErrorOffset())};
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
        refuse(name, "must not hold control characters");
    }
    return text;
}

void JsonFields::hex(const char* name, std::span<std::byte> out) {
    const rapidjson::Value& value = take(name);
    const bool is_hex = value.IsString() &&
                        from_hex(std::string_view{value.GetString(), value.GetStringLength()}, out);
    if (!is_hex) refuse(name, fmt::format("must be {} hexadecimal digits", out.size() * 2));
}

const rapidjson::Value& JsonFields::array(const char* name, std::size_t least, std::size_t most) {
    const rapidjson::Value& value = take(name);
    if (!value.IsArray() || value.Size() < least || value.Size() > most) {
        refuse(name, fmt::format("must be a list of {} to {} elements", least, most));
    }
    return value;
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

}  // namespace dedloc::wire
