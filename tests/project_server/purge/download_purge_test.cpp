#include "project_server/purge/download_purge.hpp"

#include <catch2/catch.hpp>

#include "peer/base/error.hpp"
#include "peer/formats/task.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/folder_lock.hpp"
#include "project_server/project/app_versions.hpp"
#include "project_server/publishing/app_version.hpp"
#include "project_server/publishing/key_change.hpp"
#include "project_server/publishing/keys.hpp"
#include "project_server/work/staging.hpp"
#include "tests/project_server/project_fixture.hpp"
#include "tests/small_run.hpp"

namespace dedloc::purge {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;

constexpr std::int64_t kSecondsOfDay = 86'400;
constexpr std::int64_t kPresent = 1'800'000'000;
constexpr std::int64_t kGrace = 7 * kSecondsOfDay;

/// A project with runs whose files are in the download tree.
struct House {
    server::TestProject project;
    std::int64_t now = kPresent;

    House() {
        database().execute("insert into app (id, name) values (7, 'dedloc_train')");
        server::make_key_pair(project.config().key_directory, "code_sign");
    }
    server::Database& database() { return project.database(); }

    /// A run that was created `age` days ago; returns the name of its file.
    std::string add_run(const std::string& name, const std::string& state, int age,
                        const std::vector<std::string>& shards,
                        const formats::ModelSpec& model = tests::small_run().model) {
        auto run = tests::small_run();
        run.model = model;
        if (!formats::holds_text(run)) {
            run.sequence_length = 0;
            run.special_tokens = {};
        }
        run.name = name;
        run.project_key = KeyPair::generate().public_key();
        run.backbone_key = KeyPair::generate().public_key();
        run.gateway = "http://localhost/";
        run.dht_seeds = {{.host = "127.0.0.1", .port = 1}};
        run.shards.clear();
        for (const auto& shard : shards)
            run.shards.push_back({.name = shard, .digest = {}, .bytes = 5});
        database().execute(
            "insert into dedloc_run (name, run_id, state, spec, target_batch, steps, "
            "flops_per_sample, credit_per_sample, created) values (?, '', ?, ?, 8, 10, 1e6, 1, ?)",
            {name, state, formats::write_run_file(run), now - age * kSecondsOfDay});
        stage(work::staged_name_of(run));
        for (const auto& shard : shards) stage(shard);
        return work::staged_name_of(run);
    }
    void stage(const std::string& name) const {
        const auto source = project.root() / "source";
        platform::replace_file(source, "bytes");
        work::stage_file(project.config(), source, name);
    }
    bool has(const std::string& name) const {
        return fs::exists(work::staged_place(project.config(), name));
    }
    void publish(int version) {
        const auto program = project.root() / "program";
        const auto library = project.root() / "library";
        platform::replace_file(program, "program " + std::to_string(version));
        platform::replace_file(library, std::string(100'000, 'l'));
        server::add_app_version(
            database(), project.config(),
            {.app = "dedloc_train",
             .friendly_name = "Trainer",
             .version = version,
             .files = {{.source = program, .open_name = "train", .is_main_program = true},
                       {.source = library, .open_name = "library"}},
             .is_gzipped = true,
             .bill_of_materials = "bill"});
        database().execute("update app_version set create_time = ? where version_num = ?",
                           {now, version});
    }
    std::size_t files() const {
        std::size_t count = 0;
        for (const auto& entry : fs::directory_iterator{project.config().download_directory}) {
            if (entry.is_regular_file()) ++count;
        }
        return count;
    }
    std::string document(int version) {
        return database()
            .query_one("select xml_doc from app_version where version_num = ?", {version})
            ->text("xml_doc");
    }
    /// A pass of a purge that was started after `days`.
    int pass(int days = 0) {
        now += days * kSecondsOfDay;
        return DownloadPurge{project.config(), database()}.pass(now, now - kGrace);
    }
};

}  // namespace

TEST_CASE("files of an ended run go, but for those that another run needs",
          "[server][integration]") {
    House house;
    const auto over = house.add_run("over", "finished", 8, {"shard_a", "shard_b"});
    const auto young = house.add_run("young", "finished", 6, {"shard_c"});
    const auto going = house.add_run("going", "running", 90, {"shard_b", "shard_d"});
    const auto paused = house.add_run("paused", "paused", 90, {"shard_e"});
    CHECK(house.pass() == 2);
    CHECK_FALSE(house.has(over));
    CHECK_FALSE(house.has("shard_a"));
    for (const auto& name : {young, going, paused}) CHECK(house.has(name));
    for (const char* const name : {"shard_b", "shard_c", "shard_d", "shard_e"}) {
        CHECK(house.has(name));
    }
    // A run that needs the corpus again gets the files again.
    house.add_run("again", "running", 0, {"shard_a"});
    CHECK(house.pass() == 0);
    CHECK(house.has("shard_a"));
}

TEST_CASE("a module stays as long as a run needs it", "[server][integration]") {
    House house;
    formats::ModuleSpec model{.name = "net.pt",
                              .digest = blake2b(bytes_of("net")),
                              .bytes = 5,
                              .vocabulary = 0,
                              .inputs = {{.type = formats::ElementType::kFloat32, .shape = {4}}},
                              .flops = 1,
                              .sample_bytes = 1};
    const std::string shared = work::staged_name_of(model);
    house.stage(shared);
    house.add_run("over", "finished", 8, {"shard_a"}, model);
    house.add_run("going", "running", 90, {"shard_b"}, model);
    model.digest = blake2b(bytes_of("another"));
    const std::string own = work::staged_name_of(model);
    CHECK(own != shared);
    house.stage(own);
    house.add_run("alone", "finished", 8, {"shard_c"}, model);
    house.pass();
    CHECK(house.has(shared));
    CHECK_FALSE(house.has(own));
    house.database().execute("update dedloc_run set state = 'finished' where name = 'going'");
    house.pass();
    CHECK_FALSE(house.has(shared));
}

TEST_CASE("files of an ended run stay while a job may need them", "[server][integration]") {
    House house;
    house.add_run("over", "finished", 30, {"shard_a"});
    const auto job = [&](int assimilated, int state, int age) {
        const auto time = house.now - age * kSecondsOfDay;
        house.database().execute(
            "insert into workunit (id, appid, name, opaque, assimilate_state, mod_time) values "
            "(1, 7, 'w', (select id from dedloc_run), ?, from_unixtime(?))",
            {assimilated, time});
        house.database().execute(
            "insert into result (id, workunitid, appid, name, server_state, mod_time) values (1, "
            "1, 7, 'w_0', ?, from_unixtime(?))",
            {state, time});
    };
    SECTION("a result is in progress") {
        job(2, 4, 20);
    }
    SECTION("a result is not sent") {
        job(2, 2, 20);
    }
    SECTION("the job is not closed") {
        job(0, 5, 20);
    }
    SECTION("the last report is young") {
        job(2, 5, 3);
    }
    SECTION("a step is young") {
        house.database().execute(
            "insert into dedloc_step (runid, step, samples, loss, learning_rate, members, "
            "equal_digests, digest, seconds, committed_at) select id, 1, 1, 1, 1, 1, 1, '', 1, ? "
            "from dedloc_run",
            {house.now - kSecondsOfDay});
    }
    SECTION("another run cannot be read") {
        house.add_run("broken", "running", 30, {"shard_b"});
        house.database().execute("update dedloc_run set spec = '{}' where name = 'broken'");
    }
    SECTION("a job is being created") {
        const platform::FolderLock work{house.project.config().download_directory,
                                        platform::FolderLock::Sharing::kAwaited};
        CHECK(house.pass() == 0);
    }
    CHECK((house.has("shard_a") || house.pass() == 0));
    if (house.database().query("select id from workunit").empty()) return;
    CHECK(house.pass() == 0);
    CHECK(house.has("shard_a"));
    house.database().execute(
        "update workunit set assimilate_state = 2, mod_time = from_unixtime(1)");
    house.database().execute("update result set server_state = 5, mod_time = from_unixtime(1)");
    CHECK(house.pass() == 2);
    CHECK_FALSE(house.has("shard_a"));
}

TEST_CASE("files of a superseded app version go once no job uses it", "[server][integration]") {
    House house;
    house.publish(100);
    house.publish(101);
    CHECK(house.files() == 6);  // bills and a compressed library count
    house.database().execute(
        "insert into result (name, workunitid, appid, server_state, app_version_id) values ('r', "
        "1, 7, 4, (select id from app_version where version_num = 100))");
    CHECK(house.pass() == 0);
    CHECK(house.pass(30) == 0);  // its job has not been reported
    house.database().execute("update result set server_state = 5");
    CHECK(house.pass() == 0);  // the grace period begins
    CHECK(house.pass(6) == 0);
    CHECK(house.pass(2) == 2);
    CHECK(house.files() == 4);  // the library is also of the other version
    CHECK(house.document(100).empty());
    CHECK_FALSE(house.document(101).empty());
    CHECK(house.pass(30) == 0);
    // It is not offered again, and the key can be changed without its files.
    CHECK_THROWS_WITH(
        project::change_versions(house.database(), {.app = "dedloc_train", .version = 100},
                                 {.is_withdrawn = false}),
        Contains("were deleted"));
    CHECK(server::change_key(house.database(), house.project.config(), {}, [](const auto&) {
          }).versions == 1);
}

TEST_CASE("a version that is offered again in time keeps its files", "[server][integration]") {
    House house;
    house.publish(100);
    const auto withdraw = [&](bool is_withdrawn) {
        project::change_versions(house.database(), {.app = "dedloc_train", .version = 100},
                                 {.is_withdrawn = is_withdrawn});
    };
    withdraw(true);
    CHECK(house.pass() == 0);
    withdraw(false);
    CHECK(house.pass(8) == 0);
    withdraw(true);
    CHECK(house.pass(1) == 0);  // the grace period begins anew
    CHECK(house.pass(6) == 0);
    CHECK(house.pass(2) == 4);
    CHECK(house.files() == 0);
}

TEST_CASE("a crash while a version's files are deleted leaves the rest to the next pass",
          "[server][integration]") {
    House house;
    house.publish(100);
    house.publish(101);
    house.database().execute(
        "insert into dedloc_unused_version (id, since, is_final) select id, 1, 1 from app_version "
        "where version_num = 100");
    SECTION("before the first file") {
        CHECK(house.pass() == 2);
    }
    SECTION("after the first file") {
        for (const auto& entry :
             fs::directory_iterator{house.project.config().download_directory}) {
            if (platform::read_text(entry.path()) == "program 100") fs::remove(entry.path());
        }
        // What a crash has left does not hinder a change of the key.
        CHECK(server::change_key(house.database(), house.project.config(), {}, [](const auto&) {
              }).versions == 1);
        CHECK(house.pass() == 1);
    }
    SECTION("while a version is published") {
        const platform::FolderLock publishing{house.project.config().key_directory,
                                              platform::FolderLock::Sharing::kShared};
        CHECK(house.pass() == 0);
        CHECK(house.files() == 6);
        return;
    }
    CHECK(house.document(100).empty());
    CHECK(house.files() == 4);
}

}  // namespace dedloc::purge
