// A hidden case, run by hand: what viewers cost.
//
//   server_pages_test "[.viewers]"   viewers of a long run's page; DEDLOC_VIEWERS: how many (100)
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "peer/platform/process.hpp"
#include "tests/project_server/web/filled_site.hpp"

namespace dedloc::server {
namespace {

using namespace std::chrono_literals;

constexpr int kSteps = 100'000;

double processor_seconds() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

TEST_CASE("viewers of a live run cost little", "[.viewers]") {
    TestSite site;
    fill(site.database(), kSteps);
    const char* const asked = std::getenv("DEDLOC_VIEWERS");
    const int count = asked != nullptr ? std::atoi(asked) : 100;
    constexpr auto kInterval = 3s;
    constexpr auto kTime = 30s;
    site.page("/run/albert.json");
    // Viewers in a process of their own, so that only the server's time is counted.
    std::ostringstream script;
    script << "end=$((SECONDS + " << kTime.count() << ")); while ((SECONDS < end)); do "
           << "curl -s -o /dev/null --no-progress-meter 'http://127.0.0.1:" << site.port()
           << "/run/albert.json?viewer=[1-" << count << "]'; sleep " << kInterval.count()
           << "; done";
    // A new step every 2 s, as in a live run.
    std::atomic<bool> stop = false;
    std::thread steps{[&] {
        Database database{site.project().config().database};
        for (int step = kSteps + 1; !stop; ++step) {
            database.execute("insert into dedloc_step values (1, ?, 4096, 3, 0.1, 64, 64, ?, 2, ?)",
                             {step, std::string(64, 'd'), step});
            std::this_thread::sleep_for(2s);
        }
    }};
    const auto begin = std::chrono::steady_clock::now();
    const double before = processor_seconds();
    const auto child = platform::spawn({"/bin/bash", "-c", script.str()}, {});
    platform::wait_for_child(child);
    const double spent = processor_seconds() - before;
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    stop = true;
    steps.join();
    std::printf("%d viewers every %d s, %d steps, %zu bytes each: server %.2f %% of a core\n",
                count, static_cast<int>(kInterval.count()), kSteps,
                site.page("/run/albert.json").size(), 100 * spent / wall.count());
    CHECK(spent / wall.count() < 0.1);
}

}  // namespace dedloc::server
