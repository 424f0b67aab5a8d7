// Account managers as BOINC has them: what they ask with an account key, what they get, and the
// weak account key that they give to computers. Compared with BOINC's html/user, html/inc/xml.inc
// and sched/handle_request.cpp of the snapshot c5c6cb79b9.
#include <regex>
#include <vector>

#include "project_server/accounts/account_changes.hpp"
#include "project_server/accounts/passwords.hpp"
#include "project_server/database/account_keys.hpp"
#include "project_server/xml/xml.hpp"
#include "tests/project_server/web/browser.hpp"

namespace dedloc::server {
namespace {

using Catch::Contains;
using Names = std::vector<std::string>;

/// The elements directly inside an element of a reply, in their order.
Names elements_of(const std::string& reply, const std::string& name) {
    const auto outer = find_element(reply, name);
    INFO(reply);
    REQUIRE(outer);
    Names names;
    XmlReader inside{outer->body};
    while (const auto element = inside.next()) names.emplace_back(element->name);
    return names;
}

std::string value_in(const std::string& reply, const std::string& outer, const std::string& name) {
    const auto element = find_element(reply, outer);
    INFO(reply);
    REQUIRE(element);
    const auto inner = find_element(element->body, name);
    REQUIRE(inner);
    return std::string{inner->body};
}

/// An account manager, and the computers of its users, for a project with jobs.
class Manager {
  public:
    TestSite site;

