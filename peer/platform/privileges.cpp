// The capability survives setresuid() because of PR_SET_KEEPCAPS, and exec because it is ambient.
// If a container's root lacks the capability, the process goes on without it.
#include "peer/platform/privileges.hpp"

#include <fmt/format.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "peer/base/error.hpp"
#include "peer/platform/posix_calls.hpp"

namespace dedloc::platform {
namespace {

void require(bool is_done, const std::string& user) {
    if (!is_done) fail("become the user", user, errno);
}

/// Keeps CAP_NET_BIND_SERVICE alone, for this process and for the programs that it starts.
void keep_only_low_ports() {
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    constexpr std::uint32_t kLowPorts = std::uint32_t{1} << CAP_NET_BIND_SERVICE;
    for (const std::uint32_t kept : {kLowPorts, std::uint32_t{0}}) {
        std::array<__user_cap_data_struct, 2> capabilities{};
        capabilities[0] = {.effective = kept, .permitted = kept, .inheritable = kept};
        if (syscall(SYS_capset, &header, capabilities.data()) == 0) break;
    }
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_NET_BIND_SERVICE, 0, 0);
}

}  // namespace

bool is_root() {
    return geteuid() == 0;
}

void become_user(const std::string& user) {
    errno = 0;
    const passwd* const account = getpwnam(user.c_str());
    if (account == nullptr) throw InputError(fmt::format("there is no user {}", user));
    const uid_t uid = account->pw_uid;
    const gid_t gid = account->pw_gid;
    const std::string home = account->pw_dir;
    require(initgroups(user.c_str(), gid) == 0, user);
    require(prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == 0, user);
    require(setresgid(gid, gid, gid) == 0, user);
    require(setresuid(uid, uid, uid) == 0, user);
    if (uid != 0) keep_only_low_ports();
    setenv("HOME", home.c_str(), 1);
    setenv("USER", user.c_str(), 1);
    setenv("LOGNAME", user.c_str(), 1);
}

void give(const std::string& folder, const std::string& user) {
    errno = 0;
    const passwd* const account = getpwnam(user.c_str());
    if (account == nullptr) throw InputError(fmt::format("there is no user {}", user));
    const auto chown_one = [&](const std::string& path) {
        if (lchown(path.c_str(), account->pw_uid, account->pw_gid) == 0) return;
        fail(fmt::format("give {} to", path), user, errno);
    };
    for (const auto& entry : std::filesystem::recursive_directory_iterator{folder}) {
        chown_one(entry.path().string());
    }
    chown_one(folder);
}

std::string owner_of(const std::string& path) {
    struct stat status {};
    if (stat(path.c_str(), &status) != 0) fail("look at", path, errno);
    const passwd* const account = getpwuid(status.st_uid);
    return account != nullptr ? account->pw_name : std::to_string(status.st_uid);
}

}  // namespace dedloc::platform
