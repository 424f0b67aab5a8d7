// A stock BOINC client that works with an old version of the app gets a notice of the
// administrator, and shows it once.
#include "project_server/database/boinc_apps.hpp"
#include "project_server/database/notices.hpp"
#include "project_server/views/notice_list.hpp"
#include "project_server/views/old_versions.hpp"
#include "tests/project_server/web/served_project.hpp"

namespace dedloc::server {
namespace {

using Catch::Contains;

constexpr const char* kText = "Version 1.01 is out: finish <this> task & get it, \"Ada\".";
const std::string kReaderKey(32, 'a');

/// Publishes small_app; each version has another program.
void publish(ServedProject& project, int version) {
    const fs::path program = project.root() / "small_app";
    fs::copy_file(DEDLOC_SMALL_APP, program, fs::copy_options::overwrite_existing);
    std::ofstream{program, std::ios::app} << "version " << version;
    publish_small_app(project.database(), project.config(), program, "", version, kTrainerApp);
}

std::size_t times(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
    return count;
}

}  // namespace

TEST_CASE("a stock client shows a notice to computers with an old version",
          "[server][boinc][integration]") {
    ServedProject project;
    Database& database = project.database();
    publish(project, 100);
    create_job(project.config(), "first", "text", nullptr, kTrainerApp);
    database.execute("insert into user (name, email_addr, authenticator) values ('Ada', 'a@b', ?)",
                     {kReaderKey});
    project.serve();
    const StockClient client{project.root() / "client.log", fs::path{}};
    client.tell("--set_run_mode never");  // a job in progress stays that
    client.tell("--project_attach " + project.url() + " " + kReaderKey);
    const bool has_job = project.updated_within(60s, client, [&] {
        return project.number("select count(*) from result where server_state = 4") == 1;
    });
    INFO(client.log());
    REQUIRE(has_job);
    CHECK(read_old_versions(database).empty());
    publish(project, 101);
    const auto old = read_old_versions(database);
    REQUIRE(old.size() == 1);
    CHECK(old[0].version == "1.00");
    CHECK(old[0].newest == "1.01");

    const double now = unix_now();
    CHECK(send_notice(database, {old[0].host, old[0].host + 7}, kText, now) == 1);
    CHECK(send_notice(database, {old[0].host}, kText, now) == 0);  // it waits already
    const bool is_shown = project.updated_within(60s, client, [&] {
        return client.tell("--get_notices").find("1.01") != std::string::npos;
    });
    INFO(client.tell("--get_notices"));
    REQUIRE(is_shown);
    const auto notices =
        std::get<json::Value::List>(notice_list(database, 9).field("notices").value());
    REQUIRE(notices.size() == 1);
    CHECK(std::get<bool>(notices[0].field("is_delivered").value()));
    CHECK(std::get<std::string>(notices[0].field("text").value()) == kText);
    CHECK_THAT(client.tell("--get_messages"), Contains("finish <this> task & get it"));
    // Later replies do not repeat it.
    const auto asked = [&] {
        return project.number("select rpc_seqno from host where id = " +
                              std::to_string(old[0].host));
    };
    const std::int64_t before = asked();
    REQUIRE(project.updated_within(120s, client, [&] { return asked() > before; }));
    CHECK(times(client.tell("--get_messages"), "1.01 is out") == 1);
}

TEST_CASE("a notice is one line that no client takes for something else", "[server]") {
    TestProject project;
    auto& database = project.database();
    database.execute("insert into host (id) values (1)");
    const auto send = [&](const std::string& text) {
        return send_notice(database, {1}, text, 1'800'000'000);
    };
    CHECK_THROWS_WITH(send(""), Contains("needs a text"));
    CHECK_THROWS_WITH(send(std::string(kMaxNotice + 1, 'x')), Contains("at most 500 bytes"));
    CHECK_THROWS_WITH(send("two\nlines"), Contains("one line"));
    CHECK_THROWS_WITH(send("\xFF"), Contains("one line"));
    CHECK_THROWS_WITH(send("your version is not too recent"), Contains("too recent"));
    CHECK(send(std::string(kMaxNotice, '&')) == 1);
    CHECK(send("</message><result_abort>") == 1);
    CHECK(project.database()
              .query_one("select xml from msg_to_host order by id desc limit 1")
              ->text("xml")
              .find("<result_abort>") == std::string::npos);
}

}  // namespace dedloc::server
