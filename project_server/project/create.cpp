// All that can be checked is checked before the first file is made: path, name, account, ports,
// certificate, disk space. The project is then filled under another name: folders, keys, settings,
// config.xml for the final path, nginx.conf, database. A private MariaDB runs only while its tables
// are made. The folder is renamed last, and only then is an external database kept; until then the
// destructors of both undo everything. Stop signals are looked at before and after the database.
#include "project_server/project/create.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <array>
#include <set>

#include "peer/base/error.hpp"
#include "peer/base/markup.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/key_file.hpp"
#include "peer/platform/networks.hpp"
#include "peer/platform/ports.hpp"
#include "peer/platform/privileges.hpp"
#include "peer/platform/stop_signals.hpp"
#include "project_server/check/certificate.hpp"
#include "project_server/database/schema.hpp"
#include "project_server/project/external_database.hpp"
#include "project_server/project/nginx_conf.hpp"
#include "project_server/project/project.hpp"
#include "project_server/project/unfinished_folder.hpp"
#include "project_server/project/upgrade.hpp"
#include "project_server/publishing/keys.hpp"
#include "project_server/ticket_key.hpp"

namespace dedloc::project {
namespace {

namespace fs = std::filesystem;

/// Free disk space that a new project needs: MariaDB's system tables and logs, and the first files.
constexpr std::uint64_t kProjectBytes = std::uint64_t{400} << 20;

/// What BOINC's libraries have for the project's name.
constexpr std::size_t kMaxNameBytes = 255;

/// Config.xml and BOINC's clients must be able to hold the name.
void check_project_name(const std::string& name) {
    if (printable_text(valid_text(name)) != name ||
        name.find_first_not_of(' ') == std::string::npos || name.size() > kMaxNameBytes) {
        throw InputError(
            fmt::format("the project's name \"{}\" is not one line of 1 to {} bytes of UTF-8",
                        printable_text(valid_text(name)), kMaxNameBytes));
    }
}

std::string random_password() {
    std::array<std::byte, 16> bytes{};
    randombytes_buf(bytes.data(), bytes.size());
    return to_hex(bytes);
}

/// config.xml in BOINC's format, for libsched and for BOINC's own tools.
std::string config_xml(const fs::path& project, const server::Settings& settings,
                       const server::DatabaseSettings& database, int contact_seconds) {
    // The shortest time between two requests of a client; longer where contacts are rarer.
    const int interval = contact_seconds < 60 ? 1 : 6;
    std::string elements;
    for (const auto& [element, text] : server::database_elements(database)) {
        if (text.empty()) continue;
        elements += fmt::format("\n    <{0}>{1}</{0}>", element, escape_markup(text));
    }
    return fmt::format(R"(<?xml version="1.0" ?>
<boinc>
<config>
    <long_name>{name}</long_name>
    <master_url>{url}</master_url>
    <host>{host}</host>{database}
    <download_url>{url}download</download_url>
    <download_dir>{folder}/download</download_dir>
    <upload_url>{url}file_upload_handler</upload_url>
    <upload_dir>{folder}/upload</upload_dir>
    <key_dir>{folder}/keys</key_dir>
    <log_dir>{folder}/log</log_dir>
    <uldl_dir_fanout>1024</uldl_dir_fanout>
    <min_sendwork_interval>{interval}</min_sendwork_interval>
    <next_rpc_delay>{contact}</next_rpc_delay>
    <max_wus_in_progress>1</max_wus_in_progress>
    <daily_result_quota>32</daily_result_quota>
    <one_result_per_user_per_wu>0</one_result_per_user_per_wu>
    <msg_to_host>1</msg_to_host>
    <dont_generate_upload_certificates>0</dont_generate_upload_certificates>
    <ignore_upload_certificates>0</ignore_upload_certificates>
</config>
</boinc>
)",
                       fmt::arg("name", escape_markup(settings.name)),
                       fmt::arg("interval", interval), fmt::arg("contact", contact_seconds),
                       fmt::arg("url", settings.url), fmt::arg("host", settings.host()),
                       fmt::arg("database", elements),
                       fmt::arg("folder", escape_markup(project.string())));
}

/// The settings that the options leave open.
server::Settings complete(server::Settings settings) {
    if (settings.listen.empty()) settings.listen.push_back({.host = "127.0.0.1", .port = 0});
    std::set<std::uint16_t> taken;
    for (auto* const addresses : {&settings.listen, &settings.redirect}) {
        for (auto& address : *addresses) {
            if (address.port == 0) address.port = platform::free_port(address.host);
            platform::require_free_port(address.host, address.port);
            taken.insert(address.port);
        }
    }
    const std::string& first = settings.listen.front().host;
    if (settings.url.empty() && (first == "0.0.0.0" || first.find(':') != std::string::npos)) {
        throw InputError(fmt::format("volunteers cannot attach to {}: name the --url", first));
    }
    if (settings.url.empty()) {
        settings.url = fmt::format("http://{}/", settings.listen.front().text());
    }
    if (!settings.url.ends_with('/')) settings.url += '/';
    if (settings.peer_listen.empty()) {
        const std::string host = settings.host();
        settings.peer_listen = platform::is_loopback_host(host) ? host : "0.0.0.0";
    }
    for (std::uint16_t* port :
         {&settings.server_port, &settings.gateway_port, &settings.database_port}) {
        do *port = platform::free_port("127.0.0.1");
        while (!taken.insert(*port).second);
    }
    // The daemons run in other folders than this program.
    for (fs::path* const path : {&settings.certificate, &settings.certificate_key,
                                 &settings.acme_webroot, &settings.mail_credentials}) {
        if (!path->empty()) *path = fs::absolute(*path).lexically_normal();
    }
    check_settings(settings);
    return settings;
}

/// Writes BOINC's two key pairs and the project's own two Ed25519 keys.
void make_keys(const fs::path& project) {
    const fs::path folder = project / "keys";
    server::make_key_pair(folder, "code_sign");
    server::make_key_pair(folder, "upload");
    platform::write_key(folder / "project.key", KeyPair::generate());
    server::make_ticket_key(project);
}

void fill_database(const server::DatabaseSettings& database, server::JoinPolicy join) {
    server::Database connection{database};
    server::apply_schema(connection);
    server::set_join_policy(connection, join);
}

void make_database(const fs::path& project, const server::Settings& settings,
                   const server::DatabaseSettings& database, server::JoinPolicy join) {
    const auto place = mariadb_place(project, settings);
    fs::create_directories(place.directory);
    server::initialise_mariadb(place);
    const server::MariadbProcess process{place};
    {
        server::Database administrator{server::mariadb_administrator(place)};
        server::create_database(administrator, database);
    }
    fill_database(database, join);
}

}  // namespace

