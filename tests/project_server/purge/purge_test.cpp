#include "project_server/purge/purge.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <config.h>

#include <sched_util.h>

#include <array>
#include <ctime>

#include "peer/platform/files.hpp"
#include "tests/project_server/statement_log.hpp"

using namespace dedloc;
using namespace dedloc::purge;

namespace {

constexpr std::int64_t kDay = 86'400;
constexpr std::int64_t kNow = 1'800'000'000;

/// A project with one run and a newest job that is in progress.
struct World {
    server::TestProject project;

    World() {
        database().execute("insert into app (id, name) values (7, 'dedloc_train')");
        database().execute(
            "insert into dedloc_run (id, name, run_id, spec, target_batch, steps, "
            "flops_per_sample, credit_per_sample, created) values (3, 'demo', '', '{}', 8, 10, "
            "1e6, 1, 0)");
        add_job(1'000, 0);
        database().execute("update workunit set assimilate_state = 0");
        database().execute("update result set server_state = 4");
    }
    server::Database& database() { return project.database(); }

    /// A closed job of one valid result with its receipt, all last changed `age` days ago.
    void add_job(int number, int age) {
        const std::int64_t time = kNow - age * kDay;
        database().execute(
            "insert into workunit (id, appid, name, assimilate_state, canonical_resultid, opaque, "
            "mod_time) values (?, 7, ?, 2, ?, 3, from_unixtime(?))",
            {number, fmt::format("demo_{}", number), number, time});
        add_result(number, number, 0, age);
    }
    void add_result(int number, int job, int suffix, int age) {
        const std::string name = fmt::format("demo_{}_{}", job, suffix);
        database().execute(
            "insert into result (id, workunitid, server_state, outcome, validate_state, name, "
            "xml_doc_in, mod_time) values (?, ?, 5, 1, 1, ?, ?, from_unixtime(?))",
            {number, job, name,
             fmt::format("<result><file_ref><file_name>{}_r123_0</file_name></file_ref></result>",
                         name),
             kNow - age * kDay});
        upload(name + "_r123_0", age);
    }
    std::filesystem::path path_of(const std::string& name) const {
        std::array<char, 4096> path{};
        REQUIRE(dir_hier_path(name.c_str(), project.config().upload_directory.c_str(),
                              project.config().directory_fanout, path.data(), true) == 0);
        return path.data();
    }
    void upload(const std::string& name, int age) const {
        const auto path = path_of(name);
        platform::replace_file(path, "receipt");
        const timespec then{.tv_sec = kNow - age * kDay, .tv_nsec = 0};
        const std::array<timespec, 2> times{then, then};
        REQUIRE(utimensat(AT_FDCWD, path.c_str(), times.data(), 0) == 0);
    }
    bool has(const std::string& file) const { return std::filesystem::exists(path_of(file)); }

    PurgeReport pass(PurgeOptions options = {}) {
        return Purge{project.config(), database(), std::move(options)}.pass(kNow);
    }
    std::string one(const std::string& sql) {
        const auto row = database().query_one(sql);
        REQUIRE(row);
        return row->text("x");
    }
    std::string jobs() {
        return one(
            "select concat_ws(' ', (select group_concat(id order by id) from workunit), "
            "(select group_concat(id order by id) from result)) x");
    }
};

}  // namespace

TEST_CASE("a closed job goes after its grace period: receipt, results, workunit",
          "[server][integration]") {
    World world;
    world.add_job(1, 8);
    world.add_result(2, 1, 1, 9);
    world.add_job(3, 6);
    world.database().execute(
        "insert into dedloc_contribution (runid, step, peer_key, samples, loss_sum, resultid, "
        "credit, credit_state, committed_at) values (3, 1, 'a', 8, 0, 1, 8, 1, ?)",
        {kNow - 8 * kDay});
    const auto report = world.pass();
    CHECK(report.jobs == 1);
    CHECK(report.files == 2);
    CHECK(world.jobs() == "3,1000 3,1000");
    CHECK_FALSE(world.has("demo_1_0_r123_0"));
    CHECK_FALSE(world.has("demo_1_1_r123_0"));
    CHECK(world.has("demo_3_0_r123_0"));
    CHECK(world.one("select concat_ws(' ', credit, resultid) x from dedloc_contribution") == "8 1");
    CHECK(world.pass().jobs == 0);
}

TEST_CASE("what a late report or a running job may need stays", "[server][integration]") {
    World world;
    world.add_job(1, 8);
    SECTION("another result is in progress") {
        world.add_result(2, 1, 1, 8);
        world.database().execute(
            "update result set server_state = 4, mod_time = mod_time where id = 2");
    }
    SECTION("a result was reported lately") {
        world.add_result(2, 1, 1, 1);
    }
    SECTION("a result waits for its verdict") {
        world.database().execute("update workunit set need_validate = 1, mod_time = mod_time");
    }
    SECTION("it is not closed") {
        world.database().execute("update workunit set assimilate_state = 1, mod_time = mod_time");
    }
    SECTION("it is of another app") {
        world.database().execute("update workunit set appid = 8, mod_time = mod_time where id = 1");
    }
    SECTION("it is the newest job") {
        world.database().execute("delete from workunit where id = 1000");
        CHECK(world.pass().jobs == 0);
        CHECK(world.one("select max(id) x from workunit") == "1");
        return;
    }
    SECTION("an official server deletes jobs") {
        CHECK(world.pass({.keeps_jobs = true}).files == 0);
        CHECK(world.has("demo_1_0_r123_0"));
        return;
    }
    const auto report = world.pass();
    CHECK(report.jobs + report.files == 0);
    CHECK(world.has("demo_1_0_r123_0"));
    CHECK(world.one("select count(*) x from workunit") == "2");
}

TEST_CASE("a crash between file and rows is repaired by the next pass", "[server][integration]") {
    World world;
    world.add_job(1, 8);
    world.add_job(2, 8);
    std::filesystem::remove(world.path_of("demo_1_0_r123_0"));
    world.database().execute(
        "update workunit set file_delete_state = 2, mod_time = mod_time where id = 2");
    CHECK(world.pass().jobs == 2);
    CHECK(world.jobs() == "1000 1000");
    CHECK(world.one("select count(*) x from workunit where file_delete_state <> 0") == "0");
}

TEST_CASE("a file that cannot be deleted keeps its job, until the next start",
          "[server][integration]") {
    World world;
    world.add_job(1, 8);
    world.add_job(2, 8);
    const auto path = world.path_of("demo_1_0_r123_0");
    std::filesystem::remove(path);
    std::filesystem::create_directories(path / "in the way");
    Purge purge{world.project.config(), world.database(), {}};
    CHECK(purge.pass(kNow).jobs == 1);
    CHECK(purge.pass(kNow).jobs == 0);
    CHECK(world.one("select file_delete_state x from workunit where id = 1") == "3");
    std::filesystem::remove(path / "in the way");
    CHECK(purge.pass(kNow).jobs == 0);
    CHECK(world.pass().jobs == 1);
}

TEST_CASE("uploads that arrived after their job was deleted are found", "[server][integration]") {
    World world;
    world.upload("demo_5_0_r77_0", 8);
    world.upload("demo_5_1_r77_0.unfinished", 8);
    world.upload("demo_5_2_r77_0", 6);
    world.upload("demo_1000_0_r9_0", 8);  // its job is there
    world.upload("readme", 8);
    Purge purge{world.project.config(), world.database(), {.upload_folders = 100}};
    int files = 0;
    for (int i = 0; i < 11; ++i) files += purge.pass(kNow).files;
    CHECK(files == 2);
    CHECK_FALSE(world.has("demo_5_0_r77_0"));
    CHECK_FALSE(world.has("demo_5_1_r77_0.unfinished"));
    for (const char* const kept : {"demo_5_2_r77_0", "demo_1000_0_r9_0", "readme"}) {
        CHECK(world.has(kept));
    }
}

TEST_CASE("a ticket goes when the ledger has been recorded beyond it and its key is compacted",
          "[server][integration]") {
    World world;
    const auto ticket = [&](const char* key, int days) {
        world.database().execute(
            "insert into dedloc_ticket (runid, peer_key, resultid, issued, expires) values "
            "(3, ?, 1, 0, ?)",
            {key, kNow - days * kDay});
    };
    const auto contribution = [&](const char* key, int state) {
        world.database().execute(
            "insert into dedloc_contribution (runid, step, peer_key, samples, loss_sum, "
            "credit_state, committed_at) values (3, 1, ?, 8, 0, ?, ?)",
            {key, state, kNow - 20 * kDay});
    };
    const auto recorded = [&](int days) {
        world.database().execute("replace into dedloc_step values (3, 9, 8, 1, 1, 1, 1, '', 1, ?)",
                                 {kNow - days * kDay});
    };
    ticket("paid", 8);
    ticket("never", 8);
    ticket("pending", 8);
    ticket("withheld", 8);
    ticket("young", 6);
    contribution("paid", 1);
    contribution("pending", 0);
    contribution("withheld", 2);
    // The backbone could not write for nine days: contributions of these keys may follow.
    recorded(9);
    CHECK(world.pass().tickets == 0);
    recorded(0);
    CHECK(world.pass().tickets == 1);
    CHECK(world.one("select group_concat(peer_key order by peer_key) x from dedloc_ticket") ==
          "paid,pending,withheld,young");
    world.database().execute("delete from dedloc_contribution where peer_key = 'paid'");
    CHECK(world.pass().tickets == 1);
    CHECK(world.one("select group_concat(peer_key order by peer_key) x from dedloc_ticket") ==
          "pending,withheld,young");
}

namespace {

/// Credit, samples and bytes of credited and of unowned contributions, with those in daily sums.
std::string sums_of_all(World& world) {
    return world.one(
        "select concat_ws(' ', (select sum(credit) from dedloc_contribution) + "
        "(select coalesce(sum(credit), 0) from dedloc_daily_credit), "
        "(select sum(if(credit_state = 1, samples, 0)) from dedloc_contribution) + "
        "(select coalesce(sum(samples), 0) from dedloc_daily_credit), "
        "(select sum(if(credit_state = 3, samples, 0)) from dedloc_contribution) + "
        "(select coalesce(sum(unowned), 0) from dedloc_daily_credit), "
        "(select sum(if(credit_state = 1, reduced_bytes, 0)) from dedloc_contribution) + "
        "(select coalesce(sum(reduced_bytes), 0) from dedloc_daily_credit), "
        "(select sum(if(credit_state = 3, reduced_bytes, 0)) from dedloc_contribution) + "
        "(select coalesce(sum(unowned_bytes), 0) from dedloc_daily_credit)) x");
}

}  // namespace

TEST_CASE("old contributions become sums for each day, and the sums of all stay the same",
          "[server][integration]") {
    World world;
    auto& database = world.database();
    database.execute(
        "insert into dedloc_ticket (runid, peer_key, resultid, userid, hostid, issued, expires) "
        "values (3, 'a', 1, 5, 50, 0, 0), (3, 'b', 2, 6, 60, 0, 0)");
    const std::int64_t noon = kNow - kNow % kDay - 40 * kDay + kDay / 2;
    const auto add = [&](int step, const char* key, int state, std::int64_t when) {
        database.execute(
            "insert into dedloc_contribution (runid, step, peer_key, samples, loss_sum, resultid, "
            "reduced_bytes, credit, committed_at, credit_state) values (3, ?, ?, ?, 0, 1, ?, ?, "
            "?, ?)",
            {step, key, step, 100 * step, state == 1 ? step * 0.5 : 0.0, when, state});
    };
    for (int step = 1; step <= 10; ++step) {
        add(step, "a", 1, noon + step);
        add(step, "b", step == 4 ? 2 : 1, noon + (step > 5 ? kDay : 0));
        add(step, "c", 3, noon + step);
    }
    for (int step = 11; step <= 12; ++step) add(step, "a", 1, kNow - 8 * kDay);
    const std::string before = sums_of_all(world);
    const auto state = [&] {
        return world.one(
            "select concat_ws(' ', (select compacted from dedloc_run), "
            "(select count(*) from dedloc_contribution)) x");
    };

    SECTION("in batches, but for those that are withheld or young") {
        Purge purge{world.project.config(), database, {.batch = 3}};
        CHECK(purge.pass(kNow).contributions == 29);
        CHECK(state() == "10 3");
        CHECK(sums_of_all(world) == before);
        CHECK(
            world.one("select group_concat(userid, ':', hostid, ':', day, ':', contributions, "
                      "':', samples, ':', unowned, ':', reduced_bytes, ':', unowned_bytes order by "
                      "userid, day) x from dedloc_daily_credit") ==
            fmt::format("0:0:{0}:10:0:55:0:5500,5:50:{0}:10:55:0:5500:0,"
                        "6:60:{0}:4:11:0:1100:0,6:60:{1}:5:40:0:4000:0",
                        noon / kDay, noon / kDay + 1));
        CHECK(purge.pass(kNow).contributions == 0);
        // The ban is withdrawn, and the contribution paid.
        database.execute(
            "update dedloc_contribution set credit_state = 1, credit = 2 where step = 4");
        CHECK(purge.pass(kNow).contributions == 1);
        CHECK(state() == "10 2");
        CHECK(purge.pass(kNow + 40 * kDay).contributions == 2);
        CHECK(state() == "12 0");
    }
    SECTION("a pending one stops the mark until it is paid") {
        database.execute(
            "update dedloc_contribution set credit_state = 0, credit = 0 where step = 3 and "
            "peer_key = 'b'");
        CHECK(world.pass().contributions == 6);
        CHECK(state() == "2 26");
        database.execute(
            "update dedloc_contribution set credit_state = 1, credit = 1.5 where "
            "step = 3 and peer_key = 'b'");
        CHECK(world.pass().contributions == 23);
        CHECK(state() == "10 3");
        CHECK(sums_of_all(world) == before);
    }
}

TEST_CASE("old seats and messages go", "[server][integration]") {
    World world;
    for (const auto& [key, state, days] :
         {std::tuple{"a", "left", 8}, std::tuple{"b", "left", 6}, std::tuple{"c", "working", 8}}) {
        world.database().execute(
            "insert into dedloc_seat (runid, peer_key, state, last_seen) values (3, ?, ?, ?)",
            {key, state, kNow - days * kDay});
    }
    for (const char* const table : {"msg_from_host", "msg_to_host"}) {
        for (const int days : {6, 8}) {
            for (const int handled : {0, 1}) {
                world.database().execute(
                    fmt::format("insert into {} (create_time, handled) values (?, ?)", table),
                    {kNow - days * kDay, handled});
            }
        }
    }
    const auto report = world.pass();
    CHECK(report.seats == 1);
    CHECK(report.messages == 4);
    CHECK(world.one("select count(*) x from msg_from_host") == "2");
    world.database().execute("update dedloc_run set state = 'finished'");
    CHECK(world.pass().seats == 1);
    CHECK(world.one("select group_concat(peer_key) x from dedloc_seat") == "b");
}

TEST_CASE("evidence without a row and old rows about deleted accounts go",
          "[server][integration]") {
    World world;
    const auto folder = world.project.root() / "evidence";
    std::filesystem::create_directories(folder);
    for (const auto& [name, age] :
         {std::pair{"named", 90}, std::pair{"unnamed", 90}, std::pair{"young", 1}}) {
        platform::replace_file(folder / name, "receipt");
        const timespec then{.tv_sec = kNow - age * kDay, .tv_nsec = 0};
        const std::array<timespec, 2> times{then, then};
        REQUIRE(utimensat(AT_FDCWD, (folder / name).c_str(), times.data(), 0) == 0);
    }
    world.database().execute(
        "insert into dedloc_suspicion (source, what, evidence, first_seen, last_seen) values "
        "('receipt', 'x', 'evidence/named', 1, 1)");
    for (const int days : {61, 59}) {
        world.database().execute("insert into user_deleted values (?, 'cpid', ?)",
                                 {days, kNow - days * kDay});
        world.database().execute("insert into host_deleted values (?, 'cpid', ?)",
                                 {days, kNow - days * kDay});
    }
    const auto report = world.pass({.evidence = folder});
    CHECK(report.evidence == 1);
    CHECK(report.deleted == 2);
    CHECK(std::filesystem::exists(folder / "named"));
    CHECK(std::filesystem::exists(folder / "young"));
    CHECK_FALSE(std::filesystem::exists(folder / "unnamed"));
    CHECK(world.one("select group_concat(userid) x from user_deleted") == "59");
    CHECK(world.one("select group_concat(hostid) x from host_deleted") == "59");
    // An official server deletes the rows itself.
    world.database().execute("update user_deleted set create_time = 1");
    CHECK(world.pass({.keeps_jobs = true, .evidence = folder}).deleted == 0);
}

TEST_CASE("a pass is bounded, and no statement of it reads a whole table",
          "[server][integration]") {
    server::StatementLog log;
    World world;
    for (int i = 1; i <= 300; ++i) {
        world.add_job(i, i <= 20 ? 8 : 1);
        world.database().execute(
            "insert into dedloc_ticket (runid, peer_key, resultid, issued, expires) values "
            "(3, ?, 1, 0, ?)",
            {fmt::format("{:064x}", i), kNow});
        world.database().execute(
            "insert into dedloc_seat (runid, peer_key, last_seen) values (3, ?, ?)",
            {fmt::format("{:064x}", i), kNow});
        world.database().execute("insert into dedloc_step values (3, ?, 8, 1, 1, 1, 1, '', 1, ?)",
                                 {i, kNow});
        for (const char* const table : {"user_deleted", "host_deleted"}) {
            world.database().execute(fmt::format("insert into {} values (?, '', ?)", table),
                                     {i, kNow});
        }
        for (const char* const table : {"msg_from_host", "msg_to_host"}) {
            world.database().execute(
                fmt::format("insert into {} (create_time, handled) values (?, ?)", table),
                {kNow, i % 2});
        }
        world.database().execute(
            "insert into dedloc_contribution (runid, step, peer_key, samples, loss_sum, "
            "credit_state, committed_at) values (3, ?, 'a', 8, 0, 1, ?)",
            {i, i <= 20 ? 0 : kNow});
    }
    for (const char* const table :
         {"dedloc_contribution", "dedloc_ticket", "dedloc_seat", "msg_from_host", "msg_to_host",
          "result", "workunit", "user_deleted", "host_deleted", "dedloc_suspicion"}) {
        world.database().query(fmt::format("analyze table {}", table));
    }
    log.begin();
    CHECK(world.pass({.batch = 7}).jobs == 7);
    // Runs and app versions are few.
    const auto findings = log.explain(
        world.database(),
        {"app", "dedloc_run", "d", "published", "newer", "unused", "dedloc_unused_version"});
    CHECK(findings.kinds > 10);
    CHECK(findings.scans == std::vector<std::string>{});
}

TEST_CASE("computers without a job go, and evidence without a suspicion", "[server][purge]") {
    World world;
    server::Database& database = world.database();
    const std::int64_t old = kNow - 8 * kDay;
    const auto add_host = [&](std::int64_t time, double credit, int limit) {
        database.execute(
            "insert into host (create_time, rpc_time, userid, total_credit, max_results_day) "
            "values (?, ?, 1, ?, ?)",
            {time, time, credit, limit});
        return database.insert_id();
    };
    const auto unused = add_host(old, 0, 0);
    const auto young = add_host(kNow - 6 * kDay, 0, 0);
    const auto credited = add_host(old, 1, 0);
    const auto banned = add_host(old, 0, -1);
    const auto had_a_job = add_host(old, 0, 0);
    database.execute("insert into host_app_version (host_id, app_version_id) values (?, 1)",
                     {had_a_job});
    const auto folder = world.project.root() / "evidence";
    std::filesystem::create_directory(folder);
    for (const char* name : {"named", "forgotten", "fresh"}) {
        platform::replace_file(folder / name, "x");
        const std::int64_t time = std::string_view{name} == "fresh" ? kNow : old;
        const std::array<timespec, 2> times{timespec{time, 0}, timespec{time, 0}};
        REQUIRE(utimensat(AT_FDCWD, (folder / name).c_str(), times.data(), 0) == 0);
    }
    database.execute(
        "insert into dedloc_suspicion (source, what, evidence, first_seen, last_seen) values "
        "('receipt', 'x', 'evidence/named', 1, 1)");
    Purge purge{world.project.config(), database, {.evidence = folder, .batch = 2}};
    int hosts = 0;
    for (int i = 0; i < 4; ++i) hosts += purge.pass(kNow).hosts;
    CHECK(hosts == 1);
    CHECK(database.query("select id from host where id = ?", {unused}).empty());
    for (const auto id : {young, credited, banned, had_a_job}) {
        CHECK(database.query("select id from host where id = ?", {id}).size() == 1);
    }
    CHECK(std::filesystem::exists(folder / "named"));
    CHECK(std::filesystem::exists(folder / "fresh"));
    CHECK_FALSE(std::filesystem::exists(folder / "forgotten"));
}
