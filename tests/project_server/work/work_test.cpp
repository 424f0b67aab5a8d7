#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>

#include "peer/base/error.hpp"
#include "peer/formats/added_source.hpp"
#include "peer/formats/task.hpp"
#include "peer/formats/training_memory.hpp"
#include "peer/platform/files.hpp"
#include "project_server/publishing/keys.hpp"
#include "project_server/run_sources.hpp"
#include "project_server/settings.hpp"
#include "project_server/work/job_template.hpp"
#include "project_server/work/staging.hpp"
#include "project_server/work/work_generator.hpp"
#include "tests/peer/wire/samples.hpp"
#include "tests/project_server/project_fixture.hpp"
#include "tests/work_run.hpp"

using namespace dedloc;
using namespace dedloc::work;

namespace {

int count_of(const std::string& text, const std::string& part) {
    int count = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
}

/// A project with a running run of two shards.
struct World {
    server::TestProject project;
    WorkGenerator generator;

    World() : generator(prepared(project), project.database(), {.seats_ready = 2}) {}

    static server::ProjectConfig prepared(server::TestProject& project) {
        server::make_key_pair(project.config().key_directory, "upload");
        tests::write_work_run(project.root() / "runs/demo", tests::work_run());
        auto& db = project.database();
        db.execute(
            "insert into app (id, create_time, name, min_version, deprecated, "
            "user_friendly_name) values (7, 0, 'dedloc_train', 0, 0, 'trainer')");
        db.execute(
            "insert into dedloc_run (id, name, run_id, spec, target_batch, steps, "
            "flops_per_sample, credit_per_sample, created) values (3, 'demo', '', '{}', 8, "
            "10, 1e6, 1, 0)");
        return project.config();
    }
    std::string one(const char* sql) {
        const auto row = project.database().query_one(sql);
        REQUIRE(row);
        return row->text("x");
    }
    /// Creates one instance of a job, as the transitioner does.
    void make_instance(int workunit, int server_state) {
        project.database().execute(
            "insert into result (create_time, workunitid, server_state, "
            "name, appid) values (0, ?, ?, ?, 7)",
            {workunit, server_state, "demo_" + std::to_string(workunit) + "_0"});
    }
};

}  // namespace

TEST_CASE("the input template describes every shard", "[server]") {
    const std::string one =
        "<input_template>\n    <file_info>\n        <sticky/>\n    </file_info>\n"
        "    <file_info>\n        <sticky/>\n    </file_info>\n    <workunit>\n"
        "        <file_ref>\n            <open_name>run.json</open_name>\n        </file_ref>\n"
        "        <file_ref>\n            <open_name>shard_0</open_name>\n        </file_ref>\n"
        "    </workunit>\n</input_template>\n";
    CHECK(input_template_for(one, 1, 0, false) == one);
    const std::string three = input_template_for(one, 3, 0, false);
    CHECK(count_of(three, "<file_info>") == 4);
    CHECK(count_of(three, "<file_ref>") == 4);
    CHECK(count_of(three, "<open_name>shard_1</open_name>") == 1);
    CHECK(three.find("shard_1") < three.find("shard_2"));
    const std::string module = input_template_for(one, 2, 0, true);
    CHECK(count_of(module, "<file_info>") == 4);
    CHECK(count_of(module, "<file_ref>") == 4);
    CHECK(module.find("shard_1") < module.find("<open_name>module</open_name>"));
    const std::string added = input_template_for(one, 2, 2, true);
    CHECK(count_of(added, "<file_info>") == 6);
    CHECK(count_of(added, "<file_ref>") == 6);
    CHECK(added.find("shard_1") < added.find("<open_name>source_0</open_name>"));
    CHECK(added.find("source_0") < added.find("<open_name>source_1</open_name>"));
    CHECK(added.find("source_1") < added.find("<open_name>module</open_name>"));
    CHECK_THROWS_AS(input_template_for("<input_template/>", 2, 0, false), InputError);
}

