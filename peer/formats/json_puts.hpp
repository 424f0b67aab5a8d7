// Writes one field of an object with a writer of RapidJSON: its name, then its value.
#pragma once

#include <cstdint>
#include <ranges>
#include <string_view>
#include <type_traits>

namespace dedloc::formats {

/// A flag, a whole number, a number, a text, or a list of whole numbers or numbers.
template <class Writer, class Value>
void put(Writer& out, const char* name, const Value& value) {
    out.Key(name);
    if constexpr (std::is_same_v<Value, bool>) {
        out.Bool(value);
    } else if constexpr (std::is_integral_v<Value>) {
        out.Uint64(std::uint64_t{value});
    } else if constexpr (std::is_floating_point_v<Value>) {
        out.Double(value);
    } else if constexpr (std::is_convertible_v<const Value&, std::string_view>) {
        const std::string_view text = value;
        out.String(text.data(), static_cast<unsigned>(text.size()));
    } else {
        out.StartArray();
        for (const auto element : value) {
            if constexpr (std::is_floating_point_v<std::ranges::range_value_t<Value>>) {
                out.Double(element);
            } else {
                out.Uint64(element);
            }
        }
        out.EndArray();
    }
}

}  // namespace dedloc::formats
