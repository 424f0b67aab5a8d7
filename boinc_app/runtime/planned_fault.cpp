#include "boinc_app/runtime/planned_fault.hpp"

#include <fmt/format.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/base/text.hpp"

namespace dedloc::runtime {
namespace {

using Kind = PlannedFault::Kind;

constexpr unsigned kMaxCommits = 1'000'000;
constexpr std::array<std::pair<std::string_view, Kind>, 3> kNames{
    {{"exit", Kind::kExit}, {"crash", Kind::kCrash}, {"hang", Kind::kHang}}};

}  // namespace

PlannedFault parse_fault(const std::string& text) {
    const InputError error{fmt::format(
        "--fault wants exit, crash or hang, with @N for one after N counted contributions, not "
        "'{}'",
        text)};
    const std::string_view all{text};
    const std::size_t at = all.find('@');
    PlannedFault fault;
    bool is_known = false;
    for (const auto& [name, kind] : kNames) {
        if (all.substr(0, at) != name) continue;
        fault.kind = kind;
        is_known = true;
    }
    if (!is_known) throw error;
    if (at == std::string_view::npos) return fault;
    const auto commits = parse_number<unsigned>(all.substr(at + 1));
    if (!commits || *commits < 1 || *commits > kMaxCommits) throw error;
    fault.commits = *commits;
    return fault;
}

void fail_as_planned(const PlannedFault& fault) {
    log_warning("--fault: after {} counted contributions this job fails as its tester wants",
                fault.commits);
    switch (fault.kind) {
        case Kind::kExit:
            std::_Exit(1);
        case Kind::kCrash:
            std::signal(SIGSEGV, SIG_DFL);
            std::raise(SIGSEGV);
            break;
        case Kind::kHang:
            for (;;) pause();
    }
    std::abort();
}

}  // namespace dedloc::runtime
