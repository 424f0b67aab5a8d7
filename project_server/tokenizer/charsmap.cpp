// The trie is one of Darts: the children of a unit are at its offset XOR their byte, and a child
// repeats that byte as its label. A unit with a leaf has its value at its own offset.
#include "project_server/tokenizer/charsmap.hpp"

#include <cstring>

#include "peer/base/error.hpp"

namespace dedloc::tokenizer {
namespace {

bool has_leaf(std::uint32_t unit) {
    return (unit >> 8 & 1) == 1;
}
std::uint32_t value_of(std::uint32_t unit) {
    return unit & 0x7fff'ffffU;
}
std::uint32_t label_of(std::uint32_t unit) {
    return unit & (1U << 31 | 0xffU);
}
std::uint32_t offset_of(std::uint32_t unit) {
    return unit >> 10 << ((unit & 1U << 9) >> 6);
}

}  // namespace

Charsmap::Charsmap(const std::string& table) {
    std::uint32_t bytes = 0;
    if (table.size() >= sizeof(bytes)) std::memcpy(&bytes, table.data(), sizeof(bytes));
    if (bytes == 0 || bytes % sizeof(std::uint32_t) != 0 || bytes > table.size() - sizeof(bytes)) {
        throw InputError("the normaliser's table of characters is damaged");
    }
    units_.resize(bytes / sizeof(std::uint32_t));
    std::memcpy(units_.data(), table.data() + sizeof(bytes), bytes);
    replacements_ = table.substr(sizeof(bytes) + bytes);
}

std::optional<std::string_view> Charsmap::find(std::string_view chunk) const {
    std::size_t at = offset_of(units_[0]);
    for (const char c : chunk) {
        const auto byte = static_cast<unsigned char>(c);
        at ^= byte;
        if (byte == 0 || at >= units_.size() || label_of(units_[at]) != byte) return std::nullopt;
        const std::uint32_t unit = units_[at];
        at ^= offset_of(unit);
        if (!has_leaf(unit)) continue;
        if (at >= units_.size() || value_of(units_[at]) > replacements_.size()) return std::nullopt;
        const std::string_view rest = std::string_view{replacements_}.substr(value_of(units_[at]));
        return rest.substr(0, rest.find('\0'));
    }
    return std::nullopt;
}

}  // namespace dedloc::tokenizer
