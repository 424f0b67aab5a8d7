// Rows and files of our jobs in an official project, under what BOINC's own daemons do to them.
#include "tests/project_server/official/boinc_stand_ins.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <optional>

#include "peer/formats/receipt.hpp"
#include "peer/formats/run_file.hpp"
#include "project_server/official/install.hpp"
#include "project_server/official/remove.hpp"
#include "project_server/official/uploads.hpp"
#include "project_server/publishing/app_version.hpp"
#include "project_server/purge/purge.hpp"
#include "project_server/settings.hpp"
#include "project_server/transitioner/transitioner.hpp"
#include "project_server/work/staging.hpp"
#include "project_server/work/work_generator.hpp"
#include "project_server/xml/job_documents.hpp"
#include "tests/project_server/official/official_project.hpp"
#include "tests/work_run.hpp"

using namespace dedloc;

namespace {

namespace fs = std::filesystem;

/// An official project with DeDLOC, both apps, a version of the trainer and a run of two shards.
class Worked : public tests::OfficialProject {
  public:
    Worked() {
        official::install({.project = root(), .programs = programs()},
                          [](const auto&, const auto&) {});
        config_ = server::load_project_config(root());
        tests::write_work_run(root() / "dedloc/runs/demo", run_);
        for (const char* const sql :
             {"insert into app (id, create_time, name, user_friendly_name) values (7, 0, "
              "'dedloc_train', 't'), (9, 0, 'another', 'o')",
              "insert into app (id, create_time, name, user_friendly_name, non_cpu_intensive) "
              "values (8, 0, 'dedloc_aggregate', 'a', 1)"}) {
            database().execute(sql);
        }
        database().execute(
            "insert into dedloc_run (id, name, run_id, spec, target_batch, steps, "
            "flops_per_sample, credit_per_sample, created) values (3, 'demo', '', ?, 8, 10, 1e6, "
            "1, 0)",
            {formats::write_run_file(run_)});
        add_version(7, "mt_dedloc", 500'000'000);
        add_version(8, "nci_dedloc", 37'000'000);
    }
    const server::ProjectConfig& project() const { return config_; }
    const formats::RunFile& run() const { return run_; }

    void add_version(int app, const std::string& plan_class, std::int64_t bytes) {
        const std::string name = fmt::format("file_{}_{}", app, plan_class);
        database().execute(
            "insert into app_version (create_time, appid, version_num, platformid, xml_doc, "
            "plan_class) values (0, ?, 100, 1, ?, ?)",
            {app,
             fmt::format("<file_info><name>{0}</name><nbytes>{1}</nbytes></file_info>"
                         "<app_version><file_ref><file_name>{0}</file_name></file_ref>"
                         "</app_version>",
                         name, bytes),
             plan_class});
    }
    work::WorkReport work() {
        if (!generator_) {
            transitioner_.emplace(config_);  // both use libsched's one connection
            generator_.emplace(config_, database(), work::WorkOptions{.seats_ready = 4});
        }
        const auto report = generator_->pass();
        transitioner_->pass(std::time(nullptr) + 1);
        return report;
    }
    std::string one(const std::string& sql) {
        const auto row = database().query_one("select (" + sql + ") as x");
        return row->is_null("x") ? "" : row->text("x");
    }
    fs::path upload(const std::string& name, const std::string& text = "x") {
        std::array<char, 4096> path{};
        dir_hier_path(name.c_str(), config_.upload_directory.c_str(), config_.directory_fanout,
                      path.data(), true);
        platform::replace_file(path.data(), text);
        return path.data();
    }
    fs::path staged(const std::string& name) const { return work::staged_place(config_, name); }
    int purge(std::int64_t now = std::time(nullptr)) {
        return purge::Purge{config_, database(), {.keeps_jobs = true}}.pass(now).files;
    }
    std::map<std::string, std::string> remove(bool drops_data) {
        std::map<std::string, std::string> lines;
        official::remove({.project = root(), .drops_data = drops_data},
                         [&](const auto& outcome, const auto& what) { lines[what] = outcome; });
        return lines;
    }

