// What programs ask for: account managers, sites of statistics, Prometheus.

#include <rapidjson/document.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "peer/platform/files.hpp"
#include "peer/platform/process.hpp"
#include "project_server/accounts/mail_tokens.hpp"
#include "project_server/accounts/passwords.hpp"
#include "project_server/database/evaluations.hpp"
#include "project_server/views/stats_export.hpp"
#include "project_server/web/metrics.hpp"
#include "tests/project_server/web/site_fixture.hpp"

namespace dedloc::server {
namespace {

using Catch::Contains;
namespace fs = std::filesystem;

std::string unpacked(const fs::path& file) {
    return platform::run_to_end({"gzip", "-dc", file.string()}).output;
}

/// A key of add_user.
std::string key_of(Database& database, std::int64_t user) {
    return database.query_one("select authenticator from user where id = ?", {user})
        ->text("authenticator");
}

}  // namespace

TEST_CASE("an account manager reads and changes an account by its key", "[server][integration]") {
    TestSite site;
    Database& database = site.database();
    const auto user = add_user(database, "Ann & Lee <b>", 50);
    const auto other = add_user(database, "Other", 40);
    const auto host = add_host(database, user, "CPU", 5);
    const auto others_host = add_host(database, other, "CPU", 5);
    database.execute("insert into team (name, userid) values ('Riga', ?)", {other});
    const std::string key = key_of(database, user);
    const std::string get = "/am_get_info.php?account_key=" + key;
    CHECK_THAT(site.page(get), Contains("<name>Ann+%26+Lee+%3Cb%3E</name>") &&
                                   Contains("<success/>") && !Contains(key));
    for (const std::string& bad : {std::string{}, std::string(32, '0'), std::string{"' or 1=1"}}) {
        const auto reply = site.client().Get(
            "/am_get_info.php", httplib::Params{{"account_key", bad}}, httplib::Headers{});
        REQUIRE(reply);
        CHECK_THAT(reply->body, Contains("<error_num>-136</error_num>"));
    }
    const auto set = [&](httplib::Params parameters) {
        parameters.emplace("account_key", key);
        const auto reply = site.client().Post("/am_set_info.php", parameters);
        REQUIRE(reply);
        return reply->body;
    };
    CHECK_THAT(set({{"name", "Ann"},
                    {"country", "Estonia"},
                    {"show_hosts", "0"},
                    {"send_email", "1"},
                    {"teamid", "1"},
                    {"venue", "home"},
                    {"global_prefs",
                     "<global_preferences>\n<run_on_batteries>0</run_on_batteries>\n"
                     "<x><app_version>evil</app_version></x>\n</global_preferences>"}}),
               Contains("<success/>"));
    const auto row = database.query_one("select * from user where id = ?", {user});
    CHECK(row->text("name") == "Ann");
    CHECK(row->integer("show_hosts") == 0);
    CHECK(row->integer("send_email") == 1);
    CHECK(row->integer("teamid") == 1);
    CHECK(row->text("venue") == "home");
    CHECK(row->text("global_prefs") ==
          "<global_preferences>\n<run_on_batteries>0</run_on_batteries>\n</global_preferences>");
    CHECK_THAT(set({{"global_prefs", "</scheduler_reply>"}}), Contains("error_num"));
    CHECK_THAT(set({{"venue", "<b>"}}), Contains("error_num"));
    CHECK_THAT(set({{"teamid", "77"}}), Contains("error_num"));
    CHECK_THAT(set({{"email_addr", "new@example.org"}}), Contains("-205"));
    const std::string hash = boinc_password_hash("secret", "new@example.org");
    CHECK_THAT(set({{"email_addr", "New@example.org"}, {"password_hash", hash}}),
               Contains("<success/>"));
    CHECK_THAT(site.page("/lookup_account.php?email_addr=new@example.org&passwd_hash=" + hash),
               Contains(key));
    const std::string venue = "/am_set_host_info.php?venue=work&account_key=" + key + "&hostid=";
    CHECK_THAT(site.page(venue + std::to_string(host)), Contains("<success/>"));
    CHECK_THAT(site.page(venue + std::to_string(others_host)), Contains("-136"));
}

TEST_CASE("an account manager's new address is not confirmed, and old links are void",
          "[server][integration]") {
    TestSite site;
    Database& database = site.database();
    const auto user = add_user(database, "Ann", 50);
    const auto email = [&] {
        return database.query_one("select * from user where id = ?", {user})->text("email_addr");
    };
    const std::string first = email();
    const auto confirmed = begin_by_mail(database, MailPurpose::kConfirm, first, unix_now());
    REQUIRE_FALSE(confirm_email(database, confirmed->text, unix_now()));
    const auto is_confirmed = [&] {
        return database.query_one("select * from user where id = ?", {user})
                   ->integer("email_validated") == 1;
    };
    const auto set = [&](const std::string& address) {
        const auto reply = site.client().Post(
            "/am_set_info.php",
            httplib::Params{{"account_key", key_of(database, user)},
                            {"email_addr", address},
                            {"password_hash", boinc_password_hash("secret", address)}});
        REQUIRE(reply);
        CHECK_THAT(reply->body, Contains("<success/>"));
    };
    set(first);
    CHECK(is_confirmed());  // only the password is new
    const auto reset = begin_by_mail(database, MailPurpose::kReset, first, unix_now());
    set("ceo@corp.example");
    CHECK_FALSE(is_confirmed());
    CHECK(reset_password(database, reset->text, "much longer", unix_now()).refusal);
    CHECK(database.query_one("select * from user where id = ?", {user})
              ->real("email_addr_change_time") > 0);
}

TEST_CASE("show_user.php names computers to the owner only", "[server][integration]") {
    TestSite site;
    Database& database = site.database();
    const auto user = add_user(database, kHostileText, 50, false);
    add_host(database, user, "HiddenModel", 5);
    CHECK_THAT(site.page("/show_user.php?format=xml&userid=" + std::to_string(user)),
               Contains("<total_credit>50.000000</total_credit>") && !Contains("<script>") &&
                   !Contains("HiddenModel") && !Contains("@example.org"));
    CHECK_THAT(site.page("/show_user.php?format=xml&auth=" + key_of(database, user)),
               Contains("HiddenModel") && Contains("<domain_name>secret-domain</domain_name>") &&
                   !Contains("203.0.113.7"));
    CHECK_THAT(site.page("/show_user.php?format=xml&userid=99"), Contains("-136"));
    CHECK(site.get("/show_user.php?userid=1").status == 303);
}

TEST_CASE("the statistics are complete, private and replaced as a whole", "[server][integration]") {
    TestSite site;
    Database& database = site.database();
    const fs::path folder = site.project().root() / "html/stats";
    CHECK(is_export_due(folder));
    CHECK(site.get("/stats/user.gz").status == 404);
    for (int i = 1; i <= 1201; ++i) add_user(database, "u" + std::to_string(i), i, i % 2 == 0);
    const auto hostile = add_user(database, "A & <b>\"", 5000);
    add_host(database, hostile, "<Shown> & CPU", 7);
    add_host(database, 1, "HiddenModel", 6);
    database.execute(
        "insert into team (name, description, total_credit) values ('T & U', '<script>', 1)");
    database.execute("insert into user_deleted values (77, 'cpid77', 5)");
    export_statistics(database, folder, 1'800'000'000);
    CHECK_FALSE(is_export_due(folder));
    const std::string users = unpacked(folder / "user.gz");
    CHECK_THAT(users, Contains("<id>1201</id>") &&
                          Contains("<name>A &amp; &lt;b&gt;&quot;</name>") &&
                          Contains("</users>") && !Contains("@example.org"));
    CHECK_THAT(unpacked(folder / "host.gz"),
               Contains("&lt;Shown&gt; &amp; CPU") && Contains("HiddenModel") &&
                   !Contains("203.0.113.7") && !Contains("secret-domain"));
    CHECK_THAT(unpacked(folder / "team.gz"), Contains("T &amp; U") && !Contains("<script>"));
    CHECK_THAT(unpacked(folder / "user_deleted.gz"), Contains("cpid77"));
    CHECK_THAT(site.page("/stats/tables.xml"), Contains("<nusers_total>1202</nusers_total>"));
    CHECK_THAT(site.page("/stats/db_dump.xml"), Contains("<table>host_deleted</table>"));
    CHECK(site.get("/stats/user.gz").body == [&] {
        std::ifstream file{folder / "user.gz", std::ios::binary};
        return std::string{std::istreambuf_iterator<char>{file}, {}};
    }());
    for (const char* const absent : {"/stats/", "/stats/../config.xml", "/stats/passwd",
                                     "/stats/user.gz.tmp", "/stats/%2e%2e/config.xml"}) {
        INFO(absent);
        CHECK(site.get(absent).status == 404);
    }
    // With BOINC's consent enabled, only users who agreed are exported.
    database.execute("insert into consent_type (shortname, enabled) values ('STATSEXPORT', 1)");
    database.execute(
        "insert into consent (userid, consent_type_id, consent_flag) values "
        "(5, 1, 1), (6, 1, 1), (6, 1, 0)");
    export_statistics(database, folder, 1'800'000'000);
    const std::string agreed = unpacked(folder / "user.gz");
    CHECK_THAT(agreed, Contains("<name>u5</name>") && !Contains("<name>u6</name>") &&
                           !Contains("<name>u7</name>"));
    CHECK_THAT(unpacked(folder / "host.gz"), !Contains("Shown"));
    for (const auto& entry : fs::directory_iterator{folder}) {
        CHECK(entry.path().extension() != ".tmp");
    }
}

TEST_CASE("the statistics have the elements that db_dump writes", "[server][integration]") {
    TestProject project;
    Database& database = project.database();
    const fs::path folder = project.root() / "html/stats";
    const auto shown = add_user(database, "Ann", 500);
    const auto hidden = add_user(database, "Bob", 400, false);
    add_user(database, "Newcomer", 0);
    const auto host = add_host(database, shown, "ShownModel", 5);
    add_host(database, hidden, "HiddenModel", 4);
    add_host(database, shown, "IdleModel", 0);
    database.execute(
        "update host set serialnum = '[CUDA|RTX|1|4095MB|1|0][INTEL|HD|1|9MB|]"
        "[BOINC|7.20.5][vbox|6.1]' where id = ?",
        {host});
    database.execute("update user set has_profile = 1 where id = ?", {hidden});
    database.execute("insert into team (name, total_credit) values ('T', 9), ('Empty', 0)");
    database.execute("insert into user_deleted values (77, 'cpid77', 5)");
    database.execute("insert into host_deleted values (78, 'cpid78', 5)");
    database.execute("insert into badge (id, name, title) values (3, 'b', 'Badge')");
    database.execute("insert into badge (id, name, title) values (4, 'c', 'Badge')");
    database.execute(
        "insert into badge_user (badge_id, user_id, create_time) values (3, ?, 9), "
        "(4, ?, 10.4)",
        {shown, shown});
    database.execute("insert into badge_team (badge_id, team_id, create_time) values (3, 1, 8)");
    export_statistics(database, folder, 1'800'000'000);

    const std::string hosts = unpacked(folder / "host.gz");
    CHECK_THAT(hosts, Contains("<userid>" + std::to_string(shown) + "</userid>") &&
                          Contains("HiddenModel") && !Contains("IdleModel") &&
                          !Contains("<userid>" + std::to_string(hidden) + "</userid>"));
    CHECK_THAT(hosts, Contains(" <boinc_version>[BOINC|7.20.5]</boinc_version>\n"
                               " <vbox_version>[vbox|6.1]</vbox_version>\n"
                               " <coprocs>[CUDA|RTX|1|4095MB|1|0][INTEL|HD|1|9MB|]</coprocs>\n"));
    const std::string users = unpacked(folder / "user.gz");
    CHECK_THAT(users, !Contains("Newcomer") && Contains(" <has_profile/>\n"));
    CHECK(users.find("has_profile") == users.rfind("has_profile"));
    CHECK_THAT(unpacked(folder / "team.gz"), Contains("<name>T</name>") && !Contains("Empty"));
    CHECK_THAT(unpacked(folder / "user_deleted.gz"),
               Contains("<user>\n <id>77</id>\n <cpid>cpid77</cpid>\n</user>\n"));
    CHECK_THAT(unpacked(folder / "host_deleted.gz"),
               Contains("<host>\n <id>78</id>\n <host_cpid>cpid78</host_cpid>\n</host>\n"));
    const std::string ann = std::to_string(shown);
    CHECK_THAT(
        unpacked(folder / "badge_user.gz"),
        Contains("<badge_users>\n <badge_user>\n    <user_id>" + ann +
                 "</user_id>\n    <badge_id>3</badge_id>\n    <create_time>9</create_time>\n "
                 "</badge_user>\n <badge_user>\n    <user_id>" +
                 ann +
                 "</user_id>\n    <badge_id>4</badge_id>\n    <create_time>10</create_time>\n "
                 "</badge_user>\n</badge_users>\n"));
    CHECK_THAT(unpacked(folder / "badge_team.gz"), Contains("<team_id>1</team_id>"));
    const std::string tables = platform::read_text(folder / "tables.xml");
    CHECK_THAT(tables, Contains("<nusers_total>2</nusers_total>") &&
                           Contains("<nhosts_deleted_total>1</nhosts_deleted_total>") &&
                           Contains("<image_url></image_url>"));
    CHECK_THAT(platform::read_text(folder / "db_dump.xml"),
               Contains("<boinc_db_dump_spec>") && !Contains("badge"));
}

TEST_CASE("the dashboard's panels ask for metrics and labels that are served",
          "[server][integration]") {
    TestSite site;
    Database& database = site.database();
    const auto run = add_run(database, "first");
    add_user(database, "Ann", 20);
    database.execute("insert into dedloc_step values (?, 1, 8, 2.5, 1, 1, 1, '', 1, 1)", {run});
    database.execute(
        "insert into dedloc_seat (runid, peer_key, role, state) values (?, 'k', 'trainer', "
        "'working')",
        {run});
    database.execute("insert into dedloc_evaluation values (?, 1, 2.5, 0, 1, 1, '', 1)", {run});
    database.execute("insert into dedloc_figure values (?, 1, 'order_accuracy', 0.5, null)", {run});
    (void)site.page("/");
    control::Snapshot picture;
    picture.run = "first";
    picture.recent.emplace_back();
    picture.members.emplace_back().role = "trainer";
    const std::string served = site.page("/metrics") + live_metrics({picture});
    rapidjson::Document dashboard;
    dashboard.Parse(platform::read_text(DEDLOC_DASHBOARD).c_str());
    REQUIRE(dashboard.IsObject());
    CHECK(dashboard["schemaVersion"].GetInt() >= 30);
    const std::string variable = dashboard["templating"]["list"][0]["name"].GetString();
    std::set<int> ids;
    int targets = 0;
    for (const auto& panel : dashboard["panels"].GetArray()) {
        CHECK(ids.insert(panel["id"].GetInt()).second);
        CHECK(panel["datasource"]["uid"].GetString() == "${" + variable + "}");
        const auto& place = panel["gridPos"];
        CHECK(place["x"].GetInt() + place["w"].GetInt() <= 24);
        for (const auto& target : panel["targets"].GetArray()) {
            ++targets;
            const std::string expression = target["expr"].GetString();
            std::smatch metric;
            REQUIRE(std::regex_search(expression, metric, std::regex{"dedloc_[a-z_]+"}));
            std::smatch line;
            INFO(expression);
            REQUIRE(
                std::regex_search(served, line, std::regex{"\n" + metric.str() + "[{ ][^\n]*"}));
            const std::string legend = target["legendFormat"].GetString();
            const std::regex label{"\\{\\{([a-z_]+)\\}\\}"};
            for (std::sregex_iterator at{legend.begin(), legend.end(), label}, end; at != end;
                 ++at) {
                INFO(legend);
                CHECK_THAT(line.str(), Contains((*at)[1].str() + "=\""));
            }
        }
    }
    CHECK(targets >= 10);
}

TEST_CASE("metrics are Prometheus' text format", "[server][integration]") {
    TestSite site;
    Database& database = site.database();
    const auto run = add_run(database, "we\"ird");
    database.execute("insert into dedloc_step values (?, 3, 10, 2.5, 0.1, 3, 3, 'ab', 2, 1)",
                     {run});
    write_evaluation(database, run,
                     {.step = 3,
                      .loss = 2.25,
                      .figures = {{.name = "masked_accuracy", .value = 0.125},
                                  {.name = "of_another_task", .value = 7}},
                      .samples = 64,
                      .digest = "ab"});
    site.page("/users");
    const std::string text = site.page("/metrics");
    CHECK_THAT(text,
               Contains("dedloc_run_held_out_loss{run=\"we\\\"ird\",state=\"running\"} 2.25\n") &&
                   Contains("dedloc_run_held_out_figure{run=\"we\\\"ird\","
                            "figure=\"masked_accuracy\"} 0.125\n") &&
                   !Contains("of_another_task"));
    CHECK_THAT(text, Contains("dedloc_run_loss{run=\"we\\\"ird\",state=\"running\"} 2.5\n") &&
                         Contains("# TYPE dedloc_request_seconds histogram\n") &&
                         Contains("dedloc_tasks{state=\"unsent\"} 0\n") &&
                         Contains("dedloc_request_seconds_count{kind=\"page\"} 1\n"));
    // Each line is a comment or a name, labels and a number; each name is described before.
    std::istringstream lines{text};
    std::string described;
    for (std::string line; std::getline(lines, line);) {
        INFO(line);
        if (line.starts_with("# TYPE ")) described = line.substr(7, line.find(' ', 7) - 7);
        if (line.starts_with("#")) continue;
        CHECK(line.starts_with(described));
        const auto space = line.rfind(' ');
        REQUIRE(space != line.npos);
        std::size_t used = 0;
        std::stod(line.substr(space + 1), &used);
        CHECK(used == line.size() - space - 1);
    }
    RequestTimes times;
    times.count(std::chrono::milliseconds{3});
    times.count(std::chrono::seconds{30});
    CHECK_THAT(times.text("t", "a=\"b\""), Contains("t_bucket{a=\"b\",le=\"0.0025\"} 0\n") &&
                                               Contains("t_bucket{a=\"b\",le=\"0.005\"} 1\n") &&
                                               Contains("t_bucket{a=\"b\",le=\"+Inf\"} 2\n") &&
                                               Contains("t_sum{a=\"b\"} 30.003\n"));
}

}  // namespace dedloc::server
