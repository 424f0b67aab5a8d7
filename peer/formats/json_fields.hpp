// Strict reading of a JSON object: the caller asks for every field by name, and finish() refuses
// the object if it has any other field or the same field twice.
#pragma once

#include <rapidjson/document.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dedloc::formats {

/// Parses untrusted text of at most `limit` bytes, without recursion. Errors: InputError that names
/// `what` and the position of the fault.
rapidjson::Document parse_json(std::string_view what, std::string_view text, std::size_t limit);

/// The fields of one object. Every reader throws InputError with the full path of the field if it
/// is missing, has another type or is out of range.
class JsonFields {
  public:
    /// `path` is the path of the object, empty for the root. Every error message begins with
    /// `document`. `value` must outlive this object. Errors: InputError if it is not an object.
    JsonFields(const rapidjson::Value& value, std::string path, std::string document = "run file");

    /// A whole number from `low` to `high`.
    std::uint64_t integer(const char* name, std::uint64_t low, std::uint64_t high);
    /// A number from `low` to `high`.
    double number(const char* name, double low, double high);
    /// true or false.
    bool boolean(const char* name);
    /// A string of 1 to `limit` bytes without control characters.
    std::string text(const char* name, std::size_t limit);
    /// A string of exactly 2 × out.size() hex digits.
    void hex(const char* name, std::span<std::byte> out);
    /// An array of `min` to `max` elements.
    const rapidjson::Value& array(const char* name, std::size_t min, std::size_t max);
    /// An array of `min` to `max` objects, whose own fields the caller reads and finishes.
    std::vector<JsonFields> objects(const char* name, std::size_t min, std::size_t max);
    /// A nested object, whose own fields the caller reads and finishes.
    JsonFields object(const char* name);

    /// Whether the field is present. Does not count as asking for it.
    bool has(const char* name) const { return value_.HasMember(name); }
    /// Refuses the object if it has a field that was not asked for, or a field twice.
    void finish() const;
    /// Throws InputError "<document>: field '<path of name>' <sentence>".
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
