// Users change their team through move_user(), which locks the user's row and then counts the
// members of both teams anew from the table user: a number that is counted cannot drift. Names are
// unique by the table's key, and unless_taken() turns its error into a refusal, so two founders at
// once need no lock. The founder's right is a condition of the update itself. close_team() changes
// users before their team, in the order of locks that credit uses.
#include "project_server/accounts/teams.hpp"

#include <optional>

#include "project_server/xml/xml.hpp"

namespace dedloc::server {
namespace {

constexpr std::size_t kMaxName = 100;
constexpr std::size_t kMaxTeamUrl = 200;
constexpr std::size_t kMaxTeamCountry = 60;
constexpr std::size_t kMaxDescription = 4000;
constexpr const char* kTaken = "There is a team with this name already.";

TeamText cleaned(const TeamText& text) {
    return {.name = clean_text(text.name, kMaxName),
            .url = clean_text(text.url, kMaxTeamUrl),
            .country = clean_text(text.country, kMaxTeamCountry),
            .description = clean_text(text.description, kMaxDescription),
            .is_joinable = text.is_joinable};
}

void count_members(Database& database, std::int64_t team) {
    database.execute(
        "update team set nusers = (select count(*) from user where teamid = ?) where id = ?",
        {team, team});
}

/// Moves a user from one team to another; 0: no team. Inside a transaction.
void move_user(Database& database, std::int64_t user, std::int64_t to) {
    const auto row = database.query_one("select teamid from user where id = ? for update", {user});
    if (!row) return;
    database.execute("update user set teamid = ? where id = ?", {to, user});
    for (const std::int64_t team : {row->integer("teamid"), to}) {
        if (team != 0) count_members(database, team);
    }
}

/// Runs `work` and turns a name that is taken into a refusal.
template <class Work>
Refusal unless_taken(const Work& work) {
    try {
        return work();
    } catch (const DatabaseError& failure) {
        if (!failure.is_duplicate()) throw;
        return kTaken;
    }
}

}  // namespace

Refusal create_team(Database& database, std::int64_t user, const TeamText& text, double now,
                    std::int64_t& team) {
    const TeamText clean = cleaned(text);
    if (clean.name.empty()) return "A team needs a name.";
    return unless_taken([&]() -> Refusal {
        team = in_transaction(database, [&] {
            database.execute(
                "insert into team (create_time, userid, name, name_lc, url, country, description, "
                "joinable, expavg_time) values (?, ?, ?, lower(?), ?, ?, ?, ?, ?)",
                {static_cast<std::int64_t>(now), user, clean.name, clean.name, clean.url,
                 clean.country, clean.description, clean.is_joinable ? 1 : 0, now});
            const std::int64_t made = database.insert_id();
            move_user(database, user, made);
            return made;
        });
        return std::nullopt;
    });
}

Refusal edit_team(Database& database, std::int64_t user, std::int64_t team, const TeamText& text) {
    const TeamText clean = cleaned(text);
    if (clean.name.empty()) return "A team needs a name.";
    return unless_taken([&]() -> Refusal {
        const auto count = database.execute(
            "update team set name = ?, name_lc = lower(?), url = ?, country = ?, description = ?, "
            "joinable = ? where id = ? and userid = ?",
            {clean.name, clean.name, clean.url, clean.country, clean.description,
             clean.is_joinable ? 1 : 0, team, user});
        if (count == 0) return "Only the founder of a team may edit it.";
        return std::nullopt;
    });
}

Refusal join_team(Database& database, std::int64_t user, std::int64_t team) {
    return in_transaction(database, [&]() -> Refusal {
        const auto row =
            database.query_one("select joinable, userid from team where id = ?", {team});
        if (!row) return "There is no such team.";
        if (row->integer("joinable") == 0 && row->integer("userid") != user) {
            return "This team takes no new members.";
        }
        move_user(database, user, team);
        return std::nullopt;
    });
}

void leave_team(Database& database, std::int64_t user) {
    in_transaction(database, [&] { move_user(database, user, 0); });
}

Refusal rename_team(Database& database, std::int64_t team, const std::string& name) {
    const std::string clean = clean_text(name, kMaxName);
    if (clean.empty()) return "A team needs a name.";
    return unless_taken([&]() -> Refusal {
        database.execute("update team set name = ?, name_lc = lower(?) where id = ?",
                         {clean, clean, team});
        return std::nullopt;
    });
}

void close_team(Database& database, std::int64_t team) {
    in_transaction(database, [&] {
        // As in every transaction that gives credit, users are locked before their team.
        database.execute("update user set teamid = 0 where teamid = ?", {team});
        database.execute("delete from badge_team where team_id = ?", {team});
        database.execute("delete from credit_team where teamid = ?", {team});
        database.execute("delete from team where id = ?", {team});
    });
}

void hand_teams_on(Database& database, std::int64_t user, std::int64_t team) {
    if (team != 0) count_members(database, team);
    for (const Row& row : database.query("select id from team where userid = ?", {user})) {
        const std::int64_t founded = row.integer("id");
        const auto heir = database.query_one(
            "select id from user where teamid = ? order by total_credit desc, id limit 1",
            {founded});
        if (heir) {
            database.execute("update team set userid = ? where id = ?",
                             {heir->integer("id"), founded});
        } else {
            database.execute("delete from badge_team where team_id = ?", {founded});
            database.execute("delete from team where id = ?", {founded});
        }
    }
}

}  // namespace dedloc::server
