// Which computers get no ticket because of a ban, and what a client is told whose data the database
// refuses.
#include <httplib.h>

#include "project_server/database/host_blacklist.hpp"
#include "project_server/database/revocations.hpp"
#include "tests/project_server/gateway/gateway_fixture.hpp"

namespace dedloc::gateway {
namespace {

using Catch::Contains;

/// A job that was sent to one computer of an account, of which another one asks for the ticket.
class TwoComputers {
  public:
    TwoComputers() {
        database().execute("insert into host (userid) values (?)", {gateway_.user()});
        asking_ = database().insert_id();
        database().execute("insert into host (userid) values (?)", {gateway_.user()});
        third_ = database().insert_id();
        auto wanted = gateway_.options();
        wanted.request.host = static_cast<std::uint64_t>(asking_);
        wanted_ = std::make_unique<net::EnrolmentOptions>(wanted);
    }
    Database& database() { return gateway_.database(); }
    std::int64_t first() const { return gateway_.host(); }
    std::int64_t asking() const { return asking_; }
    std::int64_t third() const { return third_; }
    bool has_ticket() const { return net::enrol(*wanted_, kWanted).has_value(); }
    std::string refusal() const { return gateway_.refusal_of(*wanted_); }

  private:
    Gateway gateway_;
    std::int64_t asking_ = 0;
    std::int64_t third_ = 0;
    std::unique_ptr<net::EnrolmentOptions> wanted_;
};

formats::Revocations of_host(std::int64_t host) {
    return {.as_of = {}, .users = {}, .hosts = {static_cast<std::uint64_t>(host)}, .peers = {}};
}

}  // namespace

TEST_CASE("a ban of the computer that got the job or of the one that asks refuses the ticket",
          "[gateway]") {
    TwoComputers computers;
    Database& database = computers.database();
    CHECK(computers.has_ticket());
    for (const std::int64_t banned : {computers.first(), computers.asking()}) {
        INFO(banned);
        server::revoke(database, of_host(banned), formats::UtcSeconds{1s}, "it sends nonsense");
        CHECK(computers.refusal() ==
              "The project has banned this computer, so it gets no tasks: "
              "it sends nonsense");
        server::forgive(database, of_host(banned));
        CHECK(computers.has_ticket());
    }
    // A ban of a third computer of the account concerns neither.
    server::revoke(database, of_host(computers.third()), formats::UtcSeconds{1s});
    CHECK(computers.has_ticket());
}

TEST_CASE(
    "a computer that BOINC's scheduler refuses gets no ticket for another's job, nor "
    "another for its job",
    "[gateway]") {
    TwoComputers computers;
    Database& database = computers.database();
    const auto blacklist = [&](std::int64_t host, int value) {
        database.execute("update host set max_results_day = ? where id = ?", {value, host});
    };
    for (const std::int64_t banned : {computers.first(), computers.asking()}) {
        INFO(banned);
        blacklist(banned, server::kBlacklisted);
        CHECK(computers.refusal() == "the project has banned this computer");
        blacklist(banned, 0);
        CHECK(computers.has_ticket());
    }
    blacklist(computers.third(), server::kBlacklisted);
    CHECK(computers.has_ticket());
}

TEST_CASE("a request whose data the database refuses is answered with 400, not as an outage",
          "[gateway]") {
    Gateway gateway;
    Database& database = gateway.database();
    const auto ask = [&] {
        httplib::Client client{gateway.url()};
        const auto reply = client.Post("/dedloc/enrol",
                                       formats::write_enrolment_request(gateway.options().request),
                                       "application/json");
        REQUIRE(reply);
        return *reply;
    };
    for (const char* const sent : {"a statement of a new connection", "a prepared statement"}) {
        INFO(sent);
        database.execute("delete from dedloc_ticket");
        database.execute("alter table dedloc_ticket modify issued tinyint not null");
        const auto refused = ask();
        CHECK(refused.status == 400);
        CHECK(formats::is_enrolment_refusal(refused.body));
        CHECK_THAT(refused.body, Contains("(issued)") && !Contains("not available"));
        CHECK(gateway.refusal_of(gateway.options()) ==
              formats::parse_enrolment_error(refused.body));
        database.execute("alter table dedloc_ticket modify issued bigint not null");
        CHECK(ask().status == 200);
    }
}

}  // namespace dedloc::gateway
