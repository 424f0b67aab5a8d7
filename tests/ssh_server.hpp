// An SSH server of a test's own (ssh_server.sh), which this process's ssh may log in to.
#pragma once

#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include "peer/base/check.hpp"
#include "peer/platform/ports.hpp"
#include "peer/platform/process.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc {

class SshServer {
  public:
    SshServer() : port_(platform::free_port("127.0.0.1")), former_path_(::getenv("PATH")) {
        start();
        ::setenv("PATH", ((folder_.path() / "bin").string() + ":" + former_path_).c_str(), 1);
    }
    ~SshServer() {
        stop();
        ::setenv("PATH", former_path_.c_str(), 1);
    }
    SshServer(const SshServer&) = delete;
    SshServer& operator=(const SshServer&) = delete;

    void start() {
        child_ =
            platform::spawn({DEDLOC_SSH_SERVER, folder_.path().string(), std::to_string(port_)},
                            {.output = folder_.path() / "log"});
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{30};
        while (!platform::is_accepting("127.0.0.1", port_)) {
            DEDLOC_CHECK(std::chrono::steady_clock::now() < until, "the SSH server starts");
            std::this_thread::sleep_for(std::chrono::milliseconds{20});
        }
    }
    /// Kills the server and the processes of its connections.
    void stop() {
        if (!child_) return;
        kill_all(*child_);
        (void)platform::wait_for_child(*child_);
        child_.reset();
    }

    /// "ssh://USER@127.0.0.1:PORT/FOLDER".
    std::string url(const std::filesystem::path& remote) const {
        return "ssh://" + user() + "@127.0.0.1:" + std::to_string(port_) + remote.string();
    }
    std::uint16_t port() const { return port_; }
    /// The folder that holds the keys of the server and of the client.
    const std::filesystem::path& folder() const { return folder_.path(); }

  private:
    static std::string user() {
        const passwd* const own = ::getpwuid(::getuid());
        DEDLOC_CHECK(own != nullptr, "this user has a name");
        return own->pw_name;
    }
    /// The children first: they outlive their parent.
    static void kill_all(pid_t process) {
        const std::string id = std::to_string(process);
        std::ifstream children{"/proc/" + id + "/task/" + id + "/children"};
        for (pid_t child = 0; children >> child;) kill_all(child);
        ::kill(process, SIGKILL);
    }

    const TemporaryDirectory folder_;
    const std::uint16_t port_;
    const std::string former_path_;
    std::optional<pid_t> child_;
};

}  // namespace dedloc