server::Settings create_project(const ProjectOptions& options, const Begins& begins) {
    const fs::path target = fs::absolute(options.folder).lexically_normal();
    const fs::path project = target.has_filename() ? target : target.parent_path();
    check_path(project);
    check_project_name(options.settings.name);
    const platform::StopSignals signals;
    const auto go_on = [&] {
        if (signals.arrived()) throw IoError("interrupted; nothing was created");
    };
    if (!options.user.empty()) {
        if (!platform::is_root()) throw InputError("only root can create a project for a --user");
        platform::become_user(options.user);
    }
    const auto settings = complete(options.settings);
    require_unprivileged(settings);
    if (!settings.certificate.empty()) {
        const auto fault = check::certificate_fault(settings.certificate, settings.certificate_key);
        if (!fault.empty()) throw InputError(fault);
    }
    require_disk_space(project.parent_path(), kProjectBytes);
    std::optional<UnfinishedDatabase> external;
    if (options.database) external.emplace(*options.database);
    UnfinishedFolder folder{project};
    fs::permissions(folder.path(), fs::perms::owner_all);
    make_project_folders(folder.path());
    begins("making keys");
    make_keys(folder.path());
    const server::DatabaseSettings own{.host = "127.0.0.1",
                                       .port = settings.database_port,
                                       .socket = "",
                                       .user = "dedloc",
                                       .password = random_password(),
                                       .name = "dedloc"};
    const server::DatabaseSettings& database = external ? external->settings() : own;
    server::write_settings(folder.path(), settings);
    platform::replace_file(folder.path() / "config.xml",
                           config_xml(project, settings, database, options.contact_seconds));
    fs::permissions(folder.path() / "config.xml", fs::perms::owner_read | fs::perms::owner_write);
    platform::replace_file(folder.path() / "nginx/nginx.conf", nginx_configuration(settings));
    go_on();
    begins("creating the database");
    if (external) {
        fill_database(database, options.join);
    } else {
        make_database(folder.path(), settings, database, options.join);
    }
    go_on();
    folder.finish();
    if (external) external->keep();
    return settings;
}

}  // namespace dedloc::project
