// What stock programs, sites of statistics and people's links ask a project for.
#include "tests/project_server/web/stock_addresses.hpp"

#include <set>

#include "project_server/web/stock_addresses.hpp"
#include "tests/project_server/web/browser.hpp"

namespace dedloc::server {
namespace {

using Catch::Contains;

/// A site on which the account 1 has the key, a computer and a team.
struct KnownSite {
    TestSite site;
    std::string key;

    KnownSite() {
        Database& database = site.database();
        add_user(database, "Ann", 50);
        add_host(database, 1, "CPU", 5);
        database.execute("insert into team (name, userid) values ('Riga', 1)");
        database.execute("update user set teamid = 1");
        key = database.query_one("select authenticator from user")->text("authenticator");
    }
    std::string path_of(const StockAddress& address) const {
        std::string path{address.address};
        if (const auto at = path.find("KEY"); at != path.npos) path.replace(at, 3, key);
        return "/" + path;
    }
};

std::size_t header_count(const httplib::Response& response, const char* header) {
    return static_cast<std::size_t>(response.get_header_value_count(header));
}

}  // namespace

TEST_CASE("every address that stock programs and links know has its answer",
          "[server][integration]") {
    KnownSite known;
    for (const StockAddress& address : kStockAddresses) {
        const std::string path = known.path_of(address);
        INFO(path);
        INFO(address.source);
        const auto response = known.site.get(path);
        INFO(response.body);
        switch (address.answer) {
            case StockAnswer::kPage:
                CHECK(response.status == 200);
                CHECK_THAT(response.body, Contains("<!doctype html>", Catch::CaseSensitive::No));
                break;
            case StockAnswer::kXml:
                CHECK(response.status == 200);
                CHECK_THAT(response.body, Contains(std::string{address.says}));
                CHECK_THAT(response.get_header_value("Content-Type"),
                           Catch::StartsWith("text/xml"));
                break;
            case StockAnswer::kNone:
                CHECK(response.status == 404);
                break;
            case StockAnswer::kSent: {
                CHECK(response.status == 303);
                const std::string to = response.get_header_value("Location");
                CHECK(to == "/" + std::string{address.says});
                // The page exists, or wants its visitor to sign in first.
                const auto page = known.site.get(to);
                CHECK((page.status == 200 || page.status == 303));
                break;
            }
        }
    }
}

TEST_CASE("a key in an address opens no session and goes nowhere", "[server][integration]") {
    KnownSite known;
    for (const StockAddress& address : kStockAddresses) {
        if (address.answer != StockAnswer::kSent) continue;
        const std::string path = known.path_of(address);
        const std::string with_key =
            path + (path.find('?') == path.npos ? '?' : '&') +
            fmt::format("auth={0}&key={0}&account_key={0}&authenticator={0}", known.key);
        INFO(with_key);
        const auto response = known.site.get(with_key, {{"Cookie", "auth=" + known.key}});
        CHECK(header_count(response, "Set-Cookie") == 0);
        const std::string to = response.get_header_value("Location");
        CHECK_THAT(to, Catch::StartsWith("/") && !Catch::StartsWith("//") && !Contains(known.key));
        CHECK_THAT(response.get_header_value("Cache-Control"), Contains("no-store"));
        CHECK(header_count(response, "Referrer-Policy") == 1);
        CHECK(response.get_header_value("Referrer-Policy") == "no-referrer");
        // The page that follows has no session either.
        const auto page = known.site.get(to);
        CHECK_THAT(page.get_header_value("Set-Cookie"), !Contains("dedloc_session"));
        CHECK_THAT(page.body, !Contains("Sign out") && !Contains(known.key));
    }
    const auto sessions = known.site.get("/account");
    CHECK(sessions.status == 303);
}

TEST_CASE("the list of addresses has every page of BOINC's that leads to ours", "[server]") {
    std::set<std::string_view> known;
    for (const StockAddress& address : kStockAddresses) {
        known.insert(address.address.substr(0, address.address.find('?')));
    }
    for (const StockPage& page : stock_pages()) {
        INFO(page.stock);
        CHECK(known.contains(page.stock));
        CHECK((page.argument == nullptr) == (page.page_of == nullptr));
    }
}

TEST_CASE("an unknown file of PHP is no page, and ids are numbers", "[server][integration]") {
    KnownSite known;
    CHECK(known.site.get("/unheard_of.php").status == 404);
    CHECK(known.site.get("/a/home.php").status == 404);
    for (const char* const id :
         {"", "-1", "1%2F..%2F..", "1e3", "99999999999999999999", "%0d%0aX:1"}) {
        const auto response = known.site.get(std::string{"/userw.php?id="} + id);
        CHECK(response.get_header_value("Location") == "/users");
        CHECK_FALSE(response.has_header("X"));
    }
    // A form cannot be sent there.
    const auto posted = known.site.client().Post("/home.php", httplib::Params{{"auth", "x"}});
    REQUIRE(posted);
    CHECK(posted->status == 404);
}

TEST_CASE("the Manager's last page welcomes a new volunteer", "[server][integration]") {
    KnownSite known;
    Browser browser{known.site};
    const auto finish = browser.get("/account_finish.php?auth=" + known.key);
    CHECK(finish.get_header_value("Location") == "/account/ready");
    CHECK_THAT(browser.get("/account/ready").body,
               Contains("Your account is ready") && Contains("/account/sign_in"));
}

TEST_CASE("the account's page shows both keys to its owner only", "[server][integration]") {
    TestSite site;
    Browser ada{site};
    register_as(ada, "Ada");
    const auto row = site.database().query_one(
        "select concat(id, '_', md5(concat(authenticator, passwd_hash))) as weak from user");
    const std::string page = ada.get("/weak_auth.php").get_header_value("Location");
    CHECK_THAT(ada.get(page).body,
               Contains(row->text("weak")) &&
                   Contains("account_127.0.0.1_" + std::to_string(site.port()) + ".xml"));
    CHECK_THAT(ada.get("/account.json").body, !Contains(row->text("weak")));
    CHECK(site.get(page).status == 303);
}

}  // namespace dedloc::server
