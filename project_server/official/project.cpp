// The constructor checks the folder and the rights in it, takes the folder's lock, reads
// config.xml, connects, checks the server's version, takes a lock in the database and looks for
// BOINC's tables. The lock of the folder keeps out a second process, the one in the database the
// statement of a killed process, which the server goes on with. replace_edited() writes the new
// text beside the file, gives it owner and mode, compares the old contents once more, and then
// renames.
#include "project_server/official/project.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/posix_calls.hpp"
#include "peer/platform/privileges.hpp"
#include "project_server/handover.hpp"
#include "project_server/settings.hpp"

namespace dedloc::official {
namespace {

namespace fs = std::filesystem;

/// The oldest MariaDB that still gets security updates is 10.6; Debian 12 has 10.11.
constexpr int kOldestMajor = 10;
constexpr int kOldestMinor = 6;

fs::path checked_root(const fs::path& folder) {
    if (!fs::is_directory(folder)) {
        throw InputError(fmt::format("there is no folder {}", folder.string()));
    }
    const fs::path root = fs::canonical(folder);
    if (fs::exists(root / "dedloc.json")) {
        throw InputError(fmt::format(
            "{} was made by dedloc project create, which has put everything there", root.string()));
    }
    for (const char* const part : {"config.xml", "bin", "html", "templates"}) {
        if (!fs::exists(root / part)) {
            throw InputError(
                fmt::format("{} is not the project of an official BOINC server: it has no {}",
                            root.string(), part));
        }
    }
    if (platform::is_root()) {
        const auto owner = platform::owner_of(root.string());
        if (owner != "root") platform::become_user(owner);
    }
    for (const fs::path& part : {root, root / "bin", root / "config.xml", root / "templates"}) {
        if (access(part.c_str(), W_OK) != 0) {
            throw InputError(
                fmt::format("no permission to write {}: run this as the project's owner, {}",
                            part.string(), platform::owner_of(root.string())));
        }
    }
    return root;
}

void require_mariadb(server::Database& database) {
    const auto version = database.query_one("select version() as version")->text("version");
    int major = 0;
    int minor = 0;
    const char* const end = version.data() + version.size();
    const auto [dot, failed] = std::from_chars(version.data(), end, major);
    if (failed == std::errc{} && dot != end) std::from_chars(dot + 1, end, minor);
    const bool is_mariadb = version.find("MariaDB") != std::string::npos;
    if (is_mariadb && std::pair{major, minor} >= std::pair{kOldestMajor, kOldestMinor}) return;
    throw InputError(
        fmt::format("the database server is {} {}; DeDLOC needs MariaDB {}.{} or newer",
                    is_mariadb ? "MariaDB" : "MySQL", version, kOldestMajor, kOldestMinor));
}

void require_boinc_tables(server::Database& database, const std::string& name) {
    for (const char* const table : {"app", "app_version", "host", "msg_from_host", "platform",
                                    "result", "user", "workunit"}) {
        const auto row = database.query_one(
            "select count(*) as tables_ from information_schema.tables where table_schema = ? and "
            "table_name = ?",
            {name, table});
        if (row->integer("tables_") == 0) {
            throw InputError(
                fmt::format("the database {} has no table {} of BOINC's: make_project makes them",
                            name, table));
        }
    }
}

/// The server goes on with the statement of a process that was killed: two of them must not create
/// and drop tables at the same time. The lock ends with the connection.
void lock(server::Database& database) {
    constexpr int kSeconds = 120;
    const auto row = database.query_one(
        "select get_lock(concat('dedloc install ', database()), ?) as taken", {kSeconds});
    if (row->integer("taken") != 1) {
        throw IoError("the database still works for another dedloc install; try again");
    }
}

/// Whether a process holds the lock that bin/start takes before it becomes the daemon.
bool is_locked(const fs::path& file) {
    const platform::Descriptor opened = platform::try_open(file, O_RDWR);
    if (!opened) return false;
    struct flock wanted {};
    wanted.l_type = F_WRLCK;
    wanted.l_whence = SEEK_SET;
    return fcntl(opened.id(), F_GETLK, &wanted) == 0 && wanted.l_type != F_UNLCK;
}

bool is_name_of_ours(const std::string& name) {
    return name == "dedloc" || name.starts_with("dedloc.") || name.starts_with("dedloc-");
}

}  // namespace

Project::Project(const fs::path& folder)
    : root_(checked_root(folder)), lock_(root_), config_(server::load_project_config(root_)) {
    database_ = std::make_unique<server::Database>(config_.database);
    require_mariadb(*database_);
    lock(*database_);
    require_boinc_tables(*database_, config_.database.name);
}

std::vector<std::string> Project::tables() {
    std::vector<std::string> names;
    for (const auto& row : database_->query(
             "select table_name as name from information_schema.tables where table_schema = ? and "
             "table_name like 'dedloc\\_%' order by table_name",
             {config_.database.name})) {
        names.push_back(row.text("name"));
    }
    return names;
}

std::vector<fs::path> Project::traces() const {
    std::vector<fs::path> files;
    for (const auto& folder : fs::directory_iterator{root_}) {
        const auto name = folder.path().filename().string();
        const bool is_chosen = name.starts_with("log_") || name.starts_with("pid_");
        if (!is_chosen || !folder.is_directory()) continue;
        for (const auto& file : fs::directory_iterator{folder.path()}) {
            if (is_name_of_ours(file.path().filename().string())) files.push_back(file.path());
        }
    }
    return files;
}

std::vector<std::string> Project::running() const {
    std::vector<std::string> names;
    for (const auto& file : traces()) {
        if (file.extension() == ".lock" && is_locked(file)) names.push_back(file.stem().string());
    }
    for (const auto& daemon : server::daemons_in_turn(root_)) {
        if (std::ranges::find(names, daemon.name) == names.end()) names.push_back(daemon.name);
    }
    return names;
}

void replace_edited(const fs::path& file, const std::string& before, const std::string& after) {
    const fs::path target = fs::exists(file) ? fs::canonical(file) : file;
    const fs::path edited = target.string() + ".dedloc";
    struct stat facts {};
    const bool is_new = stat(target.c_str(), &facts) != 0;
    platform::replace_file(edited, after, is_new ? platform::kPublicFile : platform::kSecretFile);
    const auto refuse = [&](const std::string& reason) {
        std::error_code ignored;
        fs::remove(edited, ignored);
        throw IoError(fmt::format("cannot replace {}: {}", target.string(), reason));
    };
    if (!is_new) {
        // The web server reads config.xml as a member of the file's group.
        const bool is_own = facts.st_gid == getegid() && facts.st_uid == geteuid();
        if (!is_own && chown(edited.c_str(), facts.st_uid, facts.st_gid) != 0) {
            refuse(std::strerror(errno));
        }
        if (chmod(edited.c_str(), facts.st_mode & 07777U) != 0) refuse(std::strerror(errno));
        if (platform::read_text(target) != before) refuse("it has changed meanwhile; try again");
    }
    platform::move_file(edited, target);
}

}  // namespace dedloc::official
