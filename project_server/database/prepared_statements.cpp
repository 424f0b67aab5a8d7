#include "project_server/database/prepared_statements.hpp"

#include <algorithm>
#include <string_view>

namespace dedloc::server {
namespace {

constexpr std::size_t kMaxSeen = 1'000;

/// Whether the server can prepare it, whatever its parameters: names of tables and users cannot be
/// parameters, and only statements that begin with other words have such.
bool is_preparable(std::string_view sql) {
    return std::ranges::any_of(
        std::array{"select ", "insert ", "update ", "delete ", "begin not atomic "},
        [&](const std::string_view verb) { return sql.starts_with(verb); });
}

}  // namespace

void PreparedStatements::begin_message() {
    ++message_;
    for (Slot& slot : slots_) {
        if (!slot.is_confirmed) slot = {};
    }
}

std::optional<PreparedStatements::Use> PreparedStatements::use(const std::string& sql) {
    const auto known = std::ranges::find(slots_, sql, &Slot::sql);
    if (known != slots_.end()) {
        known->last_use = message_;
        return Use{.slot = static_cast<std::size_t>(known - slots_.begin()), .is_new = false};
    }
    if (!is_preparable(sql)) return std::nullopt;
    if (seen_.size() >= kMaxSeen) seen_.clear();
    if (seen_.insert(std::hash<std::string>{}(sql)).second) return std::nullopt;
    const auto free = oldest();
    if (!free) return std::nullopt;
    slots_[*free] = {.sql = sql, .last_use = message_};
    return Use{.slot = *free, .is_new = true};
}

void PreparedStatements::confirm(std::size_t slot) {
    slots_[slot].is_confirmed = true;
}

std::optional<std::size_t> PreparedStatements::oldest() const {
    const auto found = std::ranges::min_element(slots_, {}, &Slot::last_use);
    if (found->last_use == message_) return std::nullopt;
    return static_cast<std::size_t>(found - slots_.begin());
}

}  // namespace dedloc::server
