// libsched parses config.xml into its global, and the fields are copied from there, where a
// required one that is empty is an error. The elements of our own are then read from the same file
// by the project's XML reader. Two habits of libsched need care: its project folder is set by hand,
// because it would guess, and the patterns of an earlier parse are freed, because it allocates new
// ones. Limits below the least useful value are raised to it.
#include "project_server/database/project_config.hpp"

// Must precede BOINC's other headers: it defines the macros that they depend on.
#include <config.h>

#include <boinc_db.h>
#include <fmt/format.h>
#include <sched_config.h>

#include <algorithm>
#include <cstring>

#include "peer/base/error.hpp"
#include "peer/base/text.hpp"
#include "peer/platform/files.hpp"
#include "project_server/database/connection.hpp"
#include "project_server/xml/xml_text.hpp"

namespace dedloc::server {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxBytes = 1 << 20;
constexpr const char* kSocketElement = "dedloc_db_socket";
constexpr const char* kCaElement = "dedloc_db_ssl_ca";
constexpr const char* kCertificateElement = "dedloc_db_ssl_cert";
constexpr const char* kKeyElement = "dedloc_db_ssl_key";

std::string required(const char* value, const char* element, const fs::path& file) {
    if (*value == '\0') {
        throw InputError(fmt::format("{} has no <{}>.", file.string(), element));
    }
    return value;
}

/// Parses "host:port", the format of libsched's own connection; the default port is 3306.
void split_host(const std::string& text, const fs::path& file, DatabaseSettings& settings) {
    const auto colon = text.find(':');
    settings.host = text.substr(0, colon);
    settings.port = 3306;
    if (colon == std::string::npos) return;
    settings.port = parse_number<std::uint16_t>(text.substr(colon + 1)).value_or(0);
    if (settings.port == 0) {
        throw InputError(
            fmt::format("<db_host>{}</db_host> in {} is not host:port.", text, file.string()));
    }
}

/// The elements that libsched does not know.
void read_own_elements(const fs::path& file, DatabaseSettings& settings) {
    const XmlText xml{platform::read_text(file, kMaxBytes), file.string(), "boinc"};
    const XmlChild config = xml.find({"boinc", "config"}).value_or(XmlChild{});
    settings.socket = config.field(kSocketElement);
    settings.ssl_ca = config.field(kCaElement);
    settings.ssl_cert = config.field(kCertificateElement);
    settings.ssl_key = config.field(kKeyElement);
    if (settings.ssl_cert.empty() != settings.ssl_key.empty() ||
        (settings.ssl_ca.empty() && !settings.ssl_cert.empty())) {
        throw InputError(
            fmt::format("{} has one of <{}> and <{}> without the other or without <{}>",
                        file.string(), kCertificateElement, kKeyElement, kCaElement));
    }
}

/// BOINC's server multiplies max_wus_in_progress by the number of cores. A job of this project uses
/// all of them, so here it is the number of jobs of a host; that for GPUs is for each GPU.
int seats(const JOB_LIMIT& limit, int processor) {
    return std::max(1, limit.proc_type_limits[processor].base_limit);
}

/// Frees the patterns of the last parse: libsched allocates new ones at every parse.
void forget_patterns() {
    for (auto** const patterns :
         {&::config.ban_cpu, &::config.ban_os, &::config.locality_scheduling_workunit_file,
          &::config.locality_scheduling_sticky_file}) {
        delete *patterns;
        *patterns = nullptr;
    }
}

}  // namespace

ProjectConfig load_project_config(const fs::path& directory) {
    const fs::path root = fs::absolute(directory).lexically_normal();
    const fs::path file = root / "config.xml";
    if (!fs::exists(file)) {
        throw InputError(fmt::format("{} is no project: it has no config.xml.", root.string()));
    }
    forget_patterns();
    if (::config.parse_file((root.string() + "/").c_str()) != 0) {
        throw InputError(fmt::format("{} cannot be parsed.", file.string()));
    }
    // Unless project_dir is set, libsched guesses it from the working directory, and ends the
    // process when it finds none.
    if (root.string().size() >= sizeof(::config.project_dir)) {
        throw InputError(fmt::format("The path {} is too long for libsched: at most {} characters.",
                                     root.string(), sizeof(::config.project_dir) - 1));
    }
    std::strcpy(::config.project_dir, root.c_str());
    ProjectConfig result;
    result.directory = root;
    result.name = required(::config.long_name, "long_name", file);
    result.master_url = required(::config.master_url, "master_url", file);
    if (!result.master_url.ends_with('/')) result.master_url += '/';
    result.download_url = required(::config.download_url, "download_url", file);
    result.upload_url = required(::config.upload_url, "upload_url", file);
    if (result.upload_url.find("file_upload_handler") == std::string::npos) {
        throw InputError(
            fmt::format("<upload_url> in {} must contain file_upload_handler.", file.string()));
    }
    result.download_directory = required(::config.download_dir, "download_dir", file);
    result.upload_directory = required(::config.upload_dir, "upload_dir", file);
    result.key_directory = required(::config.key_dir, "key_dir", file);
    result.database.name = required(::config.db_name, "db_name", file);
    result.database.user = required(::config.db_user, "db_user", file);
    result.database.password = ::config.db_passwd;
    split_host(required(::config.db_host, "db_host", file), file, result.database);
    read_own_elements(file, result.database);
    result.directory_fanout = ::config.uldl_dir_fanout;
    result.min_rpc_seconds = ::config.min_sendwork_interval + 1;
    result.next_rpc_seconds = ::config.next_rpc_delay;
    const JOB_LIMIT& limit = ::config.max_jobs_in_progress.project_limits;
    result.cpu_seats = seats(limit, PROC_TYPE_CPU);
    result.seats_per_gpu = seats(limit, PROC_TYPE_NVIDIA_GPU);
    result.min_client_version = std::max(::config.min_core_client_version, 0);
    result.daily_jobs_per_seat = std::max(::config.daily_result_quota, 0);
    result.ignore_upload_certificates = ::config.ignore_upload_certificates;
    result.send_messages_to_hosts = ::config.msg_to_host;
    result.credit_by_app = ::config.credit_by_app;
    return result;
}

std::vector<std::pair<std::string, std::string>> database_elements(
    const DatabaseSettings& settings) {
    const bool by_socket = !settings.socket.empty();
    return {{"db_name", settings.name},
            {"db_host", by_socket ? "localhost" : database_address(settings)},
            {kSocketElement, settings.socket},
            {kCaElement, settings.ssl_ca},
            {kCertificateElement, settings.ssl_cert},
            {kKeyElement, settings.ssl_key},
            {"db_user", settings.user},
            {"db_passwd", settings.password}};
}

void open_boinc_database(const ProjectConfig& config) {
    close_boinc_database();
    boinc_db.mysql = open_connection(config.database);
}

void close_boinc_database() {
    if (boinc_db.mysql == nullptr) return;
    boinc_db.close();
    boinc_db.mysql = nullptr;
}

}  // namespace dedloc::server
