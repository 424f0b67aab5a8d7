// The content of a page: one value that becomes both the page's JSON and the data of its template,
// so that neither shows what the other does not.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace dedloc::server {

/// A JSON value. An object keeps the order in which its fields were set.
class PageData {
  public:
    using List = std::vector<PageData>;
    using Fields = std::vector<std::pair<std::string, PageData>>;
    using Value = std::variant<bool, std::int64_t, double, std::string, List, Fields>;

    /// An object without fields.
    PageData() : value_(Fields{}) {}
    PageData(bool value) : value_(value) {}
    template <std::integral T>
    PageData(T value) : value_(static_cast<std::int64_t>(value)) {}
    PageData(double value) : value_(value) {}
    PageData(std::string value) : value_(std::move(value)) {}
    PageData(const char* value) : value_(std::string{value}) {}
    PageData(List values) : value_(std::move(values)) {}

    /// Adds a field to an object (DEDLOC_CHECK); names are not repeated.
    PageData& set(std::string name, PageData value);
    /// A field of an object (DEDLOC_CHECK that both are there).
    const PageData& field(std::string_view name) const;
    /// The value itself.
    const Value& value() const { return value_; }

  private:
    Value value_;
};

/// The value as JSON text. Numbers that are not finite become null.
std::string json_of(const PageData& data);

/// `url` if it is an http or https address without blanks or quotes, else "". A link to anything
/// else, for example javascript:, would run in the visitor's session.
std::string safe_link(std::string_view url);

}  // namespace dedloc::server
