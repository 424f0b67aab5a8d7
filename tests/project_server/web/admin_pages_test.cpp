// The pages for administrators: who may see them, and that nothing a volunteer has chosen is more
// than text there.
#include <fmt/format.h>

#include <string>

#include "project_server/accounts/account_removal.hpp"
#include "project_server/accounts/sessions.hpp"
#include "project_server/database/administrators.hpp"
#include "project_server/database/notices.hpp"
#include "tests/project_server/web/site_fixture.hpp"

namespace dedloc::server {
namespace {

using Catch::Contains;

/// A run in which a volunteer with hostile names takes part now, by an old version.
void fill_run(Database& database) {
    const auto user = add_user(database, kHostileText, 5);
    const auto host = add_host(database, user, kHostileText, 5);
    const auto run = add_run(database, "demo");
    for (const char* const sql : {
             "insert into app (id, name) values (1, 'dedloc_train')",
             "insert into app_version (id, appid, version_num, deprecated) values (1, 1, 102, 0), "
             "(2, 1, 103, 0)",
             "insert into workunit (id, appid, name, opaque) select 1, 1, 'w', id from dedloc_run",
         }) {
        database.execute(sql);
    }
    database.execute("update host set domain_name = ? where id = ?", {kHostileText, host});
    database.execute(
        "insert into result (id, name, workunitid, appid, app_version_id, userid, hostid, "
        "server_state, outcome, received_time) values (1, 'a', 1, 1, 1, ?, ?, 4, 0, 0), "
        "(2, 'b', 1, 1, 2, ?, ?, 5, 3, unix_timestamp() - 100)",
        {user, host, user, host});
    database.execute(
        "insert into dedloc_ticket (runid, peer_key, resultid, userid, hostid, issued, expires) "
        "values (?, 'abcdefgh12', 1, ?, ?, 0, 0)",
        {run, user, host});
    database.execute(
        "insert into dedloc_presence values (?, 'abcdefgh12', unix_timestamp() - 7200, "
        "unix_timestamp() - 10, 4, 44, 0, ?, ?, 102, '', ?)",
        {run, user, host, kHostileText});
    database.execute(
        "insert into dedloc_evaluation values (?, 0, 8.125, 0.25, 8, 1, '', unix_timestamp())",
        {run});
    database.execute("insert into dedloc_figure values (?, 0, 'loss_of_wiki', 7.5, null)", {run});
    send_notice(database, {host}, "</td><script>alert(3)</script>", unix_now());
}

httplib::Headers session_of(Database& database, std::int64_t user) {
    return {{"Cookie", "dedloc_session=" + begin_session(database, user, unix_now())}};
}

}  // namespace

TEST_CASE("only accounts of administrators see the pages for administrators",
          "[server][integration]") {
    TestSite site;
    auto& database = site.database();
    fill_run(database);
    const auto chief = add_user(database, "Chief", 7);
    const auto other = add_user(database, "Other", 8);
    set_administrator(database, chief, true);
    set_administrator(database, chief, true);
    const auto headers = session_of(database, chief);
    for (const std::string path : {"/admin", "/admin/run/demo"}) {
        INFO(path);
        CHECK(site.get(path).status == 303);
        CHECK(site.get(path + ".json").status == 401);
        CHECK(site.get(path, session_of(database, other)).status == 404);
        CHECK(site.get(path + ".json", session_of(database, other)).status == 404);
        for (const std::string& form : {path, path + ".json"}) {
            const auto page = site.get(form, headers);
            CHECK(page.status == 200);
            CHECK(page.get_header_value("Cache-Control") == "no-store");
        }
    }
    CHECK(site.get("/admin/run/none", headers).status == 404);
    CHECK_THAT(site.get("/account", headers).body, Contains("href=\"/admin\""));
    CHECK_THAT(site.get("/account", session_of(database, other)).body, !Contains("/admin"));
    set_administrator(database, chief, false);
    CHECK(site.get("/admin", headers).status == 404);
    set_administrator(database, chief, true);
    delete_account(database, chief, unix_now());
    CHECK_FALSE(is_administrator(database, chief));
}

TEST_CASE("the administrator's pages show a run's peers, and names as text",
          "[server][integration]") {
    TestSite site;
    auto& database = site.database();
    fill_run(database);
    const auto chief = add_user(database, "Chief", 7);
    set_administrator(database, chief, true);
    const auto headers = session_of(database, chief);
    const std::string run = site.get("/admin/run/demo", headers).body;
    const std::string overview = site.get("/admin", headers).body;
    for (const std::string& page : {run, overview}) {
        CHECK_THAT(page, !Contains("<script>") && Contains("&lt;script&gt;"));
        CHECK_THAT(page, Contains("1.02") && Contains("1.03"));
    }
    CHECK_THAT(run, Contains("abcdefgh") && Contains("failed on the computer"));
    CHECK_THAT(run, Contains("all samples") && Contains("8.1250") && Contains("0.2500"));
    CHECK_THAT(run, Contains("wiki") && Contains("7.5000"));
    CHECK_THAT(overview, Contains("not yet"));
    const std::string data = site.get("/admin/run/demo.json?hours=3", headers).body;
    CHECK_THAT(data,
               Contains("\"hours\":3") && Contains("\"peers\":1") && Contains("\"failed_jobs\":1"));
    // Any number is taken as the nearest that there is.
    for (const auto& [hours, taken] :
         {std::pair{"0", "1"}, {"999999", "168"}, {"x", "24"}, {"-5", "24"}}) {
        CHECK_THAT(site.get(fmt::format("/admin/run/demo.json?hours={}", hours), headers).body,
                   Contains(fmt::format("\"hours\":{},", taken)));
    }
}

}  // namespace dedloc::server
