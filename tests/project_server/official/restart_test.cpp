// bin/stop does not wait for daemons, and bin/start skips those that still end.
#include <catch2/catch.hpp>

#include "peer/platform/ports.hpp"
#include "project_server/official/remove.hpp"
#include "tests/project_server/official/apache.hpp"
#include "tests/project_server/official/started_project.hpp"

using namespace dedloc;
using tests::Started;

namespace {

/// A process that is stopped ends on no signal but SIGKILL, as one that computes for long.
class Frozen {
  public:
    explicit Frozen(pid_t process) : process_(process) { kill(process_, SIGSTOP); }
    ~Frozen() { kill(process_, SIGCONT); }
    Frozen(const Frozen&) = delete;
    Frozen& operator=(const Frozen&) = delete;

  private:
    const pid_t process_;
};

pid_t backbone_of(const Started& world, const std::string& run = "first") {
    pid_t process = 0;
    std::ifstream{world.root() / "dedloc/pids" / ("dedloc-backbone-" + run + ".pid")} >> process;
    return process;
}

/// Waits until the run's backbone is another process than `before`.
void await_backbone(Started& world, pid_t before, const std::string& run = "first") {
    world.await([&] {
        const pid_t now = backbone_of(world, run);
        return now != 0 && now != before && kill(now, 0) == 0;
    });
}

/// A member of a run, as fast as twenty samples a second.
class Member {
  public:
    Member(const Started& world, const std::string& run) {
        const std::string file = world.root() / "dedloc/runs" / run / "run.json";
        const std::string key = folder_.path() / "key";
        const std::string ticket = folder_.path() / "ticket";
        Started::dedloc(DEDLOC_PROGRAMS "/dedloc-peer",
                        {"ticket", file, "--project-key", world.root() / "dedloc/keys/project.key",
                         "--key", key, "--ticket", ticket, "--user", "5", "--host", "6"});
        process_ = platform::spawn({DEDLOC_PROGRAMS "/dedloc-peer", "join", file, "--key", key,
                                    "--ticket", ticket, "--samples-per-second", "20", "--quiet"},
                                   {.output = folder_.path() / "log"});
    }
    Member(const Member&) = delete;
    Member& operator=(const Member&) = delete;
    ~Member() {
        kill(process_, SIGTERM);
        platform::wait_for_child(process_);
    }

  private:
    const TemporaryDirectory folder_;
    pid_t process_ = 0;
};

/// Milliseconds from now until `condition` holds.
template <class Condition>
std::int64_t milliseconds_until(Started& world, const Condition& condition) {
    const auto begin = std::chrono::steady_clock::now();
    world.await(condition);
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                                 begin)
        .count();
}

}  // namespace

TEST_CASE("bin/stop and bin/start at once leave every daemon running, also with a slow backbone",
          "[server][official]") {
    Started world{platform::free_port("127.0.0.1")};
    world.start();
    await_backbone(world, 0);
    const pid_t old_backbone = backbone_of(world);
    const pid_t old_runs = world.process_of("dedloc-runs");
    {
        const Frozen slow{old_backbone};  // the supervisor kills it after some seconds
        world.control("stop");
        const auto printed = world.control("start", {"-v"});
        CHECK(printed.find("already running: dedloc-") == std::string::npos);
        await_backbone(world, old_backbone);
    }
    world.await_daemons();
    CHECK(world.process_of("dedloc-runs") != old_runs);
    // Twice in a row, and the second time while the first one's daemons wait for their turn.
    for (int i = 0; i < 2; ++i) {
        world.control("stop");
        world.control("start");
    }
    world.await_daemons();
    world.await([&] { return kill(backbone_of(world), 0) == 0; });
    world.stop();
    world.await([&] {  // a daemon's turn ends a moment before its process
        return world.control("status", {"-v"}).find(" running ") == std::string::npos;
    });
}

// Prints how long daemons take to end, which bin/stop does not wait for.
TEST_CASE("a large run that trains has a backbone after bin/stop and bin/start",
          "[.slow][server][official]") {
    const std::string model = GENERATE("tiny", "base", "large");
    Started world{platform::free_port("127.0.0.1")};
    world.make_run("big", model);
    world.start();
    await_backbone(world, 0, "big");
    const Member member{world, "big"};
    const auto steps = [&] {
        return std::stoi(
            world.one("select ifnull(max(step), 0) from dedloc_step join dedloc_run "
                      "on id = runid where name = 'big'"));
    };
    for (int i = 0; i < 3; ++i) {
        const int before = steps();
        world.await([&] { return steps() >= before + 2; });
        const pid_t backbone = backbone_of(world, "big");
        const pid_t runs = world.process_of("dedloc-runs");
        world.control("stop");
        const auto of_backbone = milliseconds_until(world, [&] { return kill(backbone, 0) != 0; });
        const auto of_runs = milliseconds_until(world, [&] { return kill(runs, 0) != 0; });
        const auto of_rest = milliseconds_until(
            world, [&] { return server::daemons_in_turn(world.root()).empty(); });
        world.control("start");
        await_backbone(world, backbone, "big");
        const int then = steps();
        world.await([&] { return steps() > then; });
        const pid_t second = backbone_of(world, "big");
        world.control("stop");
        world.control("start");
        const auto until_next = milliseconds_until(world, [&] {
            const pid_t now = backbone_of(world, "big");
            return now != 0 && now != second && kill(now, 0) == 0;
        });
        WARN(model << ": the backbone ended " << of_backbone << " ms after bin/stop, dedloc-runs "
                   << of_runs << " ms later, all others " << of_rest
                   << " ms later; at once restarted, a new backbone ran after " << until_next
                   << " ms");
    }
    world.stop();
}

