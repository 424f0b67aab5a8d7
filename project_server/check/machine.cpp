// Disk space and daemons.
#include <fmt/format.h>
#include <sys/statvfs.h>

#include <set>
#include <string>

#include "peer/platform/ports.hpp"
#include "peer/platform/process.hpp"
#include "peer/platform/shell_word.hpp"
#include "project_server/check/checks.hpp"

namespace dedloc::check {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kBadBytes = std::uint64_t{50} << 20;  ///< `project start` refuses less
constexpr std::uint64_t kLowBytes = std::uint64_t{1} << 30;
constexpr const char* kBackbone = "dedloc-backbone-";  ///< begins the names of backbones

/// A daemon's log: those that bin/start has started write to the folder log_HOST.
fs::path log_of(const Subject& subject, const std::string& name) {
    const auto log = name + ".log";
    if (!subject.is_official() || name.starts_with(kBackbone)) return subject.state() / "log" / log;
    std::error_code unreadable;
    for (const auto& folder : fs::directory_iterator{subject.project, unreadable}) {
        const bool is_chosen = folder.path().filename().string().starts_with("log_");
        if (is_chosen && fs::exists(folder.path() / log)) return folder.path() / log;
    }
    return subject.project / log;
}

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
        return findings.unknown(
            "the project is stopped, so its daemons were not checked",
            subject.is_official()
                ? platform::shell_word(subject.project / "bin/start")
                : "dedloc project start " + platform::shell_word(subject.project));
    }
    for (const ExpectedDaemon& daemon : subject.daemons) {
        if (daemon.runs) continue;
        const auto log = log_of(subject, daemon.name);
        findings.bad(
            fmt::format("{} does not run: {}", daemon.name,
                        platform::failure_in(log, daemon.log_begin)),
            subject.is_official() && !daemon.name.starts_with(kBackbone)
                ? fmt::format("{} --cron starts it again; see {}",
                              platform::shell_word(subject.project / "bin/start"), log.string())
                : fmt::format("the supervisor restarts it within 30 s; see {}", log.string()));
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
