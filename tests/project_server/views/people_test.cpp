#include "peer/base/error.hpp"
#include "project_server/accounts/lookup.hpp"
#include "project_server/accounts/teams.hpp"
#include "project_server/database/revocations.hpp"
#include "project_server/database/suspicions.hpp"
#include "project_server/views/hosts.hpp"
#include "project_server/views/suspicion_list.hpp"
#include "project_server/views/teams.hpp"
#include "project_server/views/users.hpp"
#include "tests/project_server/project_fixture.hpp"

using namespace dedloc;
using namespace dedloc::server;
using Catch::Contains;

namespace {

constexpr std::int64_t kNow = 1'800'000'000;
constexpr formats::UtcSeconds kThen{std::chrono::seconds{kNow}};

/// Two accounts, one of which has two computers, of which one has worked for a run.
struct World {
    TestProject project;

    World() {
        for (const char* const sql : {
                 "insert into user (id, name, email_addr, authenticator, total_credit, "
                 "expavg_credit) values (1, 'Ann <b>', 'ann@x.org', 'a', 10, 1), "
                 "(2, 'Bob', 'bob@x.org', 'b', 20, 2), (3, 'Bob', 'bob2@x.org', 'c', 0, 0)",
                 "insert into host (id, userid, domain_name, external_ip_addr, rpc_time) values "
                 "(11, 1, 'attic', '192.0.2.1', 5), (12, 1, 'cellar', '192.0.2.2', 6), "
                 "(13, 2, 'desk', '192.0.2.1', 7)",
                 "insert into app (id, name) values (7, 'dedloc_train')",
                 "insert into app_version (id, appid, version_num, platformid) values "
                 "(70, 7, 100, 1)",
                 "insert into host_app_version (host_id, app_version_id, max_jobs_per_day, "
                 "n_jobs_today, consecutive_valid) values (11, 70, 5, 2, 9)",
                 "insert into dedloc_run (id, name, run_id, spec, target_batch, steps, "
                 "flops_per_sample, credit_per_sample, created) values "
                 "(3, 'demo', '', '{}', 8, 10, 1e6, 0.5, 0)",
                 "insert into result (id, name, workunitid, server_state, outcome, "
                 "validate_state, hostid, userid, exit_status) values (100, 'r0', 1, 5, 1, 1, 11, "
                 "1, 0), (101, 'r1', 2, 5, 3, 0, 11, 1, 9), (102, 'r2', 3, 4, 0, 0, 12, 1, 0)",
                 "insert into dedloc_ticket (runid, peer_key, resultid, userid, hostid, issued, "
                 "expires) values (3, 'k1', 100, 1, 11, 0, 0), (3, 'k2', 102, 1, 12, 0, 0)",
                 "insert into dedloc_contribution (runid, step, peer_key, samples, loss_sum, "
                 "credit, credit_state) values (3, 1, 'k1', 8, 0, 4, 1), (3, 2, 'k1', 2, 0, 0, "
                 "0), (3, 2, 'k2', 6, 0, 0, 2)",
                 "insert into dedloc_daily_credit values (3, 1, 11, 20000, 1, 7, 0, 3.5, 100, 0)",
                 "insert into dedloc_withheld (runid, peer_key, kind, subject, since, "
                 "contributions, samples, reduced_bytes, noted) values (3, 'k2', 'host', '12', 4, "
                 "1, 6, 40, "
                 "9)",
             }) {
            database().execute(sql);
        }
    }
    Database& database() { return project.database(); }
    static std::string text(const json::Value& data) { return json::write(data); }
};

}  // namespace

TEST_CASE("accounts, computers and teams are found by id, name and e-mail address",
          "[server][integration]") {
    World world;
    Database& database = world.database();
    CHECK(find_user(database, "1") == 1);
    CHECK(find_user(database, "Ann <b>") == 1);
    CHECK(find_user(database, "bob2@x.org") == 3);
    CHECK_THROWS_WITH(find_user(database, "Bob"), Contains("several") && Contains("2, 3"));
    CHECK_THROWS_AS(find_user(database, "4"), InputError);
    CHECK_THROWS_AS(find_user(database, ""), InputError);
    CHECK(find_host(database, "12") == 12);
    CHECK(find_host(database, "attic") == 11);
    CHECK_THROWS_AS(find_host(database, "none"), InputError);
    CHECK(id_in("-4") == 0);
    CHECK(id_in("1234567890123456789") == 0);
}