TEST_CASE("a daemon in the middle of a pass gives way to its successor, which waits for its end",
          "[server][official]") {
    Started world{platform::free_port("127.0.0.1")};
    world.start();
    world.await("select jobs >= 16 from dedloc_run", "1");
    // dedloc-work has made its jobs, so each further pass waits for this table in a statement that
    // begins so. It cannot look at signals meanwhile.
    server::Database other{world.database().settings()};
    other.execute("lock tables dedloc_run write");
    world.await([&] {
        return world.database()
                   .query_one(
                       "select count(*) as waiting from information_schema.processlist where state "
                       "like 'Waiting for table%' and info like 'select id, name%dedloc_run%'")
                   ->integer("waiting") > 0;
    });
    const pid_t first = world.process_of("dedloc-work");
    world.control("stop");
    const auto printed = world.control("start", {"-v"});
    CHECK(printed.find("already running: dedloc-") == std::string::npos);
    CHECK(world.process_of("dedloc-work") == first);  // never two at a time
    other.execute("unlock tables");
    world.await([&] {
        const pid_t now = world.process_of("dedloc-work");
        return now != 0 && now != first;
    });
    world.await_daemons();
    CHECK_THAT(world.log_of("dedloc-work"), Catch::Contains("its predecessor"));
}

TEST_CASE("a removal right after bin/stop waits for the daemons' end, and refuses without bin/stop",
          "[server][official]") {
    Started world{platform::free_port("127.0.0.1")};
    world.start();
    await_backbone(world, 0);
    world.own({"install", "--into", world.root().string(), "--remove"}, 2);
    const Frozen slow{backbone_of(world)};
    world.control("stop");
    const auto printed = world.own({"install", "--into", world.root().string(), "--remove"});
    CHECK_THAT(printed, Catch::Contains("IncludeOptional \"" + world.root().string()));
    CHECK(server::daemons_in_turn(world.root()).empty());
}

TEST_CASE("status and check name our daemons and warn of an address that leads elsewhere",
          "[server][official]") {
    // Nothing listens at the project's URL at first, then a web server without our line.
    const auto port = platform::free_port("127.0.0.1");
    Started world{port};
    world.start();
    await_backbone(world, 0);
    const auto project = world.root().string();
    const auto status = [&] { return world.own({"project", "status", "--json", project}); };
    for (const char* const name :
         {"dedloc-gateway", "dedloc-runs", "dedloc-work", "dedloc-validator", "dedloc-credit"}) {
        CHECK_THAT(status(), Catch::Contains("\"name\":\"" + std::string{name} + "\""));
    }
    CHECK_THAT(status(), Catch::Contains("\"warnings\":[]") &&
                             !Catch::Contains("\"database_bytes\":0,") &&
                             !Catch::Contains("last_backup"));
    {
        const tests::WebServer elsewhere{port, 404, "<html>Not Found</html>"};
        CHECK_THAT(status(), Catch::Contains("HTTP status 404") &&
                                 Catch::Contains("IncludeOptional \\\"" + project +
                                                 "/dedloc/dedloc.httpd.conf\\\""));
        const auto checked = world.own({"project", "check", "--quick", project}, 1);
        CHECK_THAT(checked, Catch::Contains("all 6 daemons run") &&
                                Catch::Contains("HTTP status 404") &&
                                Catch::Contains("IncludeOptional"));
    }
    // A daemon that has ended is missed.
    kill(world.process_of("dedloc-credit"), SIGKILL);
    world.await([&] { return world.process_of("dedloc-credit") == 0; });
    CHECK_THAT(status(), Catch::Contains("not running: dedloc-credit"));
    CHECK_THAT(world.own({"project", "check", "--quick", project}, 1),
               Catch::Contains("dedloc-credit does not run") && Catch::Contains("start --cron"));
    world.control("start");
    world.await_daemons();
}

TEST_CASE("commands that are not for an official server say what is", "[server][official]") {
    Started world{platform::free_port("127.0.0.1")};
    const auto project = world.root().string();
    CHECK_THAT(world.own({"project", "backup", project, "--to", "/tmp"}, 2),
               Catch::Contains("back up its database and its folder"));
    CHECK_THAT(world.own({"news", "add", "--project", project, "--title", "a", "--text", "b"}, 2),
               Catch::Contains("news forum"));
    CHECK_THAT(world.own({"app", "rekey", "--project", project, "--signatures", "/tmp"}, 2),
               Catch::Contains("code signing key"));
    // `run report` of a run beside an account with credit of another app.
    world.database().execute("update user set total_credit = 100");
    world.database().execute(
        "insert into dedloc_step (runid, step, samples, loss, learning_rate, members, "
        "equal_digests, digest, seconds, committed_at) select id, 1, 4, 7, 1, 1, 1, '', 1, 1 from "
        "dedloc_run");
    world.database().execute(
        "insert into dedloc_contribution (runid, step, peer_key, samples, loss_sum) select id, 1, "
        "'k', 4, 1 from dedloc_run");
    const auto report = world.own({"run", "report", "--project", project, "--name", "first"});
    CHECK_THAT(report, Catch::Contains("pending   1 contributions not credited yet") &&
                           Catch::Contains("other apps") && !Catch::Contains("THEY DIFFER"));
}
