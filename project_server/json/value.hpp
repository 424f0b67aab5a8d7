// A JSON value, and the one way to write it.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace dedloc::json {

/// A JSON value. An object keeps the order in which its fields were set.
class Value {
  public:
    /// The elements of an array.
    using List = std::vector<Value>;
    /// The fields of an object, in order.
    using Fields = std::vector<std::pair<std::string, Value>>;
    /// What a value may be. Only an integer that std::int64_t cannot hold is a std::uint64_t.
    using Variant = std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double,
                                 std::string, List, Fields>;

    /// An object without fields.
    Value() : value_(Fields{}) {}
    Value(std::nullptr_t) : value_(nullptr) {}
    Value(bool value) : value_(value) {}
    template <std::integral T>
    Value(T value) : value_(integer(value)) {}
    Value(double value) : value_(value) {}
    Value(std::string value) : value_(std::move(value)) {}
    Value(const char* value) : value_(std::string{value}) {}
    Value(List values) : value_(std::move(values)) {}

    /// Adds a field to an object (DEDLOC_CHECK); names are not repeated.
    Value& set(std::string name, Value value);
    /// A field of an object (DEDLOC_CHECK that both are there).
    const Value& field(std::string_view name) const;
    /// The value itself.
    const Variant& value() const { return value_; }

  private:
    template <class T>
    static Variant integer(T value) {
        if (std::in_range<std::int64_t>(value)) return static_cast<std::int64_t>(value);
        return static_cast<std::uint64_t>(value);
    }

    Variant value_;
};

/// The value as JSON text, in one line. Numbers that are not finite become null.
std::string write(const Value& value);
/// The same in a line for each field and element, each level indented by `indent` blanks.
std::string write_pretty(const Value& value, unsigned indent = 4);

}  // namespace dedloc::json
