// Bans in the tables of an official BOINC server, whose scheduler knows only blacklisted computers.
#include <boinc_db_types.h>

#include "project_server/database/host_blacklist.hpp"
#include "project_server/database/revocations.hpp"
#include "project_server/official/install.hpp"
#include "project_server/official/remove.hpp"
#include "tests/project_server/official/official_project.hpp"

using namespace dedloc;
using formats::Revocations;

namespace {

/// Accounts 1 (computers 11, 12) and 2 (computer 21); the administrator has blacklisted 12, and 11
/// has a quota of its own.
class Banning : public tests::OfficialProject {
  public:
    Banning() {
        official::install({.project = root(), .programs = programs()},
                          [](const auto&, const auto&) {});
        database().execute(
            "insert into user (id, name, email_addr, authenticator) values "
            "(1, 'a', 'a@x', 'a'), (2, 'b', 'b@x', 'b')");
        database().execute(
            "insert into host (id, userid, max_results_day) values (11, 1, 40), "
            "(12, 1, -1), (21, 2, 0)");
    }
    void ban(const Revocations& revocations) {
        server::revoke(database(), revocations, formats::UtcSeconds{std::chrono::seconds{1}});
    }
    void unban(const Revocations& revocations) {
        CHECK(server::forgive(database(), revocations) == 1);
    }
    /// max_results_day of all computers, by id.
    std::string rows() {
        return database()
            .query_one("select group_concat(max_results_day order by id) as x from host")
            ->text("x");
    }
    std::uint64_t follow() { return server::blacklist_banned_hosts(database()); }
};

const Revocations kUser{.as_of = {}, .users = {1}, .hosts = {}, .peers = {}};
const Revocations kHost{.as_of = {}, .users = {}, .hosts = {11}, .peers = {}};

}  // namespace

TEST_CASE("a banned computer is blacklisted, and gets its former value back",
          "[server][official]") {
    Banning world;
    CHECK(world.follow() == 0);
    world.ban(kHost);
    CHECK(world.follow() == 1);
    CHECK(world.rows() == "-1,-1,0");
    CHECK(world.follow() == 0);
    // What another program writes is undone, and given back later.
    world.database().execute("update host set max_results_day = 7 where id = 11");
    CHECK(world.follow() == 1);
    CHECK(world.rows() == "-1,-1,0");
    world.unban(kHost);
    CHECK(world.follow() == 1);
    CHECK(world.rows() == "7,-1,0");
}

TEST_CASE("a ban of an account covers its computers, also new ones, and ends with the last ban",
          "[server][official]") {
    Banning world;
    world.ban(kUser);
    CHECK(world.follow() == 1);
    world.database().execute("insert into host (id, userid, max_results_day) values (13, 1, 5)");
    CHECK(world.follow() == 1);
    CHECK(world.rows() == "-1,-1,-1,0");
    world.ban(kHost);
    world.unban(kUser);
    CHECK(world.follow() == 1);
    CHECK(world.rows() == "-1,-1,5,0");
    world.unban(kHost);
    CHECK(world.follow() == 1);
    CHECK(world.rows() == "40,-1,5,0");
    CHECK(world.follow() == 0);
}

TEST_CASE("a computer that is merged away or deleted leaves nothing behind", "[server][official]") {
    Banning world;
    world.ban(kHost);
    world.follow();
    world.database().execute("delete from host where id = 11");
    world.follow();
    CHECK_FALSE(world.database().query_one("select hostid from dedloc_blacklisted_host"));
}

TEST_CASE("a removal ends what bans have done to BOINC's tables", "[server][official]") {
    Banning world;
    world.ban(kUser);
    world.follow();
    const bool drops = GENERATE(false, true);
    official::remove({.project = world.root(), .drops_data = drops},
                     [](const auto&, const auto&) {});
    CHECK(world.rows() == "40,-1,0");
    official::install({.project = world.root(), .programs = world.programs()},
                      [](const auto&, const auto&) {});
    CHECK(world.follow() == (drops ? 0 : 1));
}

TEST_CASE("looking for bans reads no whole table", "[server][official]") {
    Banning world;
    // Enough rows that an index is better than a scan.
    world.database().execute(
        "insert into host (userid, max_results_day) select 100 + seq, 0 from seq_1_to_2000");
    world.ban(kUser);
    world.ban(kHost);
    for (const char* const join : {"h.id", "h.userid"}) {
        for (const auto& row : world.database().query(
                 std::string{"explain select h.id from dedloc_revocation r join host h on "} +
                 join + " = cast(r.subject as unsigned) where r.kind = 'host'")) {
            if (row.text("table") == "h") CHECK(row.text("type") != "ALL");
        }
    }
}
