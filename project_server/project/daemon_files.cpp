#include "project_server/project/daemon_files.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <utility>

namespace dedloc::project {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPid = ".pid";
constexpr const char* kRestarts = ".restarts";

/// Seconds since 1970 when the file was last written.
double written_at(const fs::path& file) {
    struct stat facts {};
    return stat(file.c_str(), &facts) == 0 ? static_cast<double>(facts.st_mtime) : 0;
}

/// Whether the process exists and has not ended: a supervisor that is busy has not reaped it yet.
bool is_alive(pid_t process) {
    std::ifstream file{"/proc/" + std::to_string(process) + "/stat"};
    std::string line;
    if (process <= 0 || !std::getline(file, line)) return false;
    const auto name_end = line.rfind(')');  // the state follows the name, which may hold anything
    return name_end != std::string::npos && line.size() > name_end + 2 && line[name_end + 2] != 'Z';
}

}  // namespace

DaemonFiles::DaemonFiles(fs::path folder) : folder_(std::move(folder)) {
    std::error_code failed;
    std::vector<std::string> left;
    for (const auto& entry : fs::directory_iterator{folder_, failed}) {
        if (entry.path().extension() == kRestarts) left.push_back(entry.path().stem().string());
    }
    for (const std::string& name : left) finished(name);
}

fs::path DaemonFiles::file(const std::string& name, const char* end) const {
    return folder_ / (name + end);
}

void DaemonFiles::started(const std::string& name, pid_t process, int restarts,
                          std::uintmax_t log_begin) const {
    std::ofstream(file(name, kRestarts)) << restarts << '\n' << log_begin << '\n';
    std::ofstream(file(name, kPid)) << process << '\n';
}

void DaemonFiles::ended(const std::string& name) const {
    std::error_code ignored;
    fs::remove(file(name, kPid), ignored);
}

void DaemonFiles::finished(const std::string& name) const {
    ended(name);
    std::error_code ignored;
    fs::remove(file(name, kRestarts), ignored);
}

std::vector<DaemonState> daemon_states(const fs::path& folder) {
    std::vector<DaemonState> states;
    std::error_code failed;
    for (const auto& entry : fs::directory_iterator{folder, failed}) {
        if (entry.path().extension() != kRestarts) continue;
        DaemonState state{.name = entry.path().stem().string()};
        const auto pid_file = folder / (state.name + kPid);
        std::ifstream{entry.path()} >> state.restarts >> state.log_begin;
        std::ifstream{pid_file} >> state.process;
        const bool runs = is_alive(state.process);
        if (!runs) state.process = 0;
        if (runs) state.since = written_at(pid_file);
        states.push_back(std::move(state));
    }
    std::ranges::sort(states, {}, &DaemonState::name);
    return states;
}

}  // namespace dedloc::project
