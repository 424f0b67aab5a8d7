#include "peer/platform/process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/ports.hpp"
#include "peer/platform/shell_word.hpp"
#include "peer/platform/stop_signals.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::platform {
namespace {

using namespace std::chrono_literals;

TEST_CASE("run_to_end returns the output and the exit status", "[platform]") {
    const auto good = run_to_end({"sh", "-c", "echo out; echo err >&2; exit 3"});
    CHECK(good.status == 3);
    CHECK(good.output == "out\nerr\n");
    CHECK(run_to_end({"sh", "-c", "kill -9 $$"}).status == 128 + SIGKILL);
    CHECK_THROWS_WITH(run_to_end({"/nowhere/program"}),
                      "cannot start /nowhere/program: No such file or directory");
}

TEST_CASE("a child writes to its log, has its own process group and no blocked signals",
          "[platform]") {
    const TemporaryDirectory folder;
    const StopSignals blocked_here;
    const pid_t child = spawn({"sh", "-c", "echo first; kill -TERM $$; echo never"},
                              {.output = folder.path() / "log", .output_mode = kSecretFile});
    CHECK(wait_for_child(child) == 128 + SIGTERM);
    CHECK(read_text(folder.path() / "log") == "first\n");
    CHECK(failure_in(folder.path() / "log") == "first");
    const pid_t sleeper = spawn({"sleep", "600"}, {});
    CHECK(getpgid(sleeper) == sleeper);
    CHECK_FALSE(poll_child(sleeper));
    kill(sleeper, SIGKILL);
    CHECK(wait_for_child(sleeper) == 128 + SIGKILL);
}

TEST_CASE("a child runs in the folder that is named and reads what it is given", "[platform]") {
    const TemporaryDirectory folder;
    const auto odd = folder.path() / "My project'\"$(x);*ü%20";
    std::filesystem::create_directory(odd);
    replace_file(odd / "input", std::string_view{"given"});
    const int input = open((odd / "input").c_str(), O_RDONLY | O_CLOEXEC);
    const pid_t child = spawn({"sh", "-c", "cat; pwd"},
                              {.output = odd / "log", .standard_input = input, .directory = odd});
    close(input);
    CHECK(wait_for_child(child) == 0);
    CHECK(read_text(odd / "log") == "given" + odd.string() + "\n");
    CHECK_THROWS_WITH(spawn({"true"}, {.output = {}, .directory = odd / "none"}),
                      "cannot start true: No such file or directory");
}

TEST_CASE("the reason of a failure is the program's own error, not what follows it", "[platform]") {
    const TemporaryDirectory folder;
    const auto log = folder.path() / "log";
    const auto reason = [&](const std::string& text, std::uintmax_t begin = 0) {
        replace_file(log, text);
        return failure_in(log, begin);
    };
    const std::string before = "2026-01-01 0 [ERROR] of an earlier start\n";
    const std::string bind = "2026-01-01 0 [ERROR] Can't start server: Bind on TCP/IP port.";
    const std::string text = "2026-01-01 0 [Note] Starting\n" + bind +
                             "\n0 [ERROR] Do you already have another server running?\n" +
                             "0 [ERROR] Aborting\n\nPlease report problems at example.org\n";
    CHECK(reason(before + text, before.size()) == bind);
    CHECK(reason(text, text.size() + 1) == bind);  // the log was rotated
    CHECK(reason("0 [Warning] Can't create test file\n0 [ERROR] Aborting\n\n") ==
          "0 [Warning] Can't create test file");
    CHECK(reason("ERROR 1064 (42000) at line 1: You have an error\nBye\n") ==
          "ERROR 1064 (42000) at line 1: You have an error");
    CHECK(reason("nginx: [emerg] no \";\" in nginx.conf:3\nnginx: test failed\n") ==
          "nginx: [emerg] no \";\" in nginx.conf:3");
    const std::string place = "FATAL ERROR: Could not find my_print_defaults";
    CHECK(reason(place + "\n\nThe following folders were searched:\n\n    /usr/bin\n\nSee:\n"
                         "https://example.org/docs\n") == place);
    CHECK(reason("Installing system tables\nchown: invalid user: 'x'\nCannot change ownership. "
                 "Check that you have the necessary permissions and try again.\n") ==
          "chown: invalid user: 'x'");
    const std::string size = "/srv/A/program: line 512: 7 File size limit exceeded";
    CHECK(reason("To do so:\n" + size + " (core dumped)\n\nreports: at https://example.org\n") ==
          size + " (core dumped)");
    CHECK(reason("Installing tables\nFile size limit exceeded\n\nInstallation failed!  Examine\n"
                 "reports: at https://example.org\n") == "File size limit exceeded");
    CHECK(reason("nothing\nspecial\n \n") == "special");
    CHECK(reason("").empty());
    CHECK(failure_in(folder.path() / "none").empty());
}

TEST_CASE("a text is one word of a shell's command", "[platform]") {
    CHECK(shell_word("/srv/my-project_2/log.1") == "/srv/my-project_2/log.1");
    for (const std::string text :
         {"", "My project", "a'b\"$(x);*?[~", "ü", "a\nb", "#a", "a=b&c"}) {
        INFO(text);
        CHECK(run_to_end({"sh", "-c", "printf %s " + shell_word(text)}).output == text);
    }
}

TEST_CASE("stop signals can be polled and waited for", "[platform]") {
    {
        const StopSignals signals;
        CHECK_FALSE(signals.arrived());
        CHECK_FALSE(signals.wait(1ms));
        kill(getpid(), SIGINT);
        CHECK(signals.wait(1min));
        CHECK(signals.wait() == SIGINT);
        CHECK(signals.is_interrupted());
        kill(getpid(), SIGTERM);  // still pending in the destructor: must not end this process
    }
    const StopSignals again;
    CHECK_FALSE(again.arrived());
}

TEST_CASE("a free port can be listened on and accepts no connections", "[platform]") {
    const std::uint16_t port = free_port("127.0.0.1");
    CHECK(port != 0);
    CHECK_NOTHROW(require_free_port("127.0.0.1", port));
    CHECK_FALSE(is_accepting("127.0.0.1", port));
    CHECK_THROWS_AS(free_port("not an address"), InputError);
}

TEST_CASE("a free port is none that the system gives to other sockets", "[platform]") {
    const PortRange ephemeral = ephemeral_ports();
    REQUIRE(ephemeral.first < ephemeral.last);
    std::set<std::uint16_t> ports;
    for (int k = 0; k < 50; ++k) {
        ports.insert(free_port("127.0.0.1"));
        CHECK_FALSE(ephemeral.contains(*ports.rbegin()));
        CHECK_FALSE(ephemeral.contains(*ports.begin()));
    }
    CHECK(ports.size() > 40);  // at random: processes that start together get different ones
}

}  // namespace
}  // namespace dedloc::platform
