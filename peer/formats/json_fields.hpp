// Strict reading of one JSON object: every field must be asked for by name, once, and no other may
// be there.
#pragma once

#include <rapidjson/document.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dedloc::formats {

/// Parses text from outside without recursion. Errors: InputError naming `what` and the byte.
rapidjson::Document parse_json(std::string_view what, std::string_view text, std::size_t limit);

/// The fields of one object. Each reader throws InputError naming the full path of the field.
class JsonFields {
  public:
    /// `path` is empty at the root, `document` begins every message. `value` must outlive this.
    JsonFields(const rapidjson::Value& value, std::string path, std::string document = "run file");

    std::uint64_t integer(const char* name, std::uint64_t low, std::uint64_t high);
    double number(const char* name, double low, double high);
    bool boolean(const char* name);
    /// At most `limit` bytes, at least one, without control characters.
    std::string text(const char* name, std::size_t limit);
    /// Exactly out.size() bytes in hexadecimal.
    void hex(const char* name, std::span<std::byte> out);
    /// An array with at least `least` and at most `most` elements.
    const rapidjson::Value& array(const char* name, std::size_t least, std::size_t most);
    JsonFields object(const char* name);

    bool has(const char* name) const { return value_.HasMember(name); }
    /// Refuses fields that nobody asked for and fields that are there twice.
    void finish() const;
    /// InputError "<document>: field '<path of name>' <sentence>".
    [[noreturn]] void refuse(const char* name, const std::string& sentence) const;

  private:
    const rapidjson::Value& take(const char* name);
    std::string path_of(const char* name) const;

    const rapidjson::Value& value_;
    const std::string path_;
    const std::string document_;
    std::vector<std::string_view> asked_;
};

}  // namespace dedloc::formats
