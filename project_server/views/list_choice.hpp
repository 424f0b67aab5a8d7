// The users, computers or teams that a list shows, and their order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace dedloc::server {

/// The order of a list; rows that are equal in it are ordered by their ids.
enum class ListOrder : std::uint8_t {
    kCredit,        ///< most credit first
    kRecentCredit,  ///< most recent average credit first
    kLastContact,   ///< the last contact first; computers only
};

/// A part of the users, computers or teams. A field that does not concern them means nothing.
struct ListChoice {
    bool is_banned = false;            ///< only those that are banned themselves
    std::string found{};               ///< only those whose name, or e-mail address, has this text
    std::int64_t user = 0;             ///< computers: only those of this account; 0: all
    int limit = 100;                   ///< the most rows
    int offset = 0;                    ///< the first so many are left out
    ListOrder order{};                 ///< the order of the rows
    std::optional<std::int64_t> id{};  ///< only the one with this id
    std::int64_t team = 0;             ///< users: only the members of this team; 0: all
    std::int64_t viewer = 0;           ///< computers: the account that sees its own, too
    bool for_administrator = false;    ///< reads also facts that visitors must not see
};

}  // namespace dedloc::server