TEST_CASE("people are found in the tables of an official server, whatever their collation is",
          "[server][integration]") {
    const std::string collation =
        GENERATE("utf8mb4_unicode_ci", "utf8mb4_general_ci", "latin1_swedish_ci");
    INFO(collation);
    World world;
    Database& database = world.database();
    for (const std::string& table : all_tables()) {
        if (table.starts_with("dedloc_")) continue;
        database.execute(fmt::format("alter table {} convert to character set {} collate {}", table,
                                     collation.substr(0, collation.find('_')), collation));
    }
    database.execute(
        "update user set name = 'J\u00F6rg', email_addr = 'j\u00F6rg@x.org' where id = 2");
    revoke(database, {.users = {2}, .hosts = {11}, .peers = {}}, kThen, "floods");
    CHECK_THAT(world.text(user_list(database, {})),
               Contains("ann@x.org") && Contains("j\u00F6rg@x.org"));
    CHECK_THAT(world.text(user_list(database, {.is_banned = true})),
               Contains("J\u00F6rg") && !Contains("Ann"));
    CHECK_THAT(world.text(user_list(database, {.found = "JORG"})), Contains("J\u00F6rg"));
    CHECK_THAT(world.text(host_list(database, {.is_banned = true})), Contains("attic"));
    CHECK_THAT(world.text(host_list(database, {.found = "DES"})), Contains("desk"));
    CHECK_THAT(world.text(user_facts(database, 2)), Contains("\"is_banned\":true"));
    CHECK_THAT(world.text(host_facts(database, 11)), Contains("\"is_banned\":true"));
    CHECK_NOTHROW(team_list(database, {.found = "x"}));
    CHECK_NOTHROW(suspicions(database, {.limit = 9}));
    CHECK(find_user(database, "J\u00F6rg") == 2);
    CHECK(find_user(database, "J\u00F6RG@X.org") == 2);
    for (const char* const other : {"Jorg", "J\u00D6RG", "J\u00F6rg ", "jorg@x.org"}) {
        CHECK_THROWS_WITH(find_user(database, other), Contains("no user"));
    }
    CHECK_THROWS_WITH(find_host(database, "ATTIC"), Contains("no host"));
}

TEST_CASE("what is only alike is never taken for what an administrator names",
          "[server][integration]") {
    const std::string collation =
        GENERATE("utf8mb4_general_ci", "utf8mb4_unicode_ci", "utf8mb4_nopad_bin");
    INFO(collation);
    const bool is_exact = collation == "utf8mb4_nopad_bin";
    World world;
    Database& database = world.database();
    for (const char* const table : {"user", "host", "team"}) {
        database.execute("alter table " + std::string{table} +
                         " convert to character set utf8mb4 collate " + collation);
    }
    database.execute(
        "insert into user (id, name, email_addr, authenticator) values (4, 'Jos\u00E9', "
        "'jos\u00E9@x.org', 'd'), (5, 'eve@x.org', 'other@x.org', 'e'), (6, 'J\u00F3se\u200B', "
        "'Sixth@X.org', 'f'), (7, 'jos\u00E9', 'seventh@x.org', 'g')");
    // A name.
    CHECK(find_user(database, "Jos\u00E9") == 4);
    CHECK(find_user(database, "jos\u00E9") == 7);
    CHECK_THROWS_WITH(find_user(database, "Jose"), Contains("has no user Jose"));
    CHECK_THROWS_AS(find_user(database, "JOS\u00C9"), InputError);
    CHECK_THROWS_AS(find_user(database, "Jos\u00E9 "), InputError);
    CHECK_THROWS_AS(find_user(database, "Jos\u00E9\u200B"), InputError);
    // An address; the name of another account is none, but is mentioned.
    CHECK(find_user(database, "jos\u00E9@x.org") == 4);
    CHECK(find_user(database, " ANN@X.org") == 1);
    CHECK_THROWS_WITH(find_user(database, "jose@x.org"), Contains("has no user jose@x.org"));
    CHECK_THROWS_AS(find_user(database, "ann@x.org\u200B"), InputError);
    CHECK_THROWS_WITH(find_user(database, "eve@x.org"), Contains("5 (eve@x.org)"));
    if (!is_exact) {
        CHECK_THROWS_WITH(find_user(database, "Jose"),
                          Contains("4 (Jos\u00E9)") && Contains("7 (jos\u00E9)"));
        CHECK_THROWS_WITH(find_user(database, "jose@x.org"), Contains("4 (jos\u00E9@x.org)"));
    }
    // Exact ones come first, however many are alike.
    database.execute(
        "insert into user (name, email_addr, authenticator) select 'b\u00F2b', "
        "concat('n', seq), concat('n', seq) from seq_1_to_30");
    database.execute(
        "insert into user (id, name, email_addr, authenticator) values (99, 'bob', "
        "'last@x.org', 'z')");
    CHECK(find_user(database, "bob") == 99);
    database.execute(
        "insert into host (id, userid, domain_name) values (20, 1, 'Attic'), (21, 1, "
        "'\u00E0ttic'), (22, 1, '')");
    CHECK(find_host(database, "attic") == 11);
    CHECK(find_host(database, "Attic") == 20);
    CHECK_THROWS_AS(find_host(database, "ATTIC"), InputError);
    CHECK_THROWS_AS(find_host(database, ""), InputError);
    std::int64_t team = 0;
    REQUIRE_FALSE(create_team(database, 1, {"\u00DCber", "", "", ""}, kNow, team));
    CHECK(find_team(database, "\u00DCBER") == team);
    CHECK(find_team(database, "\u00FCber") == team);
    CHECK_THROWS_AS(find_team(database, "uber"), InputError);
    if (!is_exact) return;
    std::int64_t second = 0;
    REQUIRE_FALSE(create_team(database, 2, {"\u00FCber", "", "", ""}, kNow, second));
    CHECK(find_team(database, "\u00DCber") == team);
    CHECK(find_team(database, "\u00FCber") == second);
    CHECK_THROWS_WITH(find_team(database, "\u00DCBER"), Contains("several teams"));
}

