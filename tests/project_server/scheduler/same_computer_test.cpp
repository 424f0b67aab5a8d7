#include "project_server/scheduler/same_computer.hpp"

#include <catch2/catch.hpp>
#include <functional>
#include <vector>

namespace dedloc::server {
namespace {

const Computer kKnown{.domain_name = "desk",
                      .processor_vendor = "GenuineIntel",
                      .processor_model = "i5",
                      .cores = 4,
                      .memory_bytes = 8e9,
                      .os_name = "Linux Debian",
                      .os_version = "12"};

HostReport desk_report() {
    HostReport report;
    report.domain_name = "desk";
    report.processor_vendor = "GenuineIntel";
    report.processor_model = "i5";
    report.cores = 4;
    report.memory_bytes = 8e9;
    report.os_name = "Linux Debian";
    report.os_version = "12";
    return report;
}

}  // namespace

TEST_CASE("a computer is recognised by what it is made of", "[server][boinc]") {
    struct Change {
        const char* what;
        std::function<void(HostReport&)> apply;
        bool is_same;   ///< for a client without an id
        bool is_other;  ///< for one with the host's id
    };
    const std::vector<Change> changes{
        {"nothing", [](HostReport&) {}, true, false},
        {"vendor", [](HostReport& h) { h.processor_vendor = "AMD"; }, false, true},
        {"model", [](HostReport& h) { h.processor_model = "i7"; }, false, true},
        {"processors", [](HostReport& h) { h.cores = 8; }, false, false},
        {"memory added", [](HostReport& h) { h.memory_bytes = 12e9; }, false, false},
        {"memory of this start", [](HostReport& h) { h.memory_bytes = 7.9e9; }, true, false},
        {"system", [](HostReport& h) { h.os_name = "Windows"; }, false, true},
        {"system updated", [](HostReport& h) { h.os_version = "13"; }, false, false},
        {"name", [](HostReport& h) { h.domain_name = "lap"; }, false, false},
        {"name kept back", [](HostReport& h) { h.domain_name = ""; }, true, false},
        {"model unreadable", [](HostReport& h) { h.processor_model = ""; }, false, false},
    };
    for (const Change& change : changes) {
        INFO(change.what);
        HostReport report = desk_report();
        change.apply(report);
        CHECK(is_same_computer(kKnown, report) == change.is_same);
        CHECK(is_other_computer(kKnown, report) == change.is_other);
    }
}

}  // namespace dedloc::server