  private:
    server::ProjectConfig config_;
    const formats::RunFile run_ = tests::work_run();
    std::optional<server::Transitioner> transitioner_;
    std::optional<work::WorkGenerator> generator_;
};

bool has_line(const std::map<std::string, std::string>& lines, const std::string& part) {
    return std::ranges::any_of(
        lines, [&](const auto& line) { return line.first.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("BOINC's file_deleter finds no fault with a job, whatever it has uploaded",
          "[server][official]") {
    Worked world;
    world.work();
    REQUIRE(world.one("select count(*) >= 4 from result") == "1");
    // One job uploads receipt and checkpoint, one a receipt, one fails without a file.
    const auto rows = world.database().query("select id, xml_doc_in from result order by id");
    std::vector<fs::path> files;
    for (std::size_t at = 0; at < rows.size(); ++at) {
        const auto names = server::referenced_files(rows[at].text("xml_doc_in"));
        for (std::size_t file = 0; at < 2 && file < names.size() - at; ++file) {
            files.push_back(world.upload(names[file]));
        }
        world.database().execute(
            "update result set server_state = 5, outcome = ?, validate_state = 1 where id = ?",
            {at < 2 ? 1 : 3, rows[at].integer("id")});
    }
    REQUIRE(files.size() == 3);
    const auto other = world.upload("another_1_0_r5_0");
    world.database().execute("update workunit set assimilate_state = 2");
    CHECK(world.purge() == 0);  // BOINC has not said yet that no program needs them
    tests::ready_for_deletion(world.database());
    const auto pass = tests::delete_files(world.project(), world.database());
    INFO(fmt::format("{}", fmt::join(pass.critical, "\n")));
    CHECK(pass.critical.empty());
    CHECK(world.one("select group_concat(distinct file_delete_state) from result") == "2");
    // Nothing stays: dedloc-purge deletes what file_deleter has left to it.
    CHECK(world.purge() == 3);
    for (const auto& file : files) CHECK_FALSE(fs::exists(file));
    for (const auto& file : files) {
        CHECK(fs::exists(file.parent_path()) == (file.parent_path() == other.parent_path()));
    }
    CHECK(fs::exists(other));
    CHECK(world.purge() == 0);
}

TEST_CASE("uploads whose rows db_purge has deleted go after the grace period, those of others stay",
          "[server][official]") {
    Worked world;
    const auto ours = world.upload("demo_12_0_r77_0");
    const auto checkpoint = world.upload("demo_12_0_r77_1");
    std::vector<fs::path> others;
    for (const char* const name : {"another_12_0_r77_0", "demo2_12_0_r77_0", "demo_r77_0", "demo",
                                   "demo_x_0_r77_0", "_12_0_r77_0"}) {
        others.push_back(world.upload(name));
    }
    CHECK(world.purge() == 0);
    CHECK(world.purge(std::time(nullptr) + 8 * 86'400) == 2);
    CHECK_FALSE(fs::exists(ours));
    CHECK_FALSE(fs::exists(checkpoint));
    for (const auto& file : others) CHECK(fs::exists(file));
}

TEST_CASE("an upgrade mends jobs that an earlier version has described", "[server][official]") {
    Worked world;
    world.work();
    // As the template of an earlier version described the files.
    world.database().execute(
        "update result set xml_doc_in = replace(xml_doc_in, '<no_delete/>', ''), "
        "server_state = 5, outcome = 1, validate_state = 1, file_delete_state = 3 where appid = 7");
    world.database().execute(
        "insert into result (name, workunitid, appid, xml_doc_in) values ('theirs', 1, 9, "
        "'<file_info><name>theirs_0</name></file_info>')");
    CHECK(tests::delete_files(world.project(), world.database()).critical.size() == 8);
    std::map<std::string, std::string> lines;
    const auto install = [&] {
        lines.clear();
        official::install({.project = world.root(), .programs = world.programs()},
                          [&](const auto& outcome, const auto& what) { lines[what] = outcome; });
    };
    install();
    CHECK(has_line(lines, "output files of 4 jobs"));
    install();
    CHECK_FALSE(has_line(lines, "output files"));
    CHECK(tests::delete_files(world.project(), world.database()).critical.empty());
    CHECK(
        world.one("select group_concat(distinct file_delete_state) from result where appid = 7") ==
        "2");
    CHECK(world.one("select xml_doc_in from result where name = 'theirs'") ==
          "<file_info><name>theirs_0</name></file_info>");
}

TEST_CASE("a job's disk limit has the files of the versions of its own app", "[server][official]") {
    Worked world;
    world.work();
    const auto bound = [&](int app) {
        return std::stod(
            world.one(fmt::format("select max(rsc_disk_bound) from workunit where appid = {} and "
                                  "error_mask = 0",
                                  app)));
    };
    CHECK(bound(8) == 237'000'000);
    const double trainer = bound(7);
    CHECK(trainer > 700'000'000);
    CHECK(trainer < 1'000'000'000);
    // A larger version is published: jobs that no volunteer has are replaced, in the other rows the
    // limit is that of the next instance.
    world.database().execute(
        "update result set server_state = 4 where appid = 7 order by id limit 1");
    world.add_version(7, "cuda_dedloc", 5'400'000'000);
    const auto report = world.work();
    CHECK(report.cancelled == 3);
    CHECK(report.created == 4);
    CHECK(bound(7) == trainer + 4'900'000'000);
    CHECK(world.one("select count(*) from workunit where appid = 7 and error_mask = 0 and "
                    "rsc_disk_bound < 5e9") == "0");
    CHECK(bound(8) == 237'000'000);
    CHECK(world.work().cancelled == 0);
    // It is withdrawn: new jobs ask for less again.
    world.database().execute(
        "update app_version set deprecated = 1 where plan_class = 'cuda_dedloc'");
    world.database().execute("update dedloc_run set seats_ready = 5");
    world.work();
    CHECK(world.one("select rsc_disk_bound from workunit order by id desc limit 1") ==
          fmt::format("{:.0f}", trainer));
}

TEST_CASE("a job that only averages takes nothing from a request for a trainer's",
          "[server][official]") {
    Worked world;
    world.work();
    const auto job = [&](int app) {
        return *world.database().query_one(
            "select rsc_fpops_est, delay_bound from workunit where appid = ? limit 1", {app});
    };
    const auto aggregator = job(8);
    const auto trainer = job(7);
    // Each row: seconds asked for, GFLOPS, processors, share of time.
    for (const auto& [seconds, gigaflops, processors, available] :
         {std::array{1.0, 1.0, 1.0, 1.0}, std::array{180.0, 0.5, 1.0, 0.2},
          std::array{43'200.0, 1.0, 1.0, 0.3}, std::array{864'000.0, 4.0, 16.0, 1.0}}) {
        tests::CpuRequest request{.seconds = seconds,
                                  .flops = gigaflops * 1e9,
                                  .processors = processors,
                                  .available = available};
        INFO(fmt::format("{} s, {} GFLOPS x {}, {}", seconds, gigaflops, processors, available));
        CHECK(request.send(aggregator.real("rsc_fpops_est"),
                           static_cast<double>(aggregator.integer("delay_bound")), 0.05));
        CHECK(request.send(trainer.real("rsc_fpops_est"),
                           static_cast<double>(trainer.integer("delay_bound")), processors));
    }
}

TEST_CASE("jobs of an earlier version that ask for too long are replaced", "[server][official]") {
    Worked world;
    world.work();
    world.database().execute("update workunit set rsc_fpops_est = 4.32e14");
    // As after a restart of dedloc-work.
    work::WorkGenerator generator{world.project(), world.database(), {.seats_ready = 4}};
    const auto report = generator.pass();
    CHECK(report.cancelled == report.created);
    CHECK(report.created == 8);  // all aggregators
    CHECK(world.one("select max(rsc_fpops_est) from workunit where appid = 8 and error_mask = 0") ==
          "1000000");
}

TEST_CASE("handled messages of ours go while DeDLOC is installed, those of others stay",
          "[server][official]") {
    Worked world;
    const auto old = std::time(nullptr) - 8 * 86'400;
    for (const char* const variety : {formats::kCreditMessage, "theirs"}) {
        for (const int handled : {0, 1}) {
            for (const auto time : {old, std::time(nullptr)}) {
                world.database().execute(
                    "insert into msg_from_host (create_time, hostid, variety, handled, xml) values "
                    "(?, 1, ?, ?, '')",
                    {time, variety, handled});
            }
        }
    }
    world.purge();
    CHECK(world.one("select count(*) from msg_from_host where variety = 'theirs'") == "4");
    CHECK(world.one("select count(*) from msg_from_host where variety = 'dedloc_credit'") == "2");
    world.remove(true);
    CHECK(world.one("select count(*) from msg_from_host") == "4");
}

TEST_CASE("dropping the data leaves no file of ours, also after db_purge", "[server][official]") {
    Worked world;
    world.work();
    REQUIRE(fs::exists(world.staged("shard_a")));
    const auto ours = world.upload("demo_1_0_r77_0");
    const auto theirs = world.upload("another_1_0_r77_0");
    platform::replace_file(world.project().download_directory / "theirs", "x");
    const auto empty = world.project().upload_directory / "3ff";
    fs::create_directories(empty);  // another app left it
    world.database().execute("delete from result");
    world.database().execute("delete from workunit");
    world.remove(true);
    for (const auto& file :
         {world.staged("shard_a"), world.staged("shard_b"),
          world.staged(work::staged_name_of(world.run())), ours, ours.parent_path()}) {
        INFO(file.string());
        CHECK_FALSE(fs::exists(file));
    }
    CHECK(fs::exists(theirs));
    CHECK(fs::exists(empty));
    CHECK(fs::exists(world.project().download_directory / "theirs"));
    std::size_t downloads = 0;
    for ([[maybe_unused]] const auto& entry :
         fs::recursive_directory_iterator{world.project().download_directory}) {
        ++downloads;
    }
    CHECK(downloads == 1);
}

TEST_CASE("a removal names both apps and the jobs that volunteers have, and keeps the settings",
          "[server][official]") {
    Worked world;
    official::install({.project = world.root(),
                       .programs = world.programs(),
                       .gateway_port = 4'321,
                       .gateway_listen = "127.0.0.3",
                       .proxy = "127.0.0.4",
                       .peer_port = 40'000,
                       .max_links = 500},
                      [](const auto&, const auto&) {});
    world.work();
    world.database().execute("update result set server_state = 4 where appid = 7 limit 3");
    const auto settings = server::read_settings(world.root());
    const auto lines = world.remove(false);
    CHECK(has_line(lines, "3 jobs in progress"));
    CHECK(has_line(lines, "apps dedloc_train and dedloc_aggregate"));
    CHECK(world.config().find("<dedloc_") == std::string::npos);
    const auto apache = platform::read_text(world.root() / "dedloc/dedloc.httpd.conf");
    CHECK(apache.find("ProxyPass") == std::string::npos);

    official::install({.project = world.root(), .programs = world.programs()},
                      [](const auto&, const auto&) {});
    const auto again = server::read_settings(world.root());
    CHECK(again.gateway_port == 4'321);
    CHECK(again.gateway_listen == settings.gateway_listen);
    CHECK(again.gateway_proxy == settings.gateway_proxy);
    CHECK(again.peer_port == 40'000);
    CHECK(again.max_links == 500);
    CHECK(platform::read_text(world.root() / "dedloc/dedloc.httpd.conf").find("127.0.0.3:4321") !=
          std::string::npos);
    CHECK_FALSE(fs::exists(world.root() / "dedloc/settings.xml"));
}

TEST_CASE("dry runs say the same each time", "[server][official]") {
    tests::OfficialProject world;
    const auto lines = [&] {
        std::vector<std::string> all;
        official::install(
            {.project = world.root(), .programs = world.programs(), .is_dry = true},
            [&](const auto& outcome, const auto& what) { all.push_back(outcome + ' ' + what); });
        return all;
    };
    CHECK(lines() == lines());
}

TEST_CASE("plan_class_spec.xml.sample of BOINC's sources is accepted as it is",
          "[server][official]") {
    tests::OfficialProject world;
    // Its faults: two closing tags without a slash.
    const std::string sample =
        "<plan_classes>\n    <plan_class>\n        <name>                  opencl_nvidia_101       "
        " "
        "</name>\n        <gpu_type>              nvidia      </gpu_type>\n        <opencl/>\n"
        "        <min_opencl_version>    101         <min_opencl_version>\n"
        "        <gpu_peak_flops_scale>  .2          </gpu_peak_flops_scale>\n    </plan_class>\n"
        "    <plan_class>\n        <name>                  opencl_amd_101        </name>\n"
        "        <min_opencl_version>    101         <min_opencl_version>\n"
        "    </plan_class>\n</plan_classes>\n";
    const auto file = world.root() / "plan_class_spec.xml";
    platform::replace_file(file, sample);
    official::install({.project = world.root(), .programs = world.programs()},
                      [](const auto&, const auto&) {});
    const auto edited = platform::read_text(file);
    CHECK(edited.find("mt_dedloc") != std::string::npos);
    CHECK(edited.starts_with(sample.substr(0, sample.size() - 20)));
    official::remove({.project = world.root()}, [](const auto&, const auto&) {});
    CHECK(platform::read_text(file) == sample);
}

TEST_CASE("the platform of our programs needs no xadd, and another one is told of it",
          "[server][official]") {
    Worked world;
    world.database().execute("delete from platform");
    const auto program = world.root() / "program";
    platform::replace_file(program, "x");
    server::AppVersion version{
        .app = "dedloc_train",
        .friendly_name = "t",
        .version = 101,
        .platform = "x86_64-pc-linux-gnu",
        .plan_class = "mt_dedloc",
        .files = {{.source = program, .open_name = "program", .is_main_program = true}}};
    const auto add = [&] {
        return server::add_app_version(world.database(), world.project(), version, {},
                                       [](const std::string&) {});
    };
    CHECK(add() > 0);
    CHECK(world.one("select group_concat(name) from platform") == "x86_64-pc-linux-gnu");
    version.platform = "windows_x86_64";
    CHECK_THROWS_WITH(add(), Catch::Contains("windows_x86_64") && Catch::Contains("bin/xadd"));
}