TEST_CASE("a computer is shown with its work, quota, reliability and what is withheld",
          "[server][integration]") {
    World world;
    Database& database = world.database();
    const std::string attic = world.text(host_facts(database, 11));
    CHECK_THAT(attic, Contains(R"("name":"attic","user_id":1,"user":"Ann <b>")"));
    CHECK_THAT(attic, Contains(R"("is_banned":false,"bans":[])"));
    CHECK_THAT(attic, Contains(R"("quota_per_seat":5,"jobs_today":2,"consecutive_valid":9)"));
    CHECK_THAT(attic, Contains(R"("jobs":{"in_progress":0,"succeeded":1,"waiting":0,"failed":1)"));
    CHECK_THAT(attic, Contains(R"("runs":[{"run":"demo","contributions":3,"samples":17,)"
                               R"("reduced_bytes":100,)"
                               R"("credit":7.5,"pending_samples":2,"withheld_samples":0}])"));
    CHECK_THAT(attic, Contains(R"("state":"failed on the computer","exit_status":9)"));
    const std::string cellar = world.text(host_facts(database, 12));
    CHECK_THAT(cellar, Contains(R"("withheld":[{"run":"demo","key":"k2","kind":"host",)"
                                R"("subject":"12","since_at":4,"contributions":1,"samples":6,)"
                                R"("reduced_bytes":40}])"));
}

TEST_CASE("an account is shown with all of its computers, and who shares an address with it",
          "[server][integration]") {
    World world;
    Database& database = world.database();
    revoke(database, {.users = {2}, .hosts = {}, .peers = {}}, kThen, "floods");
    const std::string ann = world.text(user_facts(database, 1));
    CHECK_THAT(ann, Contains(R"("email":"ann@x.org")") && Contains(R"("name":"attic")") &&
                        Contains(R"("name":"cellar")"));
    CHECK_THAT(ann, Contains(R"("pending_samples":2,"withheld_samples":6)"));
    CHECK_THAT(ann, Contains(R"("same_addresses":[{"user_id":2,"user":"Bob","is_banned":true,)"
                             R"("address":"192.0.2.1"}])"));
    const std::string bob = world.text(user_facts(database, 2));
    CHECK_THAT(bob, Contains(R"("is_banned":true,"bans":[{"kind":"user","subject":"2",)"
                             R"("since_at":1800000000,"reason":"floods"}])"));
    CHECK(world.text(user_facts(database, 3)).find("\"hosts\":[]") != std::string::npos);
}

TEST_CASE("lists find names and bans, and name the ban of the account at its computers",
          "[server][integration]") {
    World world;
    Database& database = world.database();
    revoke(database, {.users = {1}, .hosts = {13}, .peers = {}}, kThen);
    CHECK_THAT(world.text(user_list(database, {.is_banned = true})),
               Contains("Ann") && !Contains("Bob"));
    CHECK_THAT(world.text(user_list(database, {.found = "b2@"})),
               Contains("bob2@x.org") && !Contains("Ann"));
    CHECK(world.text(user_list(database, {.found = "%"})) == R"({"users":[]})");
    CHECK_THAT(world.text(host_list(database, {.is_banned = true})),
               Contains("desk") && !Contains("attic"));
    const std::string hosts = world.text(host_list(database, {.user = 1}));
    CHECK_THAT(hosts, Contains("attic") && Contains("cellar") && !Contains("desk") &&
                          !Contains(R"("is_banned":false)"));
}

