// The job, account and computer of a request for a ticket are found by their bytes, also in BOINC's
// tables under an official server, whose collation takes other names for equal.
#include <boinc_db_types.h>

#include "project_server/gateway/tickets.hpp"
#include "tests/project_server/project_fixture.hpp"

namespace dedloc::gateway {
namespace {

constexpr formats::UtcSeconds kNow{std::chrono::seconds{1'800'000'000}};

/// A job in progress of a run, in tables with the collation of make_project.
class Seat {
  public:
    Seat() {
        server::Database& database = project_.database();
        for (const char* const table : {"user", "host", "workunit", "result"}) {
            database.execute(std::string{"alter table "} + table +
                             " convert to character set utf8mb4 collate utf8mb4_unicode_ci");
        }
        database.execute(
            "insert into user (id, authenticator, email_addr) values (1, 'secret', 'a@b')");
        database.execute("insert into host (id, userid) values (1, 1)");
        database.execute(
            "insert into dedloc_run (id, name, run_id, spec, target_batch, steps, "
            "flops_per_sample, credit_per_sample, created) values (1, 'r', ?, '{}', 1, 1, 1, 1, 0)",
            {RunId{blake2b(bytes_of("a run")).bytes}.hex()});
        database.execute("insert into workunit (id, name, opaque) values (1, 'r_1', 1)");
        database.execute(
            "insert into result (id, name, workunitid, hostid, userid, server_state) values "
            "(1, 'r_1_0', 1, 1, 1, ?)",
            {RESULT_SERVER_STATE_IN_PROGRESS});
    }
    server::Database& database() { return project_.database(); }
    void ask(const std::string& result, const std::string& authenticator) {
        issue_ticket(database(), project_key_,
                     {.authenticator = authenticator,
                      .host = 1,
                      .result = result,
                      .key = key_.public_key(),
                      .port = 0},
                     kNow);
    }

  private:
    server::TestProject project_;
    const KeyPair project_key_ = KeyPair::generate();
    const KeyPair key_ = KeyPair::generate();
};

}  // namespace

TEST_CASE("a ticket is for exactly the account and job that the request names", "[gateway]") {
    Seat seat;
    for (const char* const key : {"SECRET", "s\u00E9cret", "secret ", "secre"}) {
        CHECK_THROWS_AS(seat.ask("r_1_0", key), Refused);
    }
    for (const char* const name : {"R_1_0", "r_1_0 ", "\u0155_1_0"}) {
        CHECK_THROWS_AS(seat.ask(name, "secret"), Refused);
    }
    CHECK_NOTHROW(seat.ask("r_1_0", "secret"));
}

TEST_CASE("a ticket that cannot be stored is refused data", "[gateway]") {
    Seat seat;
    seat.database().execute("alter table dedloc_ticket modify issued tinyint not null");
    CHECK_THROWS_AS(seat.ask("r_1_0", "secret"), server::RefusedData);
    seat.database().execute("alter table dedloc_ticket modify issued bigint not null");
    CHECK_NOTHROW(seat.ask("r_1_0", "secret"));
}

}  // namespace dedloc::gateway
