// Accounts, sessions, forms and teams, as browsers use them.
#include <atomic>
#include <ctime>
#include <map>
#include <set>
#include <vector>

#include "peer/wire/limits.hpp"
#include "project_server/accounts/account_changes.hpp"
#include "project_server/accounts/account_removal.hpp"
#include "project_server/accounts/accounts.hpp"
#include "project_server/accounts/passwords.hpp"
#include "project_server/accounts/throttle.hpp"
#include "project_server/database/revocations.hpp"
#include "project_server/scheduler/preferences.hpp"
#include "tests/project_server/statement_log.hpp"
#include "tests/project_server/web/browser.hpp"

namespace dedloc::server {
namespace {

using Catch::Contains;
}  // namespace

TEST_CASE("an account of the web page is that of BOINC's clients", "[server][integration]") {
    TestSite site;
    Browser browser{site};
    CHECK(browser.get("/account").status == 303);
    CHECK(register_as(browser, "Ada").status == 303);
    CHECK_THAT(browser.last_cookie_header,
               Contains("HttpOnly") && Contains("SameSite=Lax") && Contains("Path=/"));
    CHECK_THAT(browser.get("/account").body, Contains("ada@example.org") && Contains("Ada"));
    const auto reply =
        look_up_account(account_at(site.database(), "Ada@example.org"),
                        {.email = "Ada@example.org",
                         .password_hash = boinc_password_hash("secret-Ada", "Ada@Example.org"),
                         .name = ""});
    CHECK_THAT(reply.text, Contains("<authenticator>"));
    CHECK(reply.user == 1);
    const auto row = site.database().query_one("select passwd_hash from user");
    CHECK_THAT(row->text("passwd_hash"), Catch::StartsWith("$argon2id$"));
    const auto token = site.database().query_one("select token from token");
    CHECK(token->text("token") != browser.cookie("dedloc_session"));

    Browser other{site};
    CHECK(register_as(other, "Ada").status == 422);
    const auto refused = sign_in_as(other, "Ada", "wrong");
    CHECK(refused.status == 422);
    CHECK_THAT(refused.body, Contains("E-mail address or password is wrong."));
    CHECK_THAT(other.get("/account/sign_in").body, !Contains("role=\"alert\""));
    CHECK(other.get("/account").status == 303);
    CHECK(sign_in_as(other, "Ada", "secret-Ada").status == 303);
    CHECK(other.get("/account").status == 200);
    CHECK(other.submit("/account", "/account/sign_out", {}).status == 303);
    CHECK(other.get("/account").status == 303);
    CHECK(browser.get("/account").status == 200);
    site.database().execute("update token set expire_time = 1");
    CHECK(browser.get("/account").status == 303);
}

TEST_CASE("a request of a client looks its account up once", "[server][integration]") {
    StatementLog log;
    TestSite site;
    Browser ada{site};
    register_as(ada, "Ada");
    const std::string hash = boinc_password_hash("secret-Ada", "ada@example.org");
    const std::string of_ada = "email_addr=ada@example.org&user_name=Ada&passwd_hash=" + hash;
    const std::string of_bob = "email_addr=bob@example.org&user_name=Bob&passwd_hash=" + hash;
    for (const auto& [request, answer] :
         std::map<std::string, std::string>{{"/lookup_account.php?" + of_ada, "<authenticator>"},
                                            {"/lookup_account.php?" + of_ada + "0", "-206"},
                                            {"/create_account.php?" + of_ada, "<authenticator>"},
                                            {"/create_account.php?" + of_ada + "0", "-137"},
                                            {"/create_account.php?" + of_bob, "<authenticator>"}}) {
        INFO(request);
        log.begin();
        CHECK_THAT(site.get(request).body, Contains(answer));
        CHECK(log.count("select", "from user where email_addr") == 1);
    }
}

TEST_CASE("forms of other sites are refused", "[server][integration]") {
    TestSite site;
    Browser browser{site};
    register_as(browser, "Ada");
    const Fields wanted{{"name", "Eve"}, {"resource_share", "100"}};
    CHECK(browser.send("/account/preferences", wanted).status == 403);
    Fields guessed = wanted;
    guessed["form_token"] = std::string(64, 'a');
    CHECK(browser.send("/account/preferences", guessed).status == 403);
    // The token of another browser.
    Browser eve{site};
    register_as(eve, "Eve");
    const std::string page = eve.get("/account/settings").body;
    const auto at = page.find("name=\"form_token\" value=\"");
    REQUIRE(at != page.npos);
    guessed["form_token"] = page.substr(at + 25, 64);
    CHECK(browser.send("/account/preferences", guessed).status == 403);
    // The right token from a page of another origin.
    const std::string own = browser.get("/account/settings").body;
    guessed["form_token"] = own.substr(own.find("name=\"form_token\" value=\"") + 25, 64);
    CHECK(browser.send("/account/preferences", guessed, {{"Origin", "https://evil.example"}})
              .status == 403);
    CHECK(browser.send("/account/preferences", guessed, {{"Origin", "null"}}).status == 403);
    const std::string authority = "127.0.0.1:" + std::to_string(site.port());
    const std::string origin = "http://" + authority;
    for (const std::string& other :
         {"http://evil@" + authority, origin + "@evil.example", origin + "/",
          origin + ".evil.example", "http:/" + authority, "http:" + authority, authority,
          origin + "#", "//" + authority}) {
        CAPTURE(other);
        CHECK(browser.send("/account/preferences", guessed, {{"Origin", other}}).status == 403);
    }
    CHECK_THAT(browser.get("/account").body, !Contains(">Eve<"));
    CHECK(browser.send("/account/preferences", guessed, {{"Origin", origin}}).status == 303);
    for (const char* const action :
         {"/account/sign_in", "/account/create", "/account/sign_out", "/account/email",
          "/account/password", "/account/delete", "/account/leave_team", "/teams/create",
          "/team/1/join", "/team/1/edit"}) {
        INFO(action);
        CHECK(browser.send(action, {{"password", "secret-Ada"}}).status == 403);
        CHECK(site.get(action).status != 500);
    }
    CHECK(browser.send("/account/preferences", {{"name", std::string(40'000, 'a')}}).status >= 400);
}

TEST_CASE("a session never has a token from before the sign-in", "[server][integration]") {
    TestSite site;
    Browser browser{site};
    register_as(browser, "Ada");
    Browser victim{site};
    victim.plant("dedloc_session", std::string(64, 'f'));
    sign_in_as(victim, "Ada", "secret-Ada");
    CHECK(victim.cookie("dedloc_session") != std::string(64, 'f'));
    CHECK(victim.get("/account").status == 200);
    Browser attacker{site};
    attacker.plant("dedloc_session", std::string(64, 'f'));
    CHECK(attacker.get("/account").status == 303);
}

TEST_CASE("passwords cannot be guessed, by form or by BOINC's request", "[server][integration]") {
    TestSite site;
    Browser browser{site};
    register_as(browser, "Ada");
    const std::string wrong =
        "/lookup_account.php?email_addr=ada@example.org&passwd_hash=" + std::string(32, 'a');
    for (int i = 0; i < kSignInLimits.pair; ++i) {
        CHECK_THAT(site.page(wrong), Contains("-206") && Contains("The password is wrong"));
    }
    CHECK_THAT(site.page(wrong), Contains("-206") && Contains("Too many attempts"));
    Browser other{site};
    CHECK(sign_in_as(other, "Ada", "secret-Ada").status == 429);
    CHECK(browser.get("/account").status == 200);
    // Not from elsewhere, where the owner may be.
    const auto elsewhere =
        site.client().Get(("/lookup_account.php?email_addr=ada@example.org&passwd_hash=" +
                           boinc_password_hash("secret-Ada", "ada@example.org"))
                              .c_str(),
                          {{"X-Forwarded-For", "192.0.2.7"}});
    REQUIRE(elsewhere);
    CHECK_THAT(elsewhere->body, Contains("<authenticator>"));
}

TEST_CASE("settings are kept, and e-mail and password need the password", "[server][integration]") {
    TestSite site;
    Browser browser{site};
    register_as(browser, "Ada");
    Database& database = site.database();
    database.execute(
        "update user set project_prefs = '<project_preferences>\n<project_specific>"
        "<x>1</x></project_specific>\n</project_preferences>'");
    const auto set = [&](Fields fields) {
        return browser.submit("/account/settings", "/account/preferences", std::move(fields))
            .status;
    };
    CHECK(set({{"name", "Ada L."},
               {"country", kHostileText},
               {"url", "https://example.org/"},
               {"venue", "work"},
               {"shows_hosts", "1"}}) == 303);
    const auto set_jobs = [&](const char* part, Fields fields) {
        return browser
            .submit("/account/settings", std::string{"/account/jobs/"} + part, std::move(fields))
            .status;
    };
    CHECK(set_jobs("general", {{"resource_share", "250"}, {"uses_processor", "1"}}) == 303);
    const auto row = database.query_one("select * from user where id = 1");
    CHECK(row->text("name") == "Ada L.");
    CHECK(row->integer("show_hosts") == 1);
    CHECK(row->integer("send_email") == 0);
    CHECK_THAT(row->text("project_prefs"), Contains("<resource_share>250</resource_share>") &&
                                               Contains("<no_cuda>1</no_cuda>") &&
                                               Contains("<no_cpu>0</no_cpu>") &&
                                               Contains("<project_specific>\n<x>1</x>\n"));
    CHECK_THAT(browser.get("/account/settings").body,
               Contains("value=\"250\"") && !Contains("<script>"));
    CHECK(row->text("venue") == "work");
    CHECK(set({{"name", ""}}) == 422);
    CHECK(set({{"name", "Ada"}, {"venue", "moon"}}) == 422);
    const auto post = [&](const std::string& action, Fields fields) {
        return browser.submit("/account/settings", action, std::move(fields)).status;
    };
    CHECK(post("/account/email", {{"email", "new@example.org"}, {"password", "no"}}) == 422);
    CHECK(post("/account/email", {{"email", "a b"}, {"password", "secret-Ada"}}) == 422);
    CHECK(post("/account/email", {{"email", "New@example.org"}, {"password", "secret-Ada"}}) ==
          303);
    CHECK(post("/account/password", {{"password", "secret-Ada"}, {"next", "short"}}) == 422);
    CHECK(post("/account/password", {{"password", "secret-Ada"}, {"next", "much longer"}}) == 303);
    CHECK(browser.get("/account").status == 303);  // every session has ended
    CHECK(sign_in_as(browser, "new", "secret-Ada").status == 422);
    CHECK(sign_in_as(browser, "new", "much longer").status == 303);
}

TEST_CASE("jobs are chosen in general and by venue, and computers have a place",
          "[server][integration]") {
    TestSite site;
    Browser browser{site};
    register_as(browser, "Ada");
    Database& database = site.database();
    database.execute(
        "update user set project_prefs = '<project_preferences>\n<project_specific>"
        "<x>1</x></project_specific>\n</project_preferences>'");
    const auto set_jobs = [&](const char* part, Fields fields) {
        return browser
            .submit("/account/settings", std::string{"/account/jobs/"} + part, std::move(fields))
            .status;
    };
    CHECK(set_jobs("general", {{"resource_share", "250"}, {"uses_processor", "1"}}) == 303);
    CHECK(set_jobs("general", {{"resource_share", "-1"}}) == 422);
    CHECK(set_jobs("work", {{"has_own", "1"}, {"resource_share", "10001"}}) == 422);
    const auto prefs = [&] {
        return database.query_one("select project_prefs from user")->text("project_prefs");
    };
    CHECK(set_jobs("work", {{"has_own", "1"}, {"resource_share", "7"}}) == 303);
    CHECK_THAT(
        prefs(),
        Contains("<venue name=\"work\">\n<resource_share>7</resource_share>\n"
                 "<no_cpu>1</no_cpu>\n<no_cuda>1</no_cuda>\n<project_specific>\n<x>1</x>\n"));
    CHECK_THAT(prefs(), Contains("\n<resource_share>250</resource_share>"));
    CHECK_THAT(browser.get("/account/settings").body,
               Contains("value=\"250\"") && Contains("value=\"7\"") && Contains("At work: own"));
    CHECK_FALSE(parse_project_preferences(prefs(), "work").allows_cpu);
    CHECK(parse_project_preferences(prefs(), "home").allows_cpu);
    CHECK(set_jobs("work", {}) == 303);
    CHECK_THAT(prefs(), !Contains("venue"));

    // A computer's place is its user's choice, and the client gets it with the next reply.
    const auto host = add_host(database, 1, "model", 1);
    const auto others = add_host(database, 2, "model", 1);
    const auto place = [&](std::int64_t id, const char* venue) {
        const auto page = "/host/" + std::to_string(host);
        return browser.submit(page, "/host/" + std::to_string(id) + "/venue", {{"venue", venue}})
            .status;
    };
    CHECK(place(host, "school") == 303);
    CHECK(place(host, "moon") == 422);
    CHECK(place(others, "school") == 303);
    CHECK(database.query_one("select group_concat(venue order by id) as v from host")->text("v") ==
          "school,");
    CHECK_THAT(browser.get("/host/1").body, Contains("value=\"school\" selected"));
}

TEST_CASE("a sign-in takes as much work without an account as with one", "[server][integration]") {
    TestSite site;
    Browser browser{site};
    register_as(browser, "Ada");
    // Processor time of this thread, which does not depend on how busy the machine is.
    const auto work = [&](const char* email) {
        const auto now = [] {
            timespec time{};
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
            return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
        };
        const double begun = now();
        CHECK_FALSE(user_of(site.database(), email, "a wrong password"));
        return now() - begun;
    };
    work("eve@example.org");  // the first one makes a hash to compare with
    const double unknown = work("eve@example.org");
    const double known = work("ada@example.org");
    CHECK(unknown > known / 3);
    CHECK(known > unknown / 3);
}

TEST_CASE("users see their own tasks only", "[server][integration]") {
    TestSite site;
    Browser ada{site};
    register_as(ada, "Ada");
    Browser eve{site};
    register_as(eve, "Eve");
    site.database().execute(
        "insert into result (name, userid, hostid, server_state, outcome, validate_state) "
        "values ('task_of_ada', 1, 1, 5, 1, 1)");
    CHECK_THAT(ada.get("/account/tasks").body, Contains("task_of_ada") && Contains("valid"));
    CHECK_THAT(ada.get("/task/1").body, Contains("task_of_ada"));
    CHECK_THAT(eve.get("/account/tasks").body, !Contains("task_of_ada"));
    CHECK(eve.get("/task/1").status == 404);
    CHECK(site.get("/task/1").status == 303);
}

TEST_CASE("a deleted account leaves no e-mail address and no computer", "[server][integration]") {
    TestSite site;
    Database& database = site.database();
    Browser ada{site};
    register_as(ada, "Ada");
    Browser eve{site};
    register_as(eve, "Eve");
    add_host(database, 1, "AdaModel", 5);
    database.execute(
        "insert into result (name, userid, hostid, server_state, stderr_out) values "
        "('r', 1, 1, 5, 'talks to 203.0.113.9')");
    database.execute(
        "insert into dedloc_seat (runid, peer_key, address) values (1, 'k', "
        "'203.0.113.7:5')");
    database.execute(
        "insert into dedloc_ticket (runid, peer_key, resultid, userid, issued, expires, network) "
        "values (1, 'k', 1, 1, 1, 4000000000, '203.0.113.0/24')");
    ada.submit("/teams/create", "/teams/create", {{"name", "Riga"}, {"is_joinable", "1"}});
    eve.submit("/team/1", "/team/1/join", {});
    database.execute(
        "insert into dedloc_mail (purpose, userid, email, created, next_attempt) values ('reset', "
        "1, 'ada@example.org', 1, 1), ('reset', 0, 'ada@example.org', 1, 1)");
    const auto exported = ada.get("/account/export.json");
    CHECK_THAT(exported.body, Contains("ada@example.org") && Contains("203.0.113.7") &&
                                  Contains("203.0.113.0/24") && Contains("AdaModel") &&
                                  !Contains("argon2"));
    CHECK_THAT(exported.get_header_value("Content-Disposition"), Contains("attachment"));
    CHECK(site.get("/account/export.json").status == 303);
    CHECK(ada.submit("/account/delete", "/account/delete", {{"password", "no"}}).status == 422);
    CHECK(ada.submit("/account/delete", "/account/delete", {{"password", "secret-Ada"}}).status ==
          303);
    CHECK(ada.get("/account").status == 303);
    // No row of any table has the address, the computer or what it talked to.
    for (const Row& table : database.query(
             "select table_name as t from information_schema.tables where table_schema = "
             "database()")) {
        for (const Row& column :
             database.query("select column_name as c from information_schema.columns where "
                            "table_schema = database() and table_name = ? and data_type in "
                            "('varchar', 'char', 'text', 'mediumtext', 'blob', 'mediumblob')",
                            {table.text("t")})) {
            const auto found = database.query_one(
                "select count(*) as n from `" + table.text("t") + "` where `" + column.text("c") +
                "` like '%ada@example%' or `" + column.text("c") + "` like '%203.0.113%' or `" +
                column.text("c") + "` like '%AdaModel%'");
            INFO(table.text("t") << '.' << column.text("c"));
            CHECK(found->integer("n") == 0);
        }
    }
    CHECK(database.query_one("select count(*) as n from user_deleted")->integer("n") == 1);
    CHECK(database.query_one("select count(*) as n from host_deleted")->integer("n") == 1);
    CHECK(database
              .query_one("select count(*) as n from dedloc_revocation where kind = 'user' and "
                         "subject = '1'")
              ->integer("n") == 1);
    const auto team = database.query_one("select userid, nusers from team");
    CHECK(team->integer("userid") == 2);  // the other member
    CHECK(team->integer("nusers") == 1);
}

TEST_CASE("deleted accounts never push a ban out of the published list", "[server][integration]") {
    TestProject project;
    Database& database = project.database();
    constexpr std::int64_t kNow = 1'800'000'000;
    const auto at = [](std::int64_t seconds) {
        return formats::UtcSeconds{std::chrono::seconds{seconds}};
    };
    formats::Revocations ban;
    ban.users.insert(7);
    revoke(database, ban, at(kNow - 10), "sends invalid gradients");
    database.execute(
        "insert into user (id, name, email_addr, authenticator) values (1, 'a', 'a@x', 'a'), "
        "(2, 'b', 'b@x', 'b'), (3, 'c', 'c@x', 'c')");
    database.execute(
        "insert into dedloc_ticket (runid, peer_key, resultid, userid, issued, expires) values "
        "(1, 'k1', 1, 1, ?, ?), (1, 'k2', 2, 2, ?, ?)",
        {kNow - 100, kNow + 60, kNow - 100'000, kNow - 1});
    for (const std::int64_t user : {1, 2, 3}) {
        delete_account(database, user, static_cast<double>(kNow));
    }
    // Only account 1 had a ticket that was valid, and it is in the list until that expires.
    CHECK(recent_revocations(database, at(kNow)).users == std::set<std::uint64_t>{1, 7});
    CHECK(recent_revocations(database, at(kNow + 60)).users == std::set<std::uint64_t>{7});
    database.execute(
        "insert into dedloc_revocation (kind, subject, since, ends) select 'user', seq, ?, ? from "
        "seq_10_to_1100",
        {kNow, kNow + 60});
    const auto full = recent_revocations(database, at(kNow)).users;
    CHECK(full.size() == wire::kMaxRevocations);
    CHECK(full.contains(7));
}

TEST_CASE("teams are created, joined, left and edited by their founders", "[server][integration]") {
    TestSite site;
    Browser ada{site};
    register_as(ada, "Ada");
    Browser eve{site};
    register_as(eve, "Eve");
    Database& database = site.database();
    CHECK(ada.submit("/teams/create", "/teams/create",
                     {{"name", kHostileText}, {"description", kHostileText}, {"is_joinable", "1"}})
              .status == 303);
    CHECK(eve.submit("/teams/create", "/teams/create", {{"name", kHostileText}}).status == 422);
    CHECK(eve.submit("/teams/create", "/teams/create", {{"name", " "}}).status == 422);
    CHECK_THAT(ada.get("/team/1").body, !Contains("<script>") && Contains("Edit this team"));
    CHECK_THAT(eve.get("/team/1").body, Contains("Join this team") && !Contains("Edit this team"));
    CHECK_THAT(site.page("/team/1"), !Contains("form_token"));
    CHECK(eve.submit("/team/1", "/team/1/join", {}).status == 303);
    CHECK(database.query_one("select nusers from team")->integer("nusers") == 2);
    CHECK(eve.get("/team/1/edit").status == 403);
    CHECK(eve.submit("/account", "/team/1/edit", {{"name", "Eve's"}}).status == 422);
    CHECK(ada.submit("/team/1/edit", "/team/1/edit", {{"name", "Riga"}}).status == 303);
    CHECK(database.query_one("select name, joinable from team")->text("name") == "Riga");
    CHECK(eve.submit("/team/1", "/account/leave_team", {}).status == 303);
    CHECK(database.query_one("select nusers from team")->integer("nusers") == 1);
    CHECK(eve.submit("/account", "/team/1/join", {}).status == 422);  // not joinable any more
    CHECK(eve.submit("/account", "/team/9/join", {}).status == 422);
}

TEST_CASE("hashing of passwords never takes all serving threads", "[server][integration]") {
    TestSite site;
    Browser browser{site};
    register_as(browser, "Ada");
    const std::string path = "/lookup_account.php?email_addr=ada@example.org&passwd_hash=" +
                             boinc_password_hash("secret-Ada", "ada@example.org");
    std::vector<std::thread> crowd;
    std::atomic<int> right = 0;
    std::atomic<int> busy = 0;
    for (int i = 0; i < 12; ++i) {
        crowd.emplace_back([&] {
            auto client = site.client();
            client.set_read_timeout(60);
            for (int k = 0; k < 3; ++k) {
                const auto reply = client.Get(path.c_str());
                if (!reply) continue;
                right += reply->body.find("<authenticator>") != std::string::npos;
                busy += reply->body.find("Too many people") != std::string::npos;
            }
        });
    }
    for (int k = 0; k < 20; ++k) CHECK(site.get("/join").status == 200);
    for (auto& person : crowd) person.join();
    CHECK(right > 0);
    CHECK(right + busy == 36);
}

TEST_CASE("pages of an account are there as JSON, for their owner, without the key",
          "[server][integration]") {
    TestSite site;
    Browser ada{site};
    Browser bob{site};
    // The name has a letter that no random number in hex digits contains.
    REQUIRE(register_as(ada, "zoe").status == 303);
    REQUIRE(register_as(bob, "bob").status == 303);
    Database& database = site.database();
    database.execute("insert into result (name, userid) values ('task of zoe', 1)");
    const auto key =
        database.query_one("select authenticator from user where id = 1")->text("authenticator");
    for (const char* const path :
         {"/account", "/account/tasks", "/task/1", "/account/settings", "/account/certificate"}) {
        INFO(path);
        const std::string json = std::string{path} + ".json";
        const auto page = ada.get(path);
        CHECK(page.status == 200);
        CHECK_THAT(page.body, Contains("<code>.json</code>"));
        const auto response = ada.get(json);
        CHECK(response.status == 200);
        CHECK(response.get_header_value("Content-Type") == "application/json");
        CHECK(response.get_header_value("Cache-Control") == "no-store");
        CHECK_THAT(response.body, Catch::StartsWith("{\"") && !Contains(key) &&
                                      !Contains("passwd") && !Contains("form_token") &&
                                      !Contains(ada.cookie("dedloc_session")));
        const auto stranger = site.get(json);
        CHECK(stranger.status == 401);
        CHECK_THAT(stranger.body, Contains("\"error\":") && !Contains("zoe"));
        CHECK_THAT(bob.get(json).body, !Contains("zoe"));
    }
    CHECK_THAT(ada.get("/account").body, Contains(key));
    CHECK_THAT(ada.get("/account.json").body, Contains("\"email\":\"zoe@example.org\""));
    CHECK_THAT(ada.get("/account/tasks.json").body, Contains("task of zoe"));
    CHECK(bob.get("/task/1.json").status == 404);
    // Forms have no content of their own.
    CHECK_THAT(site.page("/account/sign_in"), !Contains("<code>.json</code>"));
}

}  // namespace dedloc::server
