// Which jobs are asked for the run's state: those of a few accounts in turn, none that is too slow,
// and none while the project has a recent checkpoint.
#include "project_server/gateway/checkpoint_requests.hpp"

#include <boinc_db_types.h>

#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "peer/tool/synthetic_run.hpp"
#include "tests/project_server/project_fixture.hpp"

namespace dedloc::gateway {
namespace {

using namespace std::chrono_literals;
using server::Database;

/// A run with a step, and accounts with jobs in progress.
class Run {
  public:
    Run() {
        database().execute(
            "insert into app (id, name, user_friendly_name, non_cpu_intensive) values "
            "(7, 'dedloc_train', '', 0), (8, 'dedloc_aggregate', '', 1)",
            {});
        database().execute(
            "insert into dedloc_run (id, name, run_id, spec, target_batch, steps, "
            "flops_per_sample, "
            "credit_per_sample, created) values (3, 'first', '', ?, 1, 1, 1, 1, 0)",
            {formats::write_run_file(
                tool::make_run({.bytes = 400'000, .dht_seeds = {{"127.0.0.1", 9}}}))});
        trains_to(5);
    }

    void trains_to(int step) {
        database().execute(
            "replace into dedloc_step (runid, step, samples, loss, learning_rate, members, "
            "equal_digests, digest, seconds, committed_at) values (3, ?, 1, 1, 1, 1, 1, '', 1, 1)",
            {step});
    }
    /// A job in progress of this account, with a ticket. Returns the result's id.
    std::int64_t add_job(int user, double upload = 1e6, int app = 7) {
        database().execute("insert into host (userid, n_bwup) values (?, ?)", {user, upload});
        const auto host = database().insert_id();
        database().execute(
            "insert into result (name, workunitid, hostid, userid, server_state, appid) values "
            "(?, 1, ?, ?, ?, ?)",
            {"first_" + std::to_string(++jobs_), host, user, RESULT_SERVER_STATE_IN_PROGRESS, app});
        const auto result = database().insert_id();
        database().execute(
            "insert into dedloc_ticket (runid, peer_key, resultid, issued, expires) values "
            "(3, ?, ?, 0, 100000000000)",
            {std::to_string(jobs_), result});
        return result;
    }
    bool asks(std::int64_t result, std::chrono::seconds after = 0s, bool only_averages = false) {
        return is_asked_for_checkpoint(database(), key_,
                                       {.run = 3, .result = result, .only_averages = only_averages},
                                       formats::UtcSeconds{kStart + after});
    }
    Database& database() { return project_.database(); }

    static constexpr std::chrono::seconds kStart = 1000 * std::chrono::seconds{kCheckpointPeriod};

  private:
    server::TestProject project_;
    const KeyPair key_ = KeyPair::generate();
    int jobs_ = 0;
};

TEST_CASE("two accounts are asked in each period, one job of each, until there is a verdict",
          "[gateway]") {
    Run run;
    std::map<std::int64_t, int> users;
    for (int user = 1; user <= 5; ++user) {
        for (int job = 0; job < 3; ++job) users[run.add_job(user)] = user;
    }
    const auto asked = [&](std::chrono::seconds after) {
        std::set<std::int64_t> results;
        for (const auto& [result, user] : users) {
            if (run.asks(result, after)) results.insert(result);
        }
        return results;
    };
    const auto first = asked(0s);
    REQUIRE(first.size() == kUploaders);
    CHECK(users[*first.begin()] != users[*first.rbegin()]);
    CHECK(asked(1s) == first);  // asking again changes nothing
    run.database().execute("update dedloc_upload set verdict = 'stale' where resultid = ?",
                           {*first.begin()});
    CHECK(asked(2s) == std::set{*first.rbegin()});
    // The next period asks others; the job asked before stays asked until a day has passed.
    const auto second = asked(kCheckpointPeriod);
    CHECK(second.size() == kUploaders + 1);
    CHECK(second.contains(*first.rbegin()));
    CHECK_FALSE(second.contains(*first.begin()));
    CHECK_FALSE(asked(kAskedFor + 1s).contains(*first.rbegin()));
}

TEST_CASE("an account with many jobs that asks all the time is not chosen more often",
          "[gateway]") {
    Run run;
    std::map<std::int64_t, int> users;
    std::vector<std::int64_t> of_liar;
    for (int user = 1; user <= 8; ++user) {
        for (int job = 0; job < (user == 1 ? 60 : 20); ++job) {
            const auto result = run.add_job(user);
            users[result] = user;
            if (user == 1) of_liar.push_back(result);
        }
    }
    std::map<int, int> chosen;
    const int periods = 48;
    for (int period = 0; period < periods; ++period) {
        const auto at = period * std::chrono::seconds{kCheckpointPeriod};
        for (const auto result : of_liar) (void)run.asks(result, at);  // the first to ask
        for (const auto& row : run.database().query(
                 "select resultid from dedloc_upload where period = ?", {1'000 + period})) {
            ++chosen[users.at(row.integer("resultid"))];
        }
    }
    int all = 0;
    for (const auto& [user, times] : chosen) all += times;
    CAPTURE(chosen[1], all);
    CHECK(all == 2 * periods);
    CHECK(chosen.size() >= 7);
    // An eighth of 96 is 12; 26 or more has a probability below one in ten thousand.
    CHECK(chosen[1] < 26);
}

TEST_CASE("no job is asked while the project has a recent checkpoint, or nothing new to get",
          "[gateway]") {
    Run run;
    const auto job = run.add_job(1);
    const auto saves = [&](int step, std::chrono::seconds at) {
        run.database().execute(
            "replace into dedloc_checkpoint (runid, step, digest, path, bytes, created_at) values "
            "(3, ?, '', '', 1, ?)",
            {step, (Run::kStart + at).count()});
    };
    saves(4, -1h);
    CHECK_FALSE(run.asks(job));
    saves(4, -7h);
    saves(5, -7h);
    CHECK_FALSE(run.asks(job));
    run.trains_to(6);
    CHECK(run.asks(job));
}

TEST_CASE("slow computers, aggregators, banned computers and jobs that are over are not chosen",
          "[gateway]") {
    Run run;
    const auto slow = run.add_job(1, 50);  // a state of 400 KB in an hour takes 334
    const auto unknown = run.add_job(2, 0);
    const auto averages = run.add_job(3, 1e6, 8);
    const auto over = run.add_job(4);
    run.database().execute("update result set server_state = 5 where id = ?", {over});
    const auto banned = run.add_job(5);
    run.database().execute(
        "update host set max_results_day = -1 where id = (select hostid from result where id = ?)",
        {banned});
    for (const auto job : {slow, unknown, over, banned}) CHECK_FALSE(run.asks(job));
    CHECK_FALSE(run.asks(averages, 0s, true));
    const auto good = run.add_job(6);
    CHECK(run.asks(good));
}

}  // namespace
}  // namespace dedloc::gateway