    Manager() {
        Database& database = site.database();
        database.execute("insert into app (name, user_friendly_name) values ('train', 'Trainer')");
        database.execute(
            "insert into app_version (appid, version_num, platformid, xml_doc, create_time) select "
            "1, 100, id, '<app_version>\n</app_version>\n', 1800000000 from platform where "
            "name = 'x86_64-pc-linux-gnu'");
        for (const char* const name : {"first", "second"}) {
            database.execute(
                "insert into workunit (name, appid, xml_doc, delay_bound, transition_time) values "
                "(?, 1, '<workunit>\n</workunit>\n', 100000, 2000000000)",
                {name});
            database.execute(
                "insert into result (name, workunitid, appid, server_state, xml_doc_in) values "
                "(?, ?, 1, 2, '<result>\n</result>\n')",
                {std::string{name} + "_0", database.insert_id()});
        }
    }
    /// The reply to a request with these parameters.
    std::string ask(const std::string& path, const httplib::Params& parameters) const {
        const auto reply = site.client().Get(path.c_str(), parameters, httplib::Headers{});
        REQUIRE(reply);
        REQUIRE(reply->status == 200);
        return reply->body;
    }
    std::string create(const httplib::Params& more = {}) const {
        httplib::Params parameters{
            {"email_addr", "ada@example.org"},
            {"passwd_hash", boinc_password_hash("secret", "ada@example.org")},
            {"user_name", "Ada & <co>"}};
        for (const auto& parameter : more) parameters.insert(parameter);
        return value_in(ask("/create_account.php", parameters), "account_out", "authenticator");
    }
    std::string info(const std::string& key) const {
        return ask("/am_get_info.php", {{"account_key", key}});
    }
    std::string weak_key(const std::string& key) const {
        return value_in(info(key), "am_get_info_reply", "weak_auth");
    }
    /// A request of a computer that is attached with a key, to the scheduler.
    std::string contact(const std::string& key, const std::string& extra = "", int host = 0,
                        int sequence = 1) const {
        const std::string text =
            "<scheduler_request><authenticator>" + key + "</authenticator><hostid>" +
            std::to_string(host) + "</hostid><rpc_seqno>" + std::to_string(sequence) +
            "</rpc_seqno><platform_name>x86_64-pc-linux-gnu</platform_name><host_info><p_ncpus>2"
            "</p_ncpus><m_nbytes>8e9</m_nbytes><host_cpid>c</host_cpid><d_free>1e11</d_free>"
            "<domain_name>desk</domain_name></host_info>" +
            extra + "</scheduler_request>";
        const auto reply = site.client().Post("/cgi/scheduler", text, "text/xml");
        REQUIRE(reply);
        REQUIRE(reply->status == 200);
        return reply->body;
    }
};

constexpr const char* kWork =
    "<cpu_req_secs>100</cpu_req_secs><cpu_req_instances>2</cpu_req_instances>";
constexpr const char* kInvalid = "Invalid or missing account key";
constexpr const char* kNotFound = "<error_num>-136</error_num>";

}  // namespace

TEST_CASE("an account manager's whole life: it makes an account, attaches, works and leaves",
          "[server][integration]") {
    Manager manager;
    Database& database = manager.site.database();
    database.execute("insert into team (name, userid) values ('Riga', 9)");
    const std::string key = manager.create({{"team_name", "Riga"}});
    const std::string weak = manager.weak_key(key);
    CHECK(std::regex_match(weak, std::regex{"1_[0-9a-f]{32}"}));
    CHECK(database.query_one("select teamid from user")->integer("teamid") == 1);

    // A computer gets the weak key only, and works with it.
    const std::string first = manager.contact(weak, kWork);
    CHECK_THAT(first, Contains("<hostid>1</hostid>") && Contains("<workunit>") &&
                          Contains("<team_name>Riga</team_name>") &&
                          Contains("<user_name>Ada &amp; &lt;co&gt;</user_name>"));
    CHECK_THAT(first, !Contains(key) && !Contains(weak));
    const auto held =
        database.query_one("select name, userid, hostid from result where server_state = 4");
    REQUIRE(held);
    CHECK(held->integer("userid") == 1);
    const std::string report = "<result><name>" + held->text("name") +
                               "</name><exit_status>0</exit_status><state>5</state></result>";
    CHECK_THAT(manager.contact(weak, report, 1, 2), Contains("<result_ack>"));
    CHECK(database.query_one("select outcome from result where name = ?", {held->text("name")})
              ->integer("outcome") == 1);

    // The manager sees the computer, sets its venue, and shows the credit.
    database.execute("update user set total_credit = 7, expavg_credit = 1");
    database.execute("update host set total_credit = 7");
    const std::string own = manager.ask("/show_user.php", {{"format", "xml"}, {"auth", key}});
    CHECK(value_in(own, "user", "total_credit") == "7.000000");
    CHECK_THAT(own, Contains("<domain_name>desk</domain_name>"));
    CHECK_THAT(manager.ask("/am_set_host_info.php",
                           {{"account_key", key}, {"hostid", "1"}, {"venue", "work"}}),
               Contains("<success/>"));
    CHECK_THAT(manager.contact(weak, "", 1, 3), Contains("<host_venue>work</host_venue>"));
    CHECK_THAT(manager.ask("/am_set_info.php", {{"account_key", key}, {"name", "Ada L."}}),
               Contains("<success/>"));
    CHECK_THAT(manager.contact(weak, "", 1, 4), Contains("<user_name>Ada L.</user_name>"));

    // It comes back after a detach, and is the same computer.
    CHECK_THAT(manager.contact(weak), Contains("<hostid>1</hostid>"));
    // A new password makes another weak key; the computer is cut off until it has that.
    const std::string hash = boinc_password_hash("another", "ada@example.org");
    CHECK_THAT(manager.ask("/am_set_info.php", {{"account_key", key}, {"password_hash", hash}}),
               Contains("<success/>"));
    CHECK_THAT(manager.contact(weak, kWork, 1, 5), Contains(kInvalid));
    const std::string next = manager.weak_key(key);
    CHECK(next != weak);
    CHECK_THAT(manager.contact(next, kWork, 1, 5), !Contains(kInvalid));
    CHECK_THAT(manager.contact(key, "", 1, 6), !Contains(kInvalid));
}

TEST_CASE("am_get_info.php has BOINC's elements in BOINC's order and escapes",
          "[server][integration]") {
    Manager manager;
    Database& database = manager.site.database();
    const std::string key = manager.create();
    database.execute(
        "update user set country = 'Ivory Coast', url = ?, postal_code = 'LV-1001', "
        "venue = 'home', global_prefs = ?",
        {"https://a.example/~x?y=1&z=2", "<global_preferences>\n<a>1</a>\n</global_preferences>"});
    const Names all{"success",    "id",          "name",        "country",      "weak_auth",
                    "cpid",       "has_profile", "create_time", "global_prefs", "project_prefs",
                    "url",        "send_email",  "show_hosts",  "teamid",       "venue",
                    "postal_code"};
    const std::string reply = manager.info(key);
    CHECK(elements_of(reply, "am_get_info_reply") == all);
    const auto value = [&](const char* name) { return value_in(reply, "am_get_info_reply", name); };
    // PHP's urlencode().
    CHECK(value("name") == "Ada+%26+%3Cco%3E");
    CHECK(value("country") == "Ivory+Coast");
    CHECK(value("url") == "https%3A%2F%2Fa.example%2F%7Ex%3Fy%3D1%26z%3D2");
    CHECK(value("postal_code") == "LV-1001");
    CHECK(value("global_prefs") == "\n<global_preferences>\n<a>1</a>\n</global_preferences>\n");
    const auto row = database.query_one(
        "select md5(concat(cross_project_id, email_addr)) as cpid, create_time, "
        "concat(id, '_', md5(concat(authenticator, passwd_hash))) as weak from user");
    CHECK(value("cpid") == row->text("cpid"));
    CHECK(value("create_time") == row->text("create_time"));
    CHECK(value("weak_auth") == row->text("weak"));
    database.execute("insert into team (name, userid) values ('Riga', 1)");
    database.execute("update user set teamid = 1");
    Names of_founder = all;
    of_founder.emplace_back("teamfounder");
    CHECK(elements_of(manager.info(key), "am_get_info_reply") == of_founder);
}

TEST_CASE("a weak account key attaches computers and does nothing else", "[server][integration]") {
    Manager manager;
    Database& database = manager.site.database();
    const std::string key = manager.create();
    const std::string weak = manager.weak_key(key);
    manager.contact(weak);
    for (const httplib::Params& parameters :
         {httplib::Params{{"account_key", weak}, {"name", "Eve"}},
          httplib::Params{{"account_key", weak}, {"hostid", "1"}, {"venue", "home"}}}) {
        for (const char* const path :
             {"/am_get_info.php", "/am_set_info.php", "/am_set_host_info.php"}) {
            CHECK_THAT(manager.ask(path, parameters), Contains(kNotFound));
        }
    }
    CHECK_THAT(manager.ask("/show_user.php", {{"format", "xml"}, {"auth", weak}}),
               Contains(kNotFound));
    for (const std::string& hash : {weak, weak.substr(2)}) {
        CHECK_THAT(manager.ask("/lookup_account.php",
                               {{"email_addr", "ada@example.org"}, {"passwd_hash", hash}}),
                   Contains("-206"));
    }
    CHECK_FALSE(user_of(database, "ada@example.org", weak));
    CHECK(database.query_one("select name from user")->text("name") == "Ada & <co>");
    // Preferences of a computer that is attached with it are not stored.
    const std::string preferences =
        "<global_preferences>\n<mod_time>4000000000</mod_time>\n<max_ncpus_pct>13</max_ncpus_pct>\n"
        "</global_preferences>\n<global_prefs_source_email_hash>" +
        database.query_one("select md5(email_addr) as h from user")->text("h") +
        "</global_prefs_source_email_hash>\n";
    manager.contact(weak, preferences, 1, 2);
    CHECK_THAT(database.query_one("select global_prefs from user")->text("global_prefs"),
               !Contains("max_ncpus_pct"));
    manager.contact(key, preferences, 1, 3);
    CHECK_THAT(database.query_one("select global_prefs from user")->text("global_prefs"),
               Contains("max_ncpus_pct"));
}

TEST_CASE("keys that look like a weak account key belong to no account", "[server][integration]") {
    Manager manager;
    Database& database = manager.site.database();
    const std::string key = manager.create();
    const std::string weak = manager.weak_key(key);
    const std::string hash = weak.substr(2);
    database.execute(
        "insert into user (name, email_addr, authenticator, passwd_hash) values ('Bob', 'bob@x.y', "
        "md5('bob'), 'x'), ('Gone', 'gone@x.y', '', '')");
    const std::string of_empty = "d41d8cd98f00b204e9800998ecf8427e";  // MD5 of nothing
    for (const std::string& bad :
         {"2_" + hash, "0_" + hash, "01_" + hash, "+1_" + hash, "-1_" + hash, "1__" + hash,
          "1_" + hash + "_", "1_" + hash + "0", "1_" + hash.substr(1), std::string{"1_"},
          std::string{"_"}, "_" + hash, "x_" + hash, "99999999999999999999_" + hash, "1_" + key,
          "3_" + of_empty, "1_" + std::string(32, '0')}) {
        INFO(bad);
        CHECK_THAT(manager.contact(bad, kWork), Contains(kInvalid) && !Contains("<userid>"));
    }
    std::string upper = weak;
    for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    if (upper != weak) CHECK_THAT(manager.contact(upper, kWork), Contains(kInvalid));
    CHECK(database.query_one("select count(*) as n from host")->integer("n") == 0);
}

TEST_CASE("a weak account key ends with the password, the address and the key",
          "[server][integration]") {
    Manager manager;
    Database& database = manager.site.database();
    const std::string key = manager.create();
    std::string weak = manager.weak_key(key);
    const auto is_void = [&](const std::string& old) {
        return manager.contact(old).find(kInvalid) != std::string::npos;
    };
    CHECK_FALSE(is_void(weak));
    // Neither a sign-in nor another change ends it.
    Browser browser{manager.site};
    CHECK(browser
              .submit("/account/sign_in", "/account/sign_in",
                      {{"email", "ada@example.org"}, {"password", "secret"}})
              .status == 303);
    CHECK_THAT(manager.ask("/am_set_info.php", {{"account_key", key}, {"country", "Latvia"}}),
               Contains("<success/>"));
    CHECK_FALSE(is_void(weak));
    CHECK_FALSE(change_password(database, 1, "secret", "longer secret"));
    CHECK(is_void(weak));
    weak = manager.weak_key(key);
    CHECK_FALSE(change_email(database, 1, "longer secret", "new@example.org", unix_now()));
    CHECK(is_void(weak));
    weak = manager.weak_key(key);
    CHECK_FALSE(is_void(weak));
    database.execute("update user set authenticator = ? where id = 1", {random_key()});
    CHECK(is_void(weak));
}

TEST_CASE("a user's XML has BOINC's elements, and those of computers for the owner only",
          "[server][integration]") {
    Manager manager;
    Database& database = manager.site.database();
    const std::string key = manager.create();
    manager.contact(key);
    const std::string open = manager.ask("/show_user.php", {{"format", "xml"}, {"userid", "1"}});
    CHECK(elements_of(open, "user") == Names{"id", "cpid", "create_time", "name", "total_credit",
                                             "expavg_credit", "expavg_time", "teamid",
                                             "has_profile", "country"});
    database.execute("update user set url = 'a.example/<b>'");
    const std::string own = manager.ask("/show_user.php", {{"format", "xml"}, {"auth", key}});
    CHECK(elements_of(own, "user") == Names{"id", "cpid", "create_time", "name", "total_credit",
                                            "expavg_credit", "expavg_time", "teamid", "has_profile",
                                            "venue", "host", "country", "url"});
    CHECK(value_in(own, "user", "url") == "http://a.example/&lt;b&gt;");
    CHECK(elements_of(std::string{find_element(own, "user")->body}, "host") ==
          Names{"id",           "create_time",   "rpc_seqno",   "rpc_time",    "host_cpid",
                "total_credit", "expavg_credit", "expavg_time", "domain_name", "p_ncpus",
                "p_vendor",     "p_model",       "p_fpops",     "p_iops",      "os_name",
                "os_version",   "m_nbytes",      "d_free",      "d_total",     "venue"});
}

TEST_CASE("teams are found by id, by ids and by a part of their name", "[server][integration]") {
    Manager manager;
    Database& database = manager.site.database();
    database.execute(
        "insert into team (name, userid, url, type, expavg_credit) values "
        "('Team 100% Riga', 1, ?, 3, 1), ('riga_two', 2, '', 0, 9), ('Other', 3, '', 0, 5)",
        {"https://riga.example/?a=1&b=2"});
    const std::string one = manager.ask("/team_lookup.php", {{"team_id", "1"}});
    CHECK(elements_of(one, "team") == Names{"id", "create_time", "userid", "name", "url", "type",
                                            "country", "total_credit", "expavg_credit",
                                            "expavg_time"});
    CHECK(value_in(one, "team", "url") == "https://riga.example/?a=1&amp;b=2");
    CHECK_THAT(manager.ask("/team_lookup.php", {{"team_id", "77"}}), Contains(kNotFound));
    const std::string some = manager.ask("/team_lookup.php", {{"team_ids", "3,x,,77,1"}});
    CHECK(elements_of(some, "teams") == Names{"team", "team"});
    CHECK(some.find("Other") < some.find("Riga"));
    const auto named = [&](const char* name) {
        const std::string reply =
            manager.ask("/team_lookup.php", {{"team_name", name}, {"format", "xml"}});
        std::string ids;
        XmlReader teams{find_element(reply, "teams")->body};
        while (const auto team = teams.next()) ids += find_element(team->body, "id")->body;
        return ids;
    };
    CHECK(named("RIGA") == "21");  // sorted by recent credit
    CHECK(named("r\u012Bga") == "21");
    CHECK(named("100%") == "1");
    CHECK(named("%") == "1");
    CHECK(named("a_t") == "2");
    CHECK(named("nobody") == "");
    CHECK(named("' or 1=1 -- ") == "");
}

TEST_CASE("the members of a team are listed without their addresses", "[server][integration]") {
    Manager manager;
    Database& database = manager.site.database();
    const std::string key = manager.create();
    database.execute("insert into team (name, userid) values ('Riga', 1)");
    add_user(database, "Bob", 50);
    database.execute("update user set teamid = 1");
    const std::string all = manager.ask("/team_email_list.php", {{"teamid", "1"}, {"xml", "1"}});
    CHECK(elements_of(all, "users") == Names{"user", "user"});
    const auto users = find_element(all, "users");
    CHECK(elements_of(std::string{users->body}, "user") ==
          Names{"id", "cpid", "total_credit", "create_time", "name", "expavg_credit", "expavg_time",
                "has_profile", "country", "url"});
    CHECK_THAT(all, !Contains("example.org") && !Contains(key));
    const std::string paid =
        manager.ask("/team_email_list.php", {{"teamid", "1"}, {"xml", "1"}, {"creditonly", "1"}});
    CHECK(elements_of(paid, "users") == Names{"user"});
    CHECK(elements_of(std::string{find_element(paid, "users")->body}, "user") ==
          Names{"id", "cpid", "total_credit"});
    CHECK_THAT(manager.ask("/team_email_list.php", {{"teamid", "9"}, {"xml", "1"}}),
               Contains(kNotFound));
}

TEST_CASE("the account key may be entered for the password", "[server][integration]") {
    Manager manager;
    const std::string key = manager.create();
    const auto look_up = [&](const std::string& password) {
        return manager.ask("/lookup_account.php",
                           {{"email_addr", "Ada@example.org"},
                            {"passwd_hash", boinc_password_hash(password, "ada@example.org")}});
    };
    CHECK_THAT(look_up(key), Contains(key));
    CHECK_THAT(look_up("secret"), Contains(key));
    CHECK_THAT(look_up(key.substr(1)), Contains("-206"));
    CHECK_THAT(look_up(""), Contains("-206"));
    // A team that takes no members, or is not there, is no reason to refuse an account.
    manager.site.database().execute(
        "insert into team (name, userid, joinable) values ('Closed', 9, 0)");
    CHECK(manager.create({{"team_name", "Closed"}}) == key);
    CHECK(manager.create({{"team_name", "None"}}) == key);
}

TEST_CASE("versions, counts of jobs and news are there for programs", "[server][integration]") {
    Manager manager;
    Database& database = manager.site.database();
    database.execute(
        "insert into app_version (appid, version_num, platformid, xml_doc) select 1, 99, id, '' "
        "from platform where name = 'x86_64-pc-linux-gnu'");
    const std::string apps = manager.ask("/apps.php", {{"xml", "1"}});
    const auto list = find_element(apps, "app_versions");
    REQUIRE(list);
    CHECK(elements_of(std::string{list->body}, "application") ==
          Names{"user_friendly_name", "name", "id", "version"});
    const auto app = find_element(list->body, "application");
    CHECK(elements_of(std::string{app->body}, "version") == Names{"platform_short", "platform_long",
                                                                  "version_num", "plan_class",
                                                                  "date", "date_unix"});
    CHECK_THAT(apps, Contains("<version_num>100<") && !Contains("<version_num>99<") &&
                         Contains("15 Jan 2027, 08:00:00 UTC"));
    CHECK(elements_of(manager.ask("/server_status.php", {{"counts", "1"}}), "job_counts") ==
          Names{"results_ready_to_send", "results_in_progress", "results_need_file_delete",
                "wus_need_validate", "wus_need_assimilate", "wus_need_file_delete"});
    const std::string status = manager.ask("/server_status.php", {{"xml", "1"}});
    const auto states =
        find_element(find_element(status, "server_status")->body, "database_file_states");
    REQUIRE(states);
    CHECK_THAT(std::string{find_element(states->body, "tasks_by_app")->body},
               Contains("<name>train</name>") && !Contains("Trainer"));
    database.execute(
        "insert into dedloc_news (created, title, body) values (1800000000, 'Hello <all>', "
        "'One & two')");
    const std::string feed = manager.ask("/rss_main.php", {});
    const auto channel = find_element(find_element(feed, "rss")->body, "channel");
    REQUIRE(channel);
    CHECK(elements_of(std::string{channel->body}, "item") ==
          Names{"title", "link", "guid", "description", "pubDate"});
    CHECK_THAT(feed, Contains("<title>Hello &lt;all&gt;</title>") &&
                         Contains("One &amp;amp; two") &&
                         Contains("Fri, 15 Jan 2027 08:00:00 GMT"));
}

}  // namespace dedloc::server