TEST_CASE("a ban keeps its first time and its reason when it is repeated without one",
          "[server][integration]") {
    World world;
    Database& database = world.database();
    const formats::Revocations host{.users = {}, .hosts = {12}, .peers = {}};
    revoke(database, host, kThen, "over-claims");
    revoke(database, host, kThen + std::chrono::seconds{9});
    CHECK(ban_of(database, 1, 12) ==
          Ban{.kind = "host", .subject = "12", .since = kNow, .reason = "over-claims"});
    revoke(database, host, kThen, "sends nothing");
    CHECK(sentence_of(*ban_of(database, 1, 12)) ==
          "The project has banned this computer, so it gets no tasks: sends nothing");
    CHECK_FALSE(ban_of(database, 1, 11));
    CHECK(forgive(database, host) == 1);
    CHECK(forgive(database, host) == 0);
    CHECK_FALSE(ban_of(database, 1, 12));
}

TEST_CASE("suspicions are counted by kind, and a flood of them pushes out only its own",
          "[server][integration]") {
    World world;
    Database& database = world.database();
    const auto accuse = [&](std::int64_t user, const std::string& what, std::int64_t when) {
        record_suspicion(database,
                         {.run = 3,
                          .user = user,
                          .host = 11,
                          .key = "k1",
                          .what = what,
                          .detail = what + " <now>\n",
                          .step = 4},
                         when);
    };
    accuse(1, "claims # samples", 10);
    accuse(1, "claims # samples", 12);
    accuse(2, "sends nothing", 11);
    const std::string all = world.text(suspicions(database, {.run = 3}));
    CHECK_THAT(all, Contains(R"("user":"Ann <b>","host_id":11,"key":"k1","source":"swarm",)"
                             R"("what":"claims # samples","detail":"claims # samples <now>?",)"
                             R"("step":4,"times":2,"first_at":10,"last_at":12,"evidence":""})"));
    CHECK_THAT(world.text(host_facts(database, 11)), Contains("claims # samples"));
    for (int i = 0; i < kMaxSuspicions + 50; ++i) {
        const auto n = static_cast<std::size_t>(i);
        accuse(1, "fault " + std::string(1 + n % 100, 'x') + std::string(n / 100, 'y'), 100 + i);
    }
    const auto rows = [&](int user) {
        return database
            .query_one("select count(*) as n from dedloc_suspicion where userid = ?", {user})
            ->integer("n");
    };
    CHECK(rows(1) == kMaxSuspicions);
    CHECK(rows(2) == 1);
    record_suspicion(database, {.user = 2, .what = std::string(1'000, '\xFF')}, 1);
    CHECK(rows(2) == 2);
}

TEST_CASE("an administrator renames and closes teams", "[server][integration]") {
    World world;
    Database& database = world.database();
    std::int64_t first = 0;
    std::int64_t second = 0;
    REQUIRE_FALSE(create_team(database, 1, {"Rude <b>", "", "", ""}, kNow, first));
    REQUIRE_FALSE(create_team(database, 2, {"Fine", "", "", ""}, kNow, second));
    CHECK(find_team(database, "rude <b>") == first);
    CHECK(rename_team(database, first, "Fine"));
    CHECK_FALSE(rename_team(database, first, "fine"));
    CHECK_THROWS_WITH(find_team(database, "FINE"), Contains("several teams"));
    CHECK(rename_team(database, first, "  "));
    CHECK_FALSE(rename_team(database, first, "Polite"));
    CHECK_THAT(world.text(team_list(database, {.found = "oli"})),
               Contains(R"("name":"Polite","founder_id":1,"founder":"Ann <b>","members":1)") &&
                   !Contains("Fine"));
    close_team(database, first);
    CHECK_THROWS_AS(find_team(database, "Polite"), InputError);
    CHECK(database.query_one("select group_concat(teamid order by id) as t from user")->text("t") ==
          "0," + std::to_string(second) + ",0");
}

TEST_CASE("the kind of a fault has no numbers and no keys", "[server]") {
    CHECK(kind_of_fault("8f3a01bc claims 1200 samples, but only 12 are possible") ==
          "claims # samples, but only # are possible");
    CHECK(kind_of_fault("") == "");
    CHECK(kind_of_fault("   ").find_first_not_of(' ') == std::string::npos);
}
