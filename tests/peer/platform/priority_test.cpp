// Threads that run only on idle processors.
#include "peer/platform/priority.hpp"

#include <sched.h>
#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <thread>

namespace dedloc::platform {
namespace {

struct Seen {
    int policy = -1;
    int nice = -1;
};

Seen of_this_thread() {
    return {.policy = sched_getscheduler(0), .nice = getpriority(PRIO_PROCESS, 0)};
}

TEST_CASE("a thread and those that it starts run when processors are idle, others as before",
          "[platform]") {
    const Seen before = of_this_thread();
    bool is_granted = false;
    Seen thread, its_thread;
    std::thread idle{[&] {
        is_granted = run_when_idle();
        thread = of_this_thread();
        std::thread{[&] { its_thread = of_this_thread(); }}.join();
    }};
    idle.join();
    CHECK(is_granted);
    for (const Seen& seen : {thread, its_thread}) {
        CHECK(seen.policy == SCHED_IDLE);
        CHECK(seen.nice == 19);
    }
    const Seen after = of_this_thread();
    CHECK(after.policy == before.policy);
    CHECK(after.nice == before.nice);
}

}  // namespace
}  // namespace dedloc::platform
