// A column's collation may take different names for the same, so the statement finds those that are
// alike, exact ones first, and only an exact one is taken. The others are named in the message.
#include "project_server/accounts/lookup.hpp"

#include <fmt/format.h>

#include <functional>

#include "peer/base/error.hpp"
#include "peer/base/markup.hpp"
#include "peer/base/text.hpp"
#include "project_server/accounts/stored_account.hpp"

namespace dedloc::server {
namespace {

constexpr std::size_t kMaxDigits = 18;
constexpr int kNamed = 10;                ///< rows that a message lists
constexpr std::size_t kShownBytes = 100;  ///< a message shows so much of a name

/// Rows {id, name} whose column is `who` for the database's collation, exact ones first.
Rows alike(Database& database, const char* table, const char* column, const std::string& who) {
    return database.query(fmt::format("select id, {0} as name from {1} where {0} = ? order by "
                                      "cast({0} as binary) = cast(? as binary) desc, id limit {2}",
                                      column, table, kNamed),
                          {who, who});
}

/// The id if there is one row; nothing if there is none. Several are an error.
std::int64_t only_one(const Rows& rows, const char* what, const std::string& who) {
    if (rows.empty()) return 0;
    if (rows.size() == 1) return rows.front().integer("id");
    std::string ids;
    for (const Row& row : rows) ids += (ids.empty() ? "" : ", ") + row.text("id");
    throw InputError(
        fmt::format("several {}s are called {}: name one by its id, {}", what, who, ids));
}

Rows chosen(const Rows& rows, const std::function<bool(const std::string& name)>& is_chosen) {
    Rows some;
    for (const Row& row : rows) {
        if (is_chosen(row.text("name"))) some.push_back(row);
    }
    return some;
}

[[noreturn]] void fail(const char* what, const std::string& who, const Rows& others) {
    std::string list;
    for (const Row& row : others) {
        list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", row.text("id"),
                            printable_text(row.text("name").substr(0, kShownBytes)));
    }
    throw InputError(fmt::format("the project has no {} {}{}", what, who,
                                 list.empty() ? "" : "; alike are, by id, " + list));
}

/// The only row of `table` whose `column` has the bytes of `who`.
std::int64_t named(Database& database, const char* what, const char* table, const char* column,
                   const std::string& who) {
    if (who.empty()) fail(what, who, {});
    const Rows rows = alike(database, table, column, who);
    const auto exact = chosen(rows, [&](const std::string& name) { return name == who; });
    if (const auto id = only_one(exact, what, who)) return id;
    fail(what, who, rows);
}

/// The row with that id.
std::int64_t numbered(Database& database, const char* what, const char* table,
                      const std::string& who) {
    const auto row =
        database.query_one(fmt::format("select id from {} where id = ?", table), {id_in(who)});
    if (!row) fail(what, who, {});
    return row->integer("id");
}

}  // namespace

std::int64_t id_in(const std::string& who) {
    if (who.size() > kMaxDigits) return 0;
    return std::max<std::int64_t>(parse_number<std::int64_t>(who).value_or(0), 0);
}

std::int64_t find_user(Database& database, const std::string& who) {
    if (id_in(who) != 0) return numbered(database, "user", "user", who);
    if (who.find('@') == std::string::npos) return named(database, "user", "user", "name", who);
    if (const auto account = account_at(database, who)) return account->id;
    Rows others = alike(database, "user", "email_addr", who);
    for (const Row& row : alike(database, "user", "name", who)) others.push_back(row);
    fail("user", who, others);
}

std::int64_t find_host(Database& database, const std::string& who) {
    if (id_in(who) != 0) return numbered(database, "host", "host", who);
    return named(database, "host", "host", "domain_name", who);
}

std::int64_t find_team(Database& database, const std::string& who) {
    if (id_in(who) != 0) return numbered(database, "team", "team", who);
    if (who.empty()) fail("team", who, {});
    // The database lower-cases both, and here they are compared by bytes.
    const Rows rows = database.query(
        fmt::format("select id, name, lower(name) as lower_name, lower(?) as lower_who from team "
                    "where name_lc = lower(?) order by cast(name as binary) = cast(? as binary) "
                    "desc, id limit {}",
                    kNamed),
        {who, who, who});
    Rows same;
    for (const Row& row : rows) {
        if (row.text("name") == who) return row.integer("id");
        if (row.text("lower_name") == row.text("lower_who")) same.push_back(row);
    }
    if (const auto id = only_one(same, "team", who)) return id;
    fail("team", who, rows);
}

}  // namespace dedloc::server
