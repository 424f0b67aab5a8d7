// Requests with values that the database refuses are answered as such: never as an outage, and the
// requests after them are served. The columns are made narrower than what the forms accept.
#include <fmt/format.h>

#include "tests/project_server/web/site_fixture.hpp"

namespace dedloc::server {
namespace {

using Catch::Contains;

constexpr const char* kName = "\u738B\u5C0F\u660E";
constexpr const char* kLatin =
    "alter table user modify name varchar(254) character set latin1 not null";

/// Every byte as %XX.
std::string encoded(const std::string& text) {
    std::string all;
    for (const char byte : text) {
        all += fmt::format("%{:02X}", static_cast<unsigned char>(byte));
    }
    return all;
}

std::string account_query(const std::string& email, const std::string& name) {
    return "email_addr=" + email + "&passwd_hash=" + std::string(32, 'a') + "&user_name=" + name;
}

}  // namespace

TEST_CASE("people with any name register, whatever the database's default was",
          "[server][integration]") {
    TestSite site;
    int people = 0;
    for (const char* const name :
         {kName, "\u041E\u043B\u044C\u0433\u0430", "Jos\u00E9", "\U0001D11E"}) {
        const std::string email = std::to_string(++people) + "@x.org";
        const auto reply = site.get("/create_account.php?" + account_query(email, encoded(name)));
        CHECK_THAT(reply.body, Contains("<authenticator>"));
    }
    CHECK(site.database().query("select id from user where name = ?", {kName}).size() == 1);
}

TEST_CASE("a refused value of an account request is no outage", "[server][integration]") {
    TestSite site;
    site.database().execute(kLatin);
    const auto create = [&](const char* email, const char* name) {
        return site.get("/create_account.php?" + account_query(email, encoded(name))).body;
    };
    CHECK_THAT(create("a@x.org", kName), Contains("<error_num>-188</error_num>") &&
                                             Contains("cannot store") &&
                                             !Contains("not available"));
    const std::string made = create("a@x.org", "Ann");
    CHECK_THAT(made, Contains("<authenticator>"));
    const auto begin = made.find("<authenticator>") + 15;
    const std::string key = made.substr(begin, 32);
    const auto change = site.get("/am_set_info.php?account_key=" + key + "&name=" + encoded(kName));
    CHECK_THAT(change.body, Contains("<error_num>-188</error_num>") && Contains("cannot store"));
    CHECK_THAT(site.get("/am_get_info.php?account_key=" + key).body, Contains("<name>Ann</name>"));
}

TEST_CASE("a refused value of a scheduler request is no outage", "[server][integration]") {
    TestSite site;
    site.database().execute("insert into user (authenticator, email_addr) values ('key', 'a@x')");
    site.database().execute("alter table host modify timezone tinyint");
    const auto ask = [&](const std::string& zone) {
        const auto reply = site.client().Post(
            "/cgi/scheduler",
            "<scheduler_request><authenticator>key</authenticator><rpc_seqno>1</rpc_seqno>"
            "<platform_name>x86_64-pc-linux-gnu</platform_name><host_info><timezone>" +
                zone + "</timezone></host_info></scheduler_request>",
            "text/xml");
        REQUIRE(reply);
        return reply->body;
    };
    CHECK_THAT(ask("7200"), Contains("cannot store") && !Contains("project_is_down") &&
                                !Contains("not available"));
    CHECK_THAT(ask("1"), Contains("<hostid>"));
}

}  // namespace dedloc::server
