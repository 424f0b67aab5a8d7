// ssh makes its sockets once it is connected, in the order of its arguments, or exits.
// So it is connected when the second one is there. Those of an earlier ssh are deleted before.
#include "project_server/control/tunnel.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <system_error>
#include <thread>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/platform/process.hpp"
#include "project_server/control/sockets.hpp"

namespace dedloc::control {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kFirstRestart{500};
constexpr std::chrono::milliseconds kLastRestart{10'000};
constexpr std::chrono::milliseconds kLookEvery{10};
constexpr const char* kLog = "log";

/// Needs no terminal, asks nothing, and gives the other machine nothing to use. The rest is up to
/// the user's ssh_config, which cannot make it share a connection or go to the background.
platform::Command ssh_command(const RemoteEnd& end, const fs::path& folder) {
    platform::Command command{"ssh", "-N", "-T", "-a", "-x"};
    for (const char* const option :
         {"BatchMode=yes", "StrictHostKeyChecking=yes", "ExitOnForwardFailure=yes",
          "ClearAllForwardings=no", "ForkAfterAuthentication=no", "StreamLocalBindUnlink=yes",
          "StreamLocalBindMask=0177", "ConnectTimeout=5", "ServerAliveInterval=5",
          "ServerAliveCountMax=2", "ControlMaster=no", "ControlPath=none", "PermitLocalCommand=no",
          "LogLevel=ERROR"}) {
        command.insert(command.end(), {"-o", option});
    }
    for (const char* const name : {kCommandsSocket, kEventsSocket}) {
        command.insert(command.end(),
                       {"-L", fmt::format("{}:{}/{}", (folder / name).string(), end.folder, name)});
    }
    if (end.port != 0) command.insert(command.end(), {"-p", std::to_string(end.port)});
    command.insert(command.end(), {"-l", end.user, end.host});
    return command;
}

}  // namespace

Tunnel::Tunnel(RemoteEnd end) : end_(std::move(end)), backoff_(kFirstRestart) {
    start();
}

Tunnel::~Tunnel() {
    if (!ssh_) return;
    ::kill(*ssh_, SIGTERM);
    (void)platform::wait_for_child(*ssh_);
}

void Tunnel::start() {
    std::error_code ignored;
    for (const char* const name : {kCommandsSocket, kEventsSocket, kLog}) {
        fs::remove(folder() / name, ignored);
    }
    try {
        ssh_ = platform::spawn(ssh_command(end_, folder()),
                               {.output = folder() / kLog, .output_mode = 0600});
    } catch (const IoError& error) {
        ended(error.what());
    }
}

/// Logs why, unless it is as before.
void Tunnel::ended(const std::string& why) {
    ssh_.reset();
    start_at_ = Clock::now() + backoff_;
    backoff_ = std::min(2 * backoff_, kLastRestart);
    if (why == failure_) return;
    failure_ = why;
    log_warning("no connection to {}: {}", end_.text(), why.empty() ? "ssh has ended" : why);
}

bool Tunnel::is_up() {
    if (!ssh_ && Clock::now() >= start_at_) start();
    if (!ssh_) return false;
    if (platform::poll_child(*ssh_)) {
        std::string why = platform::failure_in(folder() / kLog);
        while (why.ends_with('\r')) why.pop_back();  // ssh ends its lines as terminals do
        ended(why);
        return false;
    }
    std::error_code absent;
    if (!fs::exists(folder() / kEventsSocket, absent)) return false;
    backoff_ = kFirstRestart;
    failure_.clear();
    return true;
}

bool Tunnel::wait(std::chrono::milliseconds limit) {
    const auto until = Clock::now() + limit;
    while (!is_up()) {
        if (!ssh_ || Clock::now() >= until) return false;
        std::this_thread::sleep_for(kLookEvery);
    }
    return true;
}

}  // namespace dedloc::control
