#include "project_server/admin/lookup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "peer/base/error.hpp"
#include "project_server/database/text_columns.hpp"

namespace dedloc::admin {
namespace {

constexpr std::size_t kMaxDigits = 18;
constexpr int kNamed = 10;  ///< ids that a message lists

/// The only row of `table` whose `column` is `who`. Messages name the kind of thing by the table.
std::int64_t only_id(server::Database& database, const char* table, const char* column,
                     const std::string& who) {
    const auto rows = database.query(fmt::format("select id from {} where {} order by id limit {}",
                                                 table, server::same_text(column), kNamed),
                                     {who, who});
    if (rows.empty()) throw InputError(fmt::format("the project has no {} {}", table, who));
    if (rows.size() == 1) return rows.front().integer("id");
    std::string ids;
    for (const server::Row& row : rows) ids += (ids.empty() ? "" : ", ") + row.text("id");
    throw InputError(
        fmt::format("several {}s are called {}: name one by its id, {}", table, who, ids));
}

/// As addresses are stored.
std::string in_lower_case(std::string address) {
    std::ranges::transform(address, address.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return address;
}

}  // namespace

std::int64_t id_in(const std::string& who) {
    std::int64_t id = 0;
    const auto end = who.data() + who.size();
    const bool is_number = !who.empty() && who.size() <= kMaxDigits &&
                           std::from_chars(who.data(), end, id).ptr == end && id > 0;
    return is_number && who.front() != '-' ? id : 0;
}

std::int64_t user_id(server::Database& database, const std::string& who) {
    if (id_in(who) != 0) return only_id(database, "user", "id", who);
    if (who.find('@') == std::string::npos) return only_id(database, "user", "name", who);
    return only_id(database, "user", "email_addr", in_lower_case(who));
}

std::int64_t host_id(server::Database& database, const std::string& who) {
    return only_id(database, "host", id_in(who) != 0 ? "id" : "domain_name", who);
}

std::int64_t team_id(server::Database& database, const std::string& who) {
    if (id_in(who) != 0) return only_id(database, "team", "id", who);
    return only_id(database, "team", "name_lc",
                   database.query_one("select lower(?) as name", {who})->text("name"));
}

}  // namespace dedloc::admin
