#include "boinc_app/runtime/planned_fault.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"

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
    const char* const end = all.data() + all.size();
    const auto [stop, failure] = std::from_chars(all.data() + at + 1, end, fault.commits);
    if (failure != std::errc{} || stop != end || fault.commits < 1 || fault.commits > kMaxCommits) {
        throw error;
    }
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
