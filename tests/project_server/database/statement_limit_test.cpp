// The limit that a new project asks of its server against the longest description of a run.
#include "project_server/database/statement_limit.hpp"

#include <catch2/catch.hpp>

#include "tests/project_server/project_fixture.hpp"

namespace dedloc::server {
namespace {

/// Creates a run whose description has nothing but quotes.
void create_longest(Database& database) {
    database.execute(
        "insert into dedloc_run (name, run_id, spec, target_batch, steps, flops_per_sample, "
        "credit_per_sample, created) values ('r', ?, ?, 1, 1, 1, 1, 0)",
        {std::string(64, '0'), std::string(formats::kMaxRunFileBytes, '"')});
}

TEST_CASE("a server that is not refused takes the longest statement", "[server][integration]") {
    const TestProject project;
    Database administrator{mariadb_administrator(test_mariadb().place())};
    const auto before =
        administrator.query_one("select @@global.max_allowed_packet as bytes")->integer("bytes");
    for (const int mebibytes : {1, 4, 8, 9, 16, 1024}) {
        CAPTURE(mebibytes);
        administrator.execute("set global max_allowed_packet = ?", {mebibytes << 20});
        Database database{project.config().database};
        const bool is_taken = mebibytes > 8;
        const std::string fault = statement_limit_fault(database);
        CHECK(fault.empty() == is_taken);
        if (is_taken) {
            require_statement_limit(database);
            create_longest(database);
            database.execute("delete from dedloc_run");
        } else {
            CHECK_THAT(fault, Catch::Contains("set max_allowed_packet=16M") &&
                                  Catch::Contains(std::to_string(mebibytes << 20)));
            CHECK_THROWS_AS(require_statement_limit(database), InputError);
            CHECK_THROWS_AS(create_longest(database), RefusedData);
        }
    }
    administrator.execute("set global max_allowed_packet = ?", {before});
}

}  // namespace
}  // namespace dedloc::server
