#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "peer/platform/shell_word.hpp"
#include "project_server/check/checks.hpp"
#include "project_server/control/sockets.hpp"
#include "project_server/publishing/key_change.hpp"
#include "project_server/ticket_key.hpp"

namespace dedloc::check {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kOthers = 077;

/// A file or folder that must be the owner's alone.
struct Secret {
    fs::path path;
    bool is_optional = false;                          ///< may be absent
    std::string remedy = "put it back from a backup";  ///< if it cannot be read
};

/// The command that makes the ticket key in a project of an earlier version.
std::string made_by(const Subject& subject) {
    return fmt::format("dedloc {} {}", subject.is_official() ? "install --into" : "project upgrade",
                       subject.project.string());
}

std::vector<Secret> secrets_of(const Subject& subject) {
    const fs::path state = subject.state();
    std::vector<Secret> secrets{{.path = state / "keys/project.key"},
                                {.path = server::ticket_key_file(state),
                                 .remedy = "put it back from a backup, or let " + made_by(subject) +
                                           " make one if no run has one yet"}};
    if (!subject.is_official()) {
        secrets.push_back({.path = subject.project / "config.xml"});
        secrets.push_back({.path = subject.project / "db", .is_optional = true});
        secrets.push_back({.path = subject.config.key_directory / "upload_private"});
        secrets.push_back(
            {.path = subject.config.key_directory / "code_sign_private", .is_optional = true});
        secrets.push_back(
            {.path = subject.config.key_directory / server::kNextKeys / "code_sign_private",
             .is_optional = true});
    }
    if (!subject.settings.mail_credentials.empty()) {
        secrets.push_back({.path = subject.settings.mail_credentials});
    }
    if (!subject.settings.certificate_key.empty()) {
        secrets.push_back({.path = subject.settings.certificate_key});
    }
    std::error_code absent;
    for (const auto& run : fs::directory_iterator{state / "runs", absent}) {
        if (!fs::exists(run.path() / "run.json")) continue;
        secrets.push_back({.path = run.path() / "backbone.key"});
        secrets.push_back({.path = run.path() / control::kEventsSocket, .is_optional = true});
        secrets.push_back({.path = run.path() / control::kCommandsSocket, .is_optional = true});
    }
    return secrets;
}

}  // namespace

void check_secrets(const Subject& subject, Findings& findings) {
    struct stat owner {};
    if (stat(subject.project.c_str(), &owner) != 0) return findings.bad("no project", "");
    int count = 0;
    for (const Secret& secret : secrets_of(subject)) {
        const std::string path = secret.path.string();
        struct stat facts {};
        if (stat(path.c_str(), &facts) != 0) {
            if (secret.is_optional && errno == ENOENT) continue;
            findings.bad(fmt::format("{} cannot be read: {}", path, std::strerror(errno)),
                         secret.remedy);
            continue;
        }
        ++count;
        if ((facts.st_mode & kOthers) != 0) {
            findings.bad(fmt::format("other accounts may use {}: its mode is {:o}", path,
                                     facts.st_mode & 07777U),
                         "chmod go= " + platform::shell_word(path));
        }
        if (facts.st_uid != owner.st_uid) {
            findings.bad(
                fmt::format("{} does not belong to the account of the project's folder", path),
                fmt::format("chown --reference {} {}", platform::shell_word(subject.project),
                            platform::shell_word(path)));
        }
    }
    if (findings.is_clean()) {
        findings.good(fmt::format("{} keys, passwords and sockets are the project's alone", count));
    }
}

}  // namespace dedloc::check
