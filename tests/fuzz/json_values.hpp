// What holds for every kind of JSON that a peer reads and writes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "peer/base/check.hpp"
#include "peer/base/error.hpp"

namespace dedloc::fuzz {

template <class Value>
std::optional<Value> parsed(std::string_view json, Value (*parse)(std::string_view)) {
    try {
        return parse(json);
    } catch (const InputError&) {
        return std::nullopt;
    }
}

/// The value, if the text is one, after it was written and read again.
template <class Value, class Argument>
std::optional<Value> checked(std::string_view json, Value (*parse)(std::string_view),
                             std::string (*write)(Argument)) {
    const auto value = parsed(json, parse);
    if (value) {
        DEDLOC_CHECK(parsed(write(*value), parse) == value, "a value survives its JSON");
    }
    return value;
}

}  // namespace dedloc::fuzz
