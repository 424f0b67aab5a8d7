// Disk space and daemons.
#include <fmt/format.h>
#include <sys/statvfs.h>

#include <set>

#include "peer/platform/ports.hpp"
#include "peer/platform/process.hpp"
#include "project_server/check/checks.hpp"

namespace dedloc::check {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kBadBytes = std::uint64_t{50} << 20;  ///< `project start` refuses less
constexpr std::uint64_t kLowBytes = std::uint64_t{1} << 30;

}  // namespace

void check_disk(const Subject& subject, Findings& findings) {
    std::set<unsigned long> seen;  // several folders may lie in one file system
    for (const fs::path& folder :
         {subject.project, subject.config.download_directory, subject.config.upload_directory,
          subject.state() / "runs", subject.project / "db"}) {
        struct statvfs system {};
        if (statvfs(folder.c_str(), &system) != 0 || !seen.insert(system.f_fsid).second) continue;
        const auto free = std::uint64_t{system.f_bavail} * system.f_frsize;
        const auto sentence = fmt::format("{} MB are free in {}", free >> 20, folder.string());
        if (free < kBadBytes) {
            findings.bad(sentence, "free some space: the database cannot write without it");
        } else if (free < kLowBytes || system.f_favail == 0) {
            findings.warning(
                system.f_favail == 0 ? fmt::format("no inodes are free in {}", folder.string())
                                     : sentence,
                "free some space; keep_days in dedloc.json says how long old jobs are kept");
        } else {
            findings.good(sentence);
        }
    }
}

void check_daemons(const Subject& subject, Findings& findings) {
    if (!subject.is_running) {
        return findings.unknown("the project is stopped, so its daemons were not checked",
                                fmt::format("dedloc project start {}", subject.project.string()));
    }
    for (const ExpectedDaemon& daemon : subject.daemons) {
        if (daemon.runs) continue;
        const auto log = subject.state() / "log" / (daemon.name + ".log");
        findings.bad(fmt::format("{} does not run: {}", daemon.name,
                                 platform::failure_in(log, daemon.log_begin)),
                     fmt::format("the supervisor restarts it within 30 s; see {}", log.string()));
    }
    if (!subject.is_official()) {
        auto addresses = subject.settings.listen;
        addresses.insert(addresses.end(), subject.settings.redirect.begin(),
                         subject.settings.redirect.end());
        addresses.push_back({.host = "127.0.0.1", .port = subject.settings.server_port});
        addresses.push_back({.host = "127.0.0.1", .port = subject.settings.gateway_port});
        for (const auto& address : addresses) {
            if (platform::is_accepting(address.host, address.port)) continue;
            findings.bad(fmt::format("no daemon accepts connections at {}", address.text()),
                         fmt::format("see the logs in {}", (subject.project / "log").string()));
        }
    }
    if (findings.is_clean()) {
        findings.good(fmt::format("all {} daemons run", subject.daemons.size()));
    }
}

}  // namespace dedloc::check
