// dedloc install into an official project, and out of it again.
#include "project_server/official/install.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <iostream>
#include <thread>

#include "peer/base/random.hpp"
#include "peer/platform/process.hpp"
#include "project_server/official/project.hpp"
#include "project_server/official/remove.hpp"
#include "project_server/settings.hpp"
#include "tests/project_server/official/official_project.hpp"

using namespace dedloc;
using tests::OfficialProject;

namespace {

namespace fs = std::filesystem;

using Lines = std::map<std::string, std::string>;

Lines install(const OfficialProject& world, official::InstallOptions options = {}) {
    Lines lines;
    options.project = world.root();
    if (options.programs.empty()) options.programs = world.programs();
    official::install(options, [&](const std::string& outcome, const std::string& what) {
        lines[what] = outcome;
    });
    return lines;
}

Lines remove(const OfficialProject& world, bool drops_data = false) {
    Lines lines;
    official::remove(
        {.project = world.root(), .drops_data = drops_data},
        [&](const std::string& outcome, const std::string& what) { lines[what] = outcome; });
    return lines;
}

std::size_t count(const Lines& lines, const std::string& outcome) {
    return static_cast<std::size_t>(
        std::ranges::count_if(lines, [&](const auto& line) { return line.second == outcome; }));
}

void replace(std::string& text, const std::string& from, const std::string& to) {
    const auto at = text.find(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("a second installation changes nothing, and a removal leaves no difference",
          "[server][official]") {
    OfficialProject world;
    const auto files = world.files();
    const auto tables = world.tables();
    const auto first = install(world);
    CHECK(count(first, "done") == first.size());
    const auto installed = world.files();
    const auto installed_tables = world.tables();
    // BOINC's own tables have neither a new column nor a new index.
    for (const auto& [name, definition] : tables) CHECK(installed_tables.at(name) == definition);
    CHECK(installed_tables.size() == tables.size() + server::own_tables().size());
    CHECK(installed.at("config.xml").find("<cmd>dedloc-work --project ..</cmd>") !=
          std::string::npos);

    const auto second = install(world);
    CHECK(count(second, "there") == second.size());
    CHECK(second.size() == first.size());
    CHECK(world.files() == installed);

    const auto settings = server::read_settings(world.root());
    CHECK(settings.name == "Quality & Co");
    CHECK(settings.url == "http://127.0.0.1:1/quality/");
    CHECK(settings.peer_listen == "127.0.0.1");
    CHECK(server::load_project_config(world.root()).name == "Quality & Co");

    remove(world);
    CHECK(world.files() == files);
    CHECK(world.tables() == tables);
    CHECK(remove(world).empty());
}

TEST_CASE("a dry run changes nothing", "[server][official]") {
    OfficialProject world;
    const auto files = world.files();
    const auto tables = world.tables();
    const auto lines = install(world, {.is_dry = true});
    CHECK(count(lines, "would") == lines.size());
    CHECK(world.files() == files);
    CHECK(world.tables() == tables);
    CHECK(install(world).size() == lines.size());
    const auto installed = world.files();
    official::remove({.project = world.root(), .is_dry = true}, [](const auto&, const auto&) {});
    CHECK(world.files() == installed);
}

TEST_CASE("config.xml comes back byte by byte whatever form its lists have", "[server][official]") {
    const std::string lists =
        GENERATE(std::string{""}, std::string{"    <daemons/>\n    <tasks />\n"},
                 std::string{"<tasks></tasks><daemons>\n\n</daemons>"},
                 std::string{"<daemons><daemon><cmd>feeder</cmd></daemon></daemons>\n"},
                 std::string{"\t<daemons>\r\n\t\t<daemon>\r\n\t\t\t<cmd>feeder &amp; "
                             "x</cmd>\r\n\t\t</daemon>\r\n\t\t<!-- </daemons> -->\r\n"
                             "\t</daemons>\r\n\t<tasks><![CDATA[</tasks>]]></tasks>\r\n"});
    OfficialProject world{lists};
    const auto before = world.config();
    install(world);
    const auto installed = world.config();
    CHECK(installed != before);
    install(world);
    CHECK(world.config() == installed);
    remove(world);
    CHECK(world.config() == before);
}

TEST_CASE("what an administrator edits meanwhile is kept", "[server][official]") {
    OfficialProject world;
    install(world);
    auto config = world.config();
    replace(config, "dedloc-work --project ..", "dedloc-work --lease-hours 6 --project ..");
    replace(config, "        <daemon>\n            <cmd>dedloc-validator",
            "        <daemon><cmd>their_daemon</cmd></daemon>\n        <daemon>\n            "
            "<cmd>dedloc-validator");
    replace(config, "<daily_result_quota>500<", "<daily_result_quota>7<");
    world.write_config(config);
    platform::replace_file(world.root() / "templates/dedloc_train_out", "<output_template/>\n");
    auto classes = platform::read_text(world.root() / "plan_class_spec.xml");
    replace(classes, "<min_gpu_ram_mb>2000<", "<min_gpu_ram_mb>9000<");
    replace(classes, "</plan_classes>",
            "    <plan_class><name>theirs</name></plan_class>\n</plan_classes>");
    platform::replace_file(world.root() / "plan_class_spec.xml", classes);

    const auto lines = install(world);
    CHECK(count(lines, "done") == 0);
    CHECK(count(lines, "kept") == 3);
    CHECK(world.config() == config);

    remove(world);
    config = world.config();
    CHECK(config.rfind("<cmd>dedloc-") == config.find("<cmd>dedloc-purge</cmd>"));  // a comment
    CHECK(config.find("<dedloc_") == std::string::npos);
    CHECK(config.find("<daemon><cmd>their_daemon</cmd></daemon>") != std::string::npos);
    CHECK(config.find("<daily_result_quota>7<") != std::string::npos);
    CHECK(platform::read_text(world.root() / "plan_class_spec.xml").find("theirs") !=
          std::string::npos);
    CHECK(platform::read_text(world.root() / "templates/dedloc_train_out") ==
          "<output_template/>\n");
}

TEST_CASE("an upgrade replaces programs by renaming, and entries that are still ours",
          "[server][official]") {
    OfficialProject world;
    install(world);
    const fs::path program = world.root() / "bin/dedloc-work";
    const int running = open(program.c_str(), O_RDONLY | O_CLOEXEC);
    world.write_program("dedloc-work", "second");
    const auto lines = install(world, {.peer_port = 40'000});
    CHECK(count(lines, "done") == 2);
    CHECK(lines.at("bin/dedloc-work") == "done");
    CHECK(server::read_settings(world.root()).peer_port == 40'000);
    CHECK(platform::read_text(program).starts_with("second"));
    std::array<char, 5> old{};
    CHECK(read(running, old.data(), old.size()) == 5);
    CHECK(std::string(old.begin(), old.end()) == "first");
    close(running);
}

TEST_CASE("an installation sets the links of backbones, and config.xml is checked",
          "[server][official]") {
    OfficialProject world;
    install(world);
    CHECK(server::read_settings(world.root()).max_links == server::kDefaultLinks);
    CHECK(count(install(world, {.max_links = 500}), "done") == 1);
    CHECK(server::read_settings(world.root()).max_links == 500);
    const auto installed = world.config();
    for (const char* value : {"0", "32001", "-5", "5x", "five"}) {
        auto config = installed;
        replace(config, "<dedloc_max_links>500<", std::string{"<dedloc_max_links>"} + value + "<");
        world.write_config(config);
        CHECK_THROWS_WITH(server::read_settings(world.root()),
                          Catch::Contains("<dedloc_max_links>") &&
                              Catch::EndsWith("must be a number from 1 to 32000"));
    }
}

TEST_CASE("an installation sets limits of seats, and rates of devices are read",
          "[server][official]") {
    OfficialProject world;
    install(world);
    const auto usual = server::read_settings(world.root());
    CHECK(usual.seats_per_account == server::kDefaultSeatsOfAccount);
    CHECK(usual.seats_per_network == server::kDefaultSeatsOfNetwork);
    CHECK_FALSE(usual.flops_per_gpu);
    CHECK(count(install(world, {.seats_per_account = 7, .seats_per_network = 0}), "done") == 2);
    CHECK(server::read_settings(world.root()).seats_per_account == 7);
    CHECK(server::read_settings(world.root()).seats_per_network == 0);
    const auto installed = world.config();
    const auto read_with = [&](const std::string& name, const std::string& value) {
        auto config = installed;
        replace(config, "<dedloc_seats_per_account>7</dedloc_seats_per_account>",
                "<dedloc_" + name + ">" + value + "</dedloc_" + name + ">");
        world.write_config(config);
        return server::read_settings(world.root());
    };
    CHECK(read_with("flops_per_gpu", "1e15").flops_per_gpu == 1e15);
    CHECK(read_with("flops_per_core", "800000000000").flops_per_core == 8e11);
    for (const std::string name : {"seats_per_account", "flops_per_gpu", "flops_per_core"}) {
        for (const char* value : {"-5", "5x", "five", "1e300", "nan", "inf"}) {
            CHECK_THROWS_WITH(read_with(name, value), Catch::Contains("<dedloc_" + name + ">") &&
                                                          Catch::Contains("must be a number from"));
        }
    }
}

TEST_CASE("projects that cannot be installed into are refused in one sentence, unchanged",
          "[server][official]") {
    OfficialProject world;
    const auto refusal = [&] {
        const auto files = world.files();
        std::string sentence;
        try {
            install(world);
        } catch (const Error& error) {
            sentence = error.what();
        }
        CHECK(world.files() == files);
        CHECK(sentence.find('\n') == std::string::npos);
        return sentence;
    };
    const auto config = world.config();
    SECTION("config.xml is damaged") {
        world.write_config(config.substr(0, config.size() - 30));
        CHECK(refusal() != "");
    }
    SECTION("its daemons are not well-formed, which libsched does not see") {
        auto damaged = config;
        replace(damaged, "</daemons>", "</daemon>");
        world.write_config(damaged);
        CHECK_THAT(refusal(), Catch::Contains("not well-formed"));
    }
    SECTION("the database refuses the account") {
        auto other = config;
        replace(other, ">secret<", ">wrong<");
        world.write_config(other);
        CHECK_THAT(refusal(), Catch::Contains("denied"));
    }
    SECTION("the database has no tables of BOINC's") {
        world.database().execute("rename table workunit to elsewhere");
        CHECK_THAT(refusal(), Catch::Contains("no table workunit"));
    }
    SECTION("a plan_class_spec.xml would disable plan classes of another app") {
        world.database().execute(
            "insert into app (id, create_time, name, user_friendly_name) values (9, 0, 'x', 'x')");
        world.database().execute(
            "insert into app_version (create_time, appid, version_num, platformid, xml_doc, "
            "plan_class) values (0, 9, 1, 1, '', 'vbox64')");
        CHECK_THAT(refusal(), Catch::Contains("vbox64"));
    }
    SECTION("another installation works there") {
        const int other = open(world.root().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        REQUIRE(flock(other, LOCK_EX) == 0);
        CHECK(refusal() != "");
        close(other);
    }
    SECTION("it is no project of BOINC's") {
        fs::remove_all(world.root() / "html");
        CHECK_THAT(refusal(), Catch::Contains("it has no html"));
    }
    SECTION("it is a project of ours") {
        platform::replace_file(world.root() / "dedloc.json", "{}");
        CHECK_THAT(refusal(), Catch::Contains("dedloc project create"));
    }
}

TEST_CASE(
    "rows and runs stay unless the data are dropped, and a new installation goes on with them",
    "[server][official]") {
    OfficialProject world;
    const auto files = world.files();
    const auto tables = world.tables();
    install(world);
    const auto keys = [&] {
        return std::pair{platform::read_text(world.root() / "dedloc/keys/project.key"),
                         platform::read_text(world.root() / "dedloc/keys/ticket.key")};
    };
    const auto made = keys();
    CHECK(made.first != made.second);
    fs::create_directories(world.root() / "dedloc/runs/first");
    world.database().execute(
        "insert into dedloc_run (name, run_id, spec, target_batch, steps, flops_per_sample, "
        "credit_per_sample, created) values ('first', '', '{}', 8, 10, 1e6, 1, 0)");
    world.database().execute(
        "insert into app (id, create_time, name, user_friendly_name) values (7, 0, "
        "'dedloc_train', 'x')");
    const auto deprecated = [&] {
        return world.database()
            .query_one("select deprecated from app where id = 7")
            ->integer("deprecated");
    };
    auto lines = remove(world);
    CHECK(count(lines, "kept") == 3);
    CHECK(world.tables().size() > tables.size());
    CHECK(world.files().at("config.xml") == files.at("config.xml"));
    CHECK_FALSE(fs::exists(world.root() / "bin/dedloc"));
    CHECK(deprecated() == 1);

    install(world);
    CHECK(keys() == made);
    CHECK(world.database().query_one("select name from dedloc_run")->text("name") == "first");
    CHECK(deprecated() == 0);

    lines = remove(world, true);
    auto after = world.files();
    after.erase("reread_db");  // tells the feeder
    CHECK(after == files);
    CHECK(world.tables() == tables);
    CHECK_FALSE(world.database().query_one("select id from app where id = 7"));
}

TEST_CASE("an installation waits for a statement of one that was killed", "[server][official]") {
    OfficialProject world;
    install(world);
    const auto wait = [&] {
        return world.database()
            .query_one(
                "select count(*) as waiting from information_schema.processlist where "
                "state = 'User lock'")
            ->integer("waiting");
    };
    // A connection that still drops tables for a process that is gone.
    auto other = std::make_unique<server::Database>(world.database().settings());
    // The server frees the first installation's lock some time after its connection has closed.
    const auto locked =
        other->query_one("select get_lock(concat('dedloc install ', database()), 60) as is_locked");
    REQUIRE(locked->integer("is_locked") == 1);
    std::thread dropping{[&] {
        while (wait() == 0) std::this_thread::yield();
        other->execute("drop table dedloc_ticket");
        other.reset();
    }};
    const auto lines = install(world);
    dropping.join();
    CHECK(count(lines, "done") == 1);
    CHECK(world.tables().contains("dedloc_ticket"));
}

TEST_CASE("daemons that run are not removed", "[server][official]") {
    OfficialProject world;
    install(world);
    fs::create_directories(world.root() / "pid_machine");
    const auto file = world.root() / "pid_machine/dedloc-work.lock";
    const pid_t daemon = fork();
    if (daemon == 0) {  // as bin/start does before it becomes the daemon
        const int lock = open(file.c_str(), O_RDWR | O_CREAT, 0644);
        const bool is_locked = lockf(lock, F_TLOCK, 0) == 0;
        if (is_locked) close(open((file.string() + "ed").c_str(), O_RDWR | O_CREAT, 0644));
        pause();
        _exit(0);
    }
    while (!fs::exists(file.string() + "ed")) std::this_thread::yield();
    CHECK_THROWS_WITH(remove(world), Catch::Contains("dedloc-work") && Catch::Contains("bin/stop"));
    kill(daemon, SIGKILL);
    platform::wait_for_child(daemon);
    remove(world);
    CHECK(fs::is_empty(world.root() / "pid_machine"));
}

namespace {

/// Runs `work` in a process of its own and kills it after some microseconds. True if it was done
/// before.
template <class Work>
bool killed_after(std::uint64_t microseconds, const Work& work) {
    const pid_t child = fork();
    if (child == 0) {
        try {
            work();
            _exit(0);
        } catch (const std::exception& error) {
            std::cerr << error.what() << std::endl;
            _exit(1);
        }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
    kill(child, SIGKILL);
    const int status = platform::wait_for_child(child);
    REQUIRE(status != 1);
    return status == 0;
}

}  // namespace

TEST_CASE("installations and removals that are killed at any moment are completed by the next one",
          "[server][official]") {
    OfficialProject world;
    const auto files = world.files();
    const auto tables = world.tables();
    Random random{20'261'125};
    const auto limited = [](std::map<std::string, std::string> all) {
        for (const char* const name :
             {"dedloc/keys/project.key", "dedloc/keys/ticket.key", "dedloc/install.json",
              "dedloc/dedloc.httpd.conf", "config.xml"}) {
            all.erase(name);  // new keys, a port and order of digests
        }
        return all;
    };
    const auto began = std::chrono::steady_clock::now();
    install(world);
    const auto took = std::chrono::duration_cast<std::chrono::microseconds>(
        std::chrono::steady_clock::now() - began);
    const auto installed = limited(world.files());
    const auto installed_tables = world.tables();
    remove(world);
    int kills = 0;
    // Shorter each time that the work was done first: how long it takes depends on the machine's
    // load, which changes.
    auto longest = static_cast<std::uint64_t>(took.count());
    const auto interrupt = [&](const auto& work) {
        for (int i = 0; i < 3; ++i) {
            const bool is_done = killed_after(random.below(longest), work);
            kills += is_done ? 0 : 1;
            longest = is_done ? longest * 3 / 4 + 1'000 : longest * 5 / 4;
        }
    };
    for (int round = 0; round < 8; ++round) {
        interrupt([&] { install(world); });
        install(world);
        CHECK(limited(world.files()) == installed);
        CHECK(world.tables() == installed_tables);
        interrupt([&] { remove(world); });
        remove(world);
        CHECK(world.files() == files);
        CHECK(world.tables() == tables);
    }
    CHECK(kills > 5);
}