TEST_CASE("the output template of a trainer has an optional file for its state", "[server]") {
    const std::string receipt_only =
        "<output_template>\n    <file_info>\n        <name><OUTFILE_0/></name>\n"
        "    </file_info>\n    <result>\n        <file_ref>\n"
        "            <file_name><OUTFILE_0/></file_name>\n"
        "            <open_name>receipt</open_name>\n        </file_ref>\n    </result>\n"
        "</output_template>\n";
    const std::string text = output_template_for(receipt_only, 123'456);
    const auto at = [&](const char* part) { return text.find(part); };
    CHECK(at("<OUTFILE_0/>") < at("<OUTFILE_1/>"));
    CHECK(at("<max_nbytes>123456</max_nbytes>") < at("<result>"));
    CHECK(at("<open_name>receipt</open_name>") < at("<open_name>checkpoint</open_name>"));
    CHECK(at("<optional/>") > at("<open_name>checkpoint</open_name>"));
    CHECK(text.find("<optional/>") == text.rfind("<optional/>"));
    // BOINC's file_deleter takes a file that a job need not have for one that is missing.
    CHECK(at("<no_delete/>") > at("<OUTFILE_1/>"));
    CHECK_THROWS_AS(output_template_for("<output_template/>", 2), InputError);
}

TEST_CASE("a running run has exactly the configured number of unsent jobs",
          "[server][integration]") {
    World world;
    CHECK(world.generator.pass().created == 2);
    CHECK(world.generator.pass().created == 0);
    const std::string xml = world.one("select xml_doc x from workunit order by id limit 1");
    CHECK(count_of(xml, "<file_info>") == 3);
    CHECK(count_of(xml, "<sticky/>") == 3);
    CHECK(count_of(xml, "<md5_cksum>") == 3);
    CHECK(count_of(xml, "<open_name>shard_1</open_name>") == 1);
    CHECK(world.one("select concat_ws(' ', min(opaque), max(opaque), min(target_nresults), "
                    "min(result_template_file)) x from workunit") ==
          "3 3 1 runs/demo/output_template");
    CHECK_THAT(platform::read_text(world.project.root() / "runs/demo/output_template"),
               Catch::Contains("<max_nbytes>" +
                               std::to_string(formats::checkpoint_bytes(tests::work_run())) + "<"));
    CHECK(std::filesystem::exists(world.project.root() / "templates/dedloc_train_out"));
    CHECK_THAT(xml, Catch::Contains("<command_line>\n--hours 12\n") ||
                        Catch::Contains("<command_line>--hours 12</command_line>"));
    // One job is sent to a volunteer: another is created.
    world.make_instance(1, 4);
    world.make_instance(2, 2);
    CHECK(world.generator.pass().created == 1);
    CHECK(world.one("select group_concat(name order by id) x from workunit") ==
          "demo_1,demo_2,demo_3");
}

TEST_CASE("a run may have its own number of ready jobs and its own lease",
          "[server][integration]") {
    World world;
    CHECK(world.generator.pass().created == 2);
    world.project.database().execute(
        "update dedloc_run set seats_ready = 3, lease_hours = 5 where id = 3");
    CHECK(world.generator.pass().created == 1);
    CHECK(world.one("select sum(xml_doc like '%--hours 12%') x from workunit") == "2");
    CHECK(world.one("select concat(xml_doc like '%--hours 5%', ' ', rsc_fpops_est = 5 * 3600e9) x "
                    "from workunit order by id desc limit 1") == "1 1");
    world.project.database().execute("update dedloc_run set seats_ready = 1 where id = 3");
    CHECK(world.generator.pass().created == 0);
}

TEST_CASE("jobs take turns with the shards and never have one that is held out",
          "[server][integration]") {
    World world;
    auto run = tests::work_run();
    run.shards.push_back({.name = "shard_c", .digest = {}, .bytes = 5, .is_held_out = true});
    run.shards_per_job = 1;
    const auto folder = world.project.root() / "runs/demo";
    platform::replace_file(folder / "run.json", formats::write_run_file(run));
    CHECK(world.generator.pass().created == 2);
    CHECK(world.one("select group_concat(xml_doc like '%shard_a<%', xml_doc like '%shard_b<%', "
                    "xml_doc like '%shard_1%' order by id) x from workunit") == "100,010");
    CHECK(world.one("select group_concat(xml_doc like '%shard_c%') x from workunit") == "0,0");
}

TEST_CASE("jobs have the sources that were added, and unsent ones are replaced",
          "[server][integration]") {
    World world;
    auto run = tests::work_run();
    run.project_key = tests::test_key().public_key();
    run.sources = {{"wiki", 1, ""}, {"web", 1, ""}};
    run.shards[1].source = 1;
    const auto folder = world.project.root() / "runs/demo";
    platform::replace_file(folder / "run.json", formats::write_run_file(run));
    CHECK(world.generator.pass().created == 2);
    world.make_instance(1, 4);  // a volunteer has the first job
    world.make_instance(2, 2);
    const formats::AddedSource source{
        .name = "hindi",
        .licence = "CC0",
        .shards = {{.name = "shard_h", .digest = blake2b(bytes_of("hindi")), .bytes = 5}}};
    platform::replace_file(folder / "shards/shard_h", std::string_view{"hindi"});
    server::write_source(folder, source);
    CHECK(world.generator.pass().cancelled == 0);  // nothing is signed yet
    const auto list = [&](const KeyPair& key) {
        server::write_mixture(
            server::mixture_file(folder),
            sign_mixture(formats::run_id(run), 1, {}, key, {formats::digest_of(source)}));
    };
    list(tests::test_key(2));  // a stranger's
    CHECK_THROWS_WITH(world.generator.pass(), Catch::Contains("is not signed by the project"));
    list(tests::test_key());
    const auto report = world.generator.pass();
    CHECK(report.cancelled == 2);
    CHECK(report.created == 2);
    CHECK(world.generator.pass().cancelled == 0);
    CHECK(world.one("select group_concat(error_mask <> 0, xml_doc like '%source_0%', "
                    "xml_doc like '%shard_h%', xml_doc like '%shard_2%' order by id separator "
                    "' ') x from workunit") == "0000 1000 1000 0111 0111");
    CHECK(platform::read_text(work::staged_place(
              world.project.config(), work::staged_name_of(formats::digest_of(source)))) ==
          formats::write_added_source(source));
    const auto names = work::staged_names(world.project.config(), "demo", run);
    CHECK(std::ranges::count(names, "shard_h") == 1);
    CHECK(names.size() == 1 + 1 + 3);
    // Its file is altered: no job is made of it.
    platform::replace_file(server::source_file(folder, formats::digest_of(source)),
                           std::string_view{"{}"});
    world.make_instance(4, 4);
    CHECK_THROWS_WITH(world.generator.pass(), Catch::Contains("put it back from a backup"));
}

TEST_CASE("a job of a run that trains a module brings the module", "[server][integration]") {
    World world;
    auto run = tests::work_run();
    const formats::ModuleSpec model{
        .name = "net.pt",
        .digest = blake2b(bytes_of("module")),
        .bytes = 6,
        .vocabulary = 0,
        .inputs = {{.type = formats::ElementType::kFloat32, .shape = {4}}},
        .flops = 1e6,
        .sample_bytes = 1'000};
    run.model = model;
    run.sequence_length = 0;
    run.special_tokens = {};
    const auto folder = world.project.root() / "runs/demo";
    platform::replace_file(folder / "run.json", formats::write_run_file(run));
    platform::replace_file(folder / formats::kModuleFile, std::string_view{"module"});
    CHECK(world.generator.pass().created == 2);
    const std::string xml = world.one("select xml_doc x from workunit order by id limit 1");
    CHECK(count_of(xml, "<file_info>") == 4);
    CHECK(count_of(xml, "<open_name>module</open_name>") == 1);
    CHECK(count_of(xml, "<name>" + staged_name_of(model) + "</name>") == 1);
    CHECK(platform::read_text(staged_place(world.project.config(), staged_name_of(model))) ==
          "module");
    CHECK(world.one("select rsc_disk_bound x from workunit where id = 1") ==
          std::to_string(200'000'016 + formats::trainer_disk_bytes(run)));
    CHECK(world.one("select gpu_memory >= 1e18 x from dedloc_run") == "1");
}

TEST_CASE("an output template of another form gives jobs without a checkpoint",
          "[server][integration]") {
    World world;
    platform::replace_file(world.project.root() / "templates/dedloc_train_out",
                           std::string_view{"<output_template><file_info><name><OUTFILE_0/></name>"
                                            "</file_info></output_template>"});
    CHECK(world.generator.pass().created == 2);
    CHECK(world.one("select min(result_template_file) x from workunit") ==
          "templates/dedloc_train_out");
}

TEST_CASE("a job's limits follow from the model of its run", "[server][integration]") {
    World world;
    world.generator.pass();
    const auto run = tests::work_run();
    const auto memory = std::to_string(formats::trainer_machine_bytes(run, 2));
    const auto gpu = std::to_string(formats::trainer_gpu_bytes(run));
    const auto disk = std::to_string(200'000'010 + formats::trainer_disk_bytes(run));
    CHECK(formats::trainer_disk_bytes(run) >= 9 * sizeof(float) * formats::parameter_count(run));
    CHECK(world.one("select concat_ws(' ', rsc_memory_bound, rsc_disk_bound, rsc_fpops_est) x "
                    "from workunit where id = 1") == memory + " " + disk + " 43200000000000");
    CHECK(world.one("select gpu_memory x from dedloc_run") == gpu);
}

TEST_CASE("a run has as many open jobs that only average as it may have aggregators",
          "[server][integration]") {
    World world;
    auto& database = world.project.database();
    const auto jobs = [&](const char* which) {
        return world.one(
            (std::string{"select count(*) x from workunit where appid = "} + which).c_str());
    };
    database.execute("update dedloc_run set aggregators = 3");
    CHECK(world.generator.pass().created == 2);  // no such app is published
    database.execute(
        "insert into app (id, name, user_friendly_name, non_cpu_intensive) values (8, "
        "'dedloc_aggregate', 'aggregator', 1)");
    CHECK(world.generator.pass().created == 3);
    CHECK(world.generator.pass().created == 0);
    const std::string xml = world.one("select xml_doc x from workunit where appid = 8 limit 1");
    CHECK(count_of(xml, "<file_info>") == 1);
    CHECK(count_of(xml, "<open_name>run.json</open_name>") == 1);
    CHECK(count_of(xml, "shard_") == 0);
    CHECK(world.one("select concat_ws(' ', rsc_memory_bound, rsc_disk_bound, opaque) x from "
                    "workunit where appid = 8 limit 1") ==
          std::to_string(formats::aggregator_bytes(tests::work_run())) + " 200000000 3");
    CHECK(world.one("select max(rsc_fpops_est) x from workunit where appid = 8") == "1000000");
    CHECK(world.one("select jobs x from dedloc_run") == "2");  // jobs that take turns with shards

    // Those in progress count, so there are never more.
    database.execute(
        "insert into result (workunitid, server_state, name, appid) select id, 4, concat(name, "
        "'_0'), 8 from workunit where appid = 8");
    CHECK(world.generator.pass().created == 0);
    // One is over: another takes its place.
    database.execute("update result set server_state = 5, outcome = 1 where appid = 8 limit 1");
    database.execute(
        "update workunit set canonical_resultid = 1, assimilate_state = 1 where id = (select "
        "workunitid from result where appid = 8 and server_state = 5)");
    WorkReport report = world.generator.pass();
    CHECK(report.created == 1);
    CHECK(report.assimilated == 1);
    CHECK(jobs("8") == "4");
    // Fewer aggregators are allowed now.
    database.execute("update dedloc_run set aggregators = 0");
    CHECK(world.generator.pass().created == 0);
    // The run ends: what no volunteer has is cancelled, of both kinds.
    database.execute("update dedloc_run set state = 'finished'");
    CHECK(world.generator.pass().cancelled == 3);
    CHECK(world.one("select count(*) x from workunit where appid = 8 and error_mask = 0 and "
                    "assimilate_state = 0") == "2");
}

TEST_CASE("a paused or finished run keeps only the jobs in progress", "[server][integration]") {
    World world;
    world.generator.pass();
    world.make_instance(1, 4);
    world.make_instance(2, 2);
    world.generator.pass();
    world.project.database().execute("update dedloc_run set state = 'finished'");
    CHECK(world.generator.pass().cancelled == 2);
    CHECK(world.generator.pass().cancelled == 0);
    CHECK(world.one("select group_concat(error_mask order by id) x from workunit") == "0,16,16");
    CHECK(world.one("select group_concat(server_state, ':', outcome order by workunitid) x from "
                    "result") == "4:0,5:5");
    // A job whose receipt awaits validation is not cancelled either.
    world.project.database().execute(
        "update result set server_state = 5, outcome = 1 where workunitid = 1");
    CHECK(world.generator.pass().cancelled == 0);
}

TEST_CASE("the closed jobs of a finished run are not read again", "[server][integration]") {
    World world;
    auto& database = world.project.database();
    database.execute("update dedloc_run set state = 'finished'");
    database.execute(
        "insert into workunit (appid, name, opaque, assimilate_state, canonical_resultid, "
        "error_mask) select 7, concat('demo_', seq), 3, 2, seq * (seq % 2), 16 * (1 - seq % 2) "
        "from seq_1_to_20000");
    // Jobs of another app must be no reason to read all of this one's.
    database.execute(
        "insert into workunit (appid, name) select 8, concat('other_', seq) from "
        "seq_1_to_2000");
    database.query("analyze table workunit");
    const auto rows_read = [&] {
        double sum = 0;
        for (const auto& row : database.query("show session status like 'Handler_read%'")) {
            sum += row.real("Value");
        }
        return sum;
    };
    const double before = rows_read();
    CHECK(world.generator.pass().cancelled == 0);
    CHECK(rows_read() - before < 200);
}

TEST_CASE("finished jobs are closed", "[server][integration]") {
    World world;
    world.generator.pass();
    world.project.database().execute(
        "update workunit set assimilate_state = 1, transition_time = 2147483647 where id = 1");
    CHECK(world.generator.pass().assimilated == 1);
    CHECK(world.generator.pass().assimilated == 0);
    CHECK(world.one("select concat_ws(' ', assimilate_state, transition_time <= "
                    "unix_timestamp()) x from workunit where id = 1") == "2 1");
}

TEST_CASE("a run whose files or rows are damaged does not stop the others",
          "[server][integration]") {
    World world;
    world.project.database().execute(
        "insert into dedloc_run (id, name, run_id, spec, target_batch, steps, flops_per_sample, "
        "credit_per_sample, created) values (1, 'damaged', '', '{}', 1, 1, 1, 1, 0)");
    CHECK_THROWS_WITH(world.generator.pass(), Catch::Contains("damaged"));
    CHECK(world.one("select count(*) x from workunit where opaque = 3") == "2");
}

TEST_CASE("a run whose files are missing is reported in one sentence", "[server][integration]") {
    World world;
    std::filesystem::remove(world.project.root() / "runs/demo/shards/shard_b");
    CHECK_THROWS_WITH(world.generator.pass(), Catch::Contains("shard_b"));
    CHECK(world.one("select count(*) x from workunit") == "0");
}
