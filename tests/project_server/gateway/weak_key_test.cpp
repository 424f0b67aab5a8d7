// Tickets for computers that an account manager has attached with the weak account key.
#include "tests/project_server/gateway/gateway_fixture.hpp"

namespace dedloc::gateway {
namespace {

/// As BOINC computes it.
std::string weak_key_of(Database& database, std::int64_t user) {
    return database
        .query_one(
            "select concat(id, '_', md5(concat(authenticator, passwd_hash))) as k from user where "
            "id = ?",
            {user})
        ->text("k");
}

}  // namespace

TEST_CASE("a computer that is attached with the weak account key gets a ticket", "[gateway]") {
    Gateway gateway;
    Database& database = gateway.database();
    auto wanted = gateway.options();
    const auto weak = [&] { return weak_key_of(database, gateway.user()); };
    // What dedloc-server stores, and what BOINC's PHP does.
    for (const char* const hash :
         {"$argon2id$v=19$m=65536,t=2,p=1$c2FsdA$aGFzaA",
          "$2y$10$abcdefghijklmnopqrstuuWjz8vW4xZ3Qh1Kb5tB0aV7m2yq9JtGe", ""}) {
        database.execute("update user set passwd_hash = ?", {hash});
        wanted.request.authenticator = weak();
        INFO(wanted.request.authenticator);
        CHECK(net::enrol(wanted, kWanted));
    }
    const std::string old = weak();
    database.execute("update user set passwd_hash = 'another'");
    const std::string own = weak();
    for (const std::string& bad :
         {old, own + "0", own.substr(0, own.size() - 1), "0" + own,
          std::to_string(gateway.user() + 1) + own.substr(own.find('_')),
          own.substr(own.find('_') + 1), own.substr(own.find('_')), std::string{"_"}}) {
        wanted.request.authenticator = bad;
        INFO(bad);
        CHECK_THAT(gateway.refusal_of(wanted), Catch::Contains("no job named first_1_0"));
    }
    // The key of another account opens none of this one's jobs.
    database.execute(
        "insert into user (authenticator, email_addr, passwd_hash) values ('theirs', 'c@d', 'x')");
    wanted.request.authenticator = weak_key_of(database, database.insert_id());
    CHECK_THAT(gateway.refusal_of(wanted), Catch::Contains("no job named first_1_0"));
    // An account without a key has no weak one either.
    wanted.request.authenticator = own;
    CHECK(net::enrol(wanted, kWanted));
    database.execute("update user set authenticator = '', passwd_hash = '' where id = ?",
                     {gateway.user()});
    for (const std::string& bad : {weak(), std::string{" "}}) {
        wanted.request.authenticator = bad;
        CHECK_THAT(gateway.refusal_of(wanted), Catch::Contains("no job named first_1_0"));
    }
}

}  // namespace dedloc::gateway
