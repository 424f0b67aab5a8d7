// Accounts and networks that have all the seats that they may have.
#include "tests/project_server/check/checked_project.hpp"

namespace dedloc::check {

TEST_CASE("accounts and networks without a free seat are found", "[server][integration]") {
    CheckedProject project;
    auto& rows = project.database();
    rows.execute("update dedloc_ticket set expires = 4e9, network = '198.51.100.0/24'");
    CHECK(project.faults().empty());  // the job is over
    rows.execute(
        "insert into result (id, workunitid, name, server_state, userid) values (7, 1, 'a', 4, 1), "
        "(8, 1, 'b', 4, 1)");
    for (const char* const ticket : {"'k1', 7, 1, 4e9", "'k2', 7, 1, 4e9", "'k3', 8, 1, 4e9"}) {
        rows.execute(std::string{"insert into dedloc_ticket (runid, peer_key, resultid, userid, "
                                 "expires, issued, network) values (1, "} +
                     ticket + ", 1, '198.51.100.0/24')");
    }
    project.settings.seats_per_account = 3;
    CHECK(project.faults().empty());
    project.settings.seats_per_account = 2;
    project.settings.seats_per_network = 2;
    const auto faults = project.faults();
    REQUIRE(faults.size() == 2);
    CHECK(faults[0].check == "seats");
    CHECK(faults[0].level == Level::kWarning);
    CHECK(faults[0].sentence ==
          "the account 1 has 2 jobs in the swarm, and seats_per_account is 2: its other jobs wait");
    CHECK_THAT(faults[0].advice, Catch::Contains("higher seats_per_account in dedloc.json"));
    CHECK_THAT(faults[1].sentence, Catch::StartsWith("the network 198.51.100.0/24 has 2 jobs"));
    project.settings.seats_per_account = 0;
    project.settings.seats_per_network = 0;
    CHECK(project.faults().empty());
}

}  // namespace dedloc::check
