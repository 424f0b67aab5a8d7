#include "validators/grants.hpp"

// Must precede BOINC's other headers: it defines the macros that they depend on.
#include <config.h>

#include <boinc_db.h>
#include <credit.h>
#include <fmt/format.h>
#include <sched_util_basic.h>
#include <util.h>

#include <cmath>

#include "peer/base/random.hpp"
#include "project_server/database/recent_credit.hpp"
#include "tests/project_server/project_fixture.hpp"

using namespace dedloc;
using namespace dedloc::validation;

namespace {

constexpr double kNow = 1'800'000'000;

/// A row of user, host or team as the database returns it.
server::Row row_with(double average, double time) {
    static const auto names = std::make_shared<const std::vector<std::string>>(
        std::vector<std::string>{"expavg_credit", "expavg_time"});
    return {names, {fmt::format("{:.17g}", average), fmt::format("{:.17g}", time)}};
}

/// libsched's average for the same row and grant.
double average_of_boinc(double average, double time, const server::CreditGrant& grant) {
    update_average(grant.now, grant.started, grant.credit, CREDIT_HALF_LIFE, average, time);
    return average;
}

/// Two accounts with equal rows: one for our grants, one for those of libsched.
class Twins {
  public:
    Twins() {
        for (const int id : {1, 2}) {
            database().execute(
                "insert into user (id, name, email_addr, authenticator, teamid) values (?, ?, ?, "
                "?, ?)",
                {id, "user", std::to_string(id), std::to_string(id), id});
            database().execute("insert into team (id, name) values (?, ?)",
                               {id, std::to_string(id)});
            database().execute("insert into host (id, userid) values (?, ?)", {id, id});
            database().execute(
                "insert into result (id, name, appid, userid, teamid, hostid) values (?, ?, 7, ?, "
                "?, ?)",
                {id, std::to_string(id), id, id, id});
        }
        server::open_boinc_database(project_.config());
    }
    ~Twins() { server::close_boinc_database(); }
    Twins(const Twins&) = delete;
    Twins& operator=(const Twins&) = delete;

    void grant_ours(double started, double credit) {
        const Grant grant{.result = 1, .host = 1, .user = 1, .started = started, .credit = credit};
        server::in_transaction(database(), [&] {
            grant_credit(database(), grant, [](std::string_view) {});
            grant_credit_by_app(database(), grant, [](std::string_view) {});
        });
    }
    static void grant_by_libsched(double started, double credit) {
        DB_HOST host;
        REQUIRE(host.lookup_id(2) == 0);
        HOST former = host;
        REQUIRE(::grant_credit(host, started, credit) == 0);
        REQUIRE(host.update_diff_validator(former) == 0);
        DB_RESULT result;
        REQUIRE(result.lookup_id(2) == 0);
        REQUIRE(::grant_credit_by_app(result, credit) == 0);
    }
    /// Lets time pass for both.
    void age(double seconds) {
        for (const char* const table : {"user", "host", "team", "credit_user", "credit_team"}) {
            database().execute(fmt::format("update {} set expavg_time = expavg_time - ?", table),
                               {seconds});
        }
    }
    void check_equal() {
        constexpr double kTolerance = 1e-5;  // some ms are between the two grants
        for (const auto& [table, owner, columns] :
             {std::tuple{"user", "id", "total_credit t, expavg_credit e, expavg_time m, 0 n"},
              std::tuple{"host", "id", "total_credit t, expavg_credit e, expavg_time m, 0 n"},
              std::tuple{"team", "id", "total_credit t, expavg_credit e, expavg_time m, 0 n"},
              std::tuple{"credit_user", "userid", "total t, expavg e, expavg_time m, njobs n"},
              std::tuple{"credit_team", "teamid", "total t, expavg e, expavg_time m, njobs n"}}) {
            INFO(table);
            const auto rows = database().query(
                fmt::format("select {} from {} order by {}", columns, table, owner));
            REQUIRE(rows.size() == 2);
            CHECK(rows[0].real("t") > 0);
            CHECK(rows[0].real("t") == rows[1].real("t"));
            CHECK(rows[0].integer("n") == rows[1].integer("n"));
            CHECK(rows[0].real("e") > 0);
            CHECK(std::abs(rows[0].real("e") - rows[1].real("e")) <=
                  kTolerance * rows[1].real("e"));
            CHECK(std::abs(rows[0].real("m") - rows[1].real("m")) < 60);
        }
    }
    server::Database& database() { return project_.database(); }

  private:
    server::TestProject project_;
};

}  // namespace

TEST_CASE("averages after grants are those of BOINC's update_average", "[validation]") {
    Random random{7};
    const auto between = [&](double low, double high) {
        return low + (high - low) * random.uniform();
    };
    for (int i = 0; i < 100'000; ++i) {
        // From milliseconds to years, around BOINC's switch to a Taylor series at 0.87 s, too.
        const double elapsed = std::exp(between(std::log(1e-3), std::log(1e8)));
        const double average = between(0, 1e6);
        const double time = i % 10 == 0 ? 0 : kNow - elapsed;
        const server::CreditGrant grant{.credit = std::exp(between(-10, 15)),
                                        .started = kNow - std::exp(between(10, 18)),
                                        .now = kNow};
        const double ours = server::recent_credit_after(row_with(average, time), grant);
        const double boinc = average_of_boinc(average, time, grant);
        CAPTURE(average, elapsed, time, grant.credit);
        REQUIRE(std::abs(ours - boinc) <= 2e-6 * boinc);
    }
    // No time has passed, or the clock was set back.
    for (const double time : {kNow, kNow + 3'600}) {
        const server::CreditGrant grant{.credit = 1'000, .started = kNow - 86'400, .now = kNow};
        CHECK(server::recent_credit_after(row_with(10, time), grant) ==
              Approx(average_of_boinc(10, time, grant)).epsilon(1e-12));
    }
}

TEST_CASE("grants change host, user, team and the credit by app as those of libsched do",
          "[validation][integration]") {
    Twins twins;
    const double started = server::unix_now() - 5 * 86'400;
    for (const double credit : {10.0, 0.125, 12'345.678}) {
        twins.grant_ours(started, credit);
        Twins::grant_by_libsched(started, credit);
        twins.check_equal();
        twins.age(100'000 * credit);
    }
}

TEST_CASE("a grant to an account that is gone changes nothing", "[validation][integration]") {
    Twins twins;
    twins.database().execute("delete from user where id = 1");
    CHECK_THROWS_WITH(twins.grant_ours(1, 1), Catch::Contains("user 1 has been deleted"));
    CHECK(twins.database().query_one("select sum(total_credit) x from host")->real("x") == 0);
}
