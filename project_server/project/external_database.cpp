// The URL is parsed in full before any connection: a password in it is refused first, so that no
// message repeats it, then the form is checked, then its options one by one.
// require_empty_database() connects, checks version and emptiness, and tries every right that the
// schema and the daemons need on a table of its own, so a missing right is found before the first
// real table. UnfinishedDatabase drops all tables in its destructor unless keep() was called.
#include "project_server/project/external_database.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <string_view>
#include <utility>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/base/text.hpp"
#include "peer/platform/files.hpp"
#include "project_server/database/statement_limit.hpp"
#include "project_server/url.hpp"

namespace dedloc::project {
namespace {

namespace fs = std::filesystem;

constexpr const char* kForms =
    "mysql://USER@HOST:PORT/NAME, ?ssl-ca=FILE behind it for TLS, or "
    "mysql://USER@localhost/NAME?socket=FILE";
constexpr const char* kPasswordVariable = "MYSQL_PWD";
constexpr std::uint16_t kUsualPort = 3'306;
constexpr std::size_t kMaxUrl = 4'096;
constexpr std::size_t kMaxPassword = 4'096;
constexpr int kMinMajor = 10;  // MariaDB 10.6 is the oldest release that is maintained
constexpr int kMinMinor = 6;
/// A probe of the rights that the schema and the daemons need.
constexpr const char* kProbe = "dedloc_probe";

/// The values behind the ? of a URL, by their names.
using UrlOptions = std::map<std::string, std::string>;

/// A value with its %XX replaced by bytes. It becomes a line of an option file and an element of
/// config.xml, so control characters are refused.
std::string decoded(std::string_view value) {
    auto text = percent_decoded(value);
    if (!text) throw InputError("a % in --database is not followed by two hex digits");
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7F; };
    if (std::ranges::any_of(*text, is_control)) {
        throw InputError("--database contains a control character");
    }
    return *std::move(text);
}

UrlOptions parse_options(const std::string& text) {
    UrlOptions options;
    for (std::size_t begin = 0; begin <= text.size() && !text.empty();) {
        const auto end = std::min(text.find('&', begin), text.size());
        const std::string option = text.substr(begin, end - begin);
        const auto equals = option.find('=');
        const std::string name = option.substr(0, equals);
        if (name != "socket" && name != "ssl-ca" && name != "ssl-cert" && name != "ssl-key") {
            throw InputError(fmt::format(
                "--database knows socket, ssl-ca, ssl-cert and ssl-key, not \"{}\"", name));
        }
        const std::string value =
            equals == std::string::npos ? std::string{} : decoded(option.substr(equals + 1));
        if (!fs::path{value}.is_absolute()) {
            throw InputError(fmt::format("{} in --database wants an absolute path", name));
        }
        if (name != "socket" && !fs::is_regular_file(value)) {
            throw InputError(fmt::format("there is no file {}, the {} of --database", value, name));
        }
        if (!options.emplace(name, value).second) {
            throw InputError(fmt::format("--database has {} twice", name));
        }
        begin = end + 1;
    }
    if (options.contains("ssl-cert") != options.contains("ssl-key")) {
        throw InputError("--database needs ssl-cert and ssl-key together");
    }
    if (options.contains("ssl-cert") && !options.contains("ssl-ca")) {
        throw InputError("--database needs ssl-ca with ssl-cert");
    }
    return options;
}

/// Whether there is a colon between the scheme and the @ of the host, also in a text that is not a
/// URL.
bool has_password(std::string_view text) {
    const auto slashes = text.find(":/");
    const std::size_t begin = slashes != text.npos         ? slashes + 2
                              : text.starts_with("mysql:") ? 6
                                                           : 0;
    const auto at = text.find('@');
    return at != text.npos && text.substr(0, at).find(':', begin) != text.npos;
}

/// The settings without the password.
server::DatabaseSettings settings_in(const std::string& text) {
    if (text.size() > kMaxUrl) throw InputError("--database is too long");
    if (has_password(text)) {
        throw InputError(
            "--database must not contain the password, which others could see in the list of "
            "processes: name a --database-password-file");
    }
    // The options are split here: their values may have blanks and a #.
    const auto question = std::min(text.find('?'), text.size());
    const std::string place = text.substr(0, question);
    const auto url = server::parse_url(place);
    if (!url || !is_made_of_letters(url->user, "_.-") || !is_made_of_letters(url->host, ".-") ||
        url->path.empty() || !is_made_of_letters(url->path.substr(1), "_") ||
        place != fmt::format("mysql://{}@{}{}", url->user, url->authority(), url->path)) {
        throw InputError(fmt::format("--database wants {}, not \"{}\"{}", kForms, text,
                                     url ? "" : ": " + url.reason()));
    }
    UrlOptions options = parse_options(text.substr(std::min(question + 1, text.size())));
    server::DatabaseSettings settings{.host = url->host,
                                      .port = url->port.value_or(kUsualPort),
                                      .socket = options["socket"],
                                      .user = url->user,
                                      .password = "",
                                      .name = url->path.substr(1),
                                      .ssl_ca = options["ssl-ca"],
                                      .ssl_cert = options["ssl-cert"],
                                      .ssl_key = options["ssl-key"]};
    if (!settings.socket.empty()) {
        if (settings.host != "localhost" || url->port || !settings.ssl_ca.empty()) {
            throw InputError(
                "--database with a socket wants the host localhost, and neither a port nor ssl-ca");
        }
        return settings;
    }
    if (settings.port == 0) throw InputError("the port 0 in --database cannot be used");
    // The client library takes "localhost" for the server's usual socket, except with TLS, where
    // the name must be that in the certificate.
    if (settings.host == "localhost" && settings.ssl_ca.empty()) settings.host = "127.0.0.1";
    return settings;
}

std::string read_password(const fs::path& file) {
    if (file.empty()) {
        const char* const password = std::getenv(kPasswordVariable);
        return password == nullptr ? std::string{} : password;
    }
    const std::string text = platform::read_text(file, kMaxPassword);
    const auto others = fs::perms::group_all | fs::perms::others_all;
    if ((fs::status(file).permissions() & others) != fs::perms::none) {
        throw InputError(
            fmt::format("{} must be readable by its owner only (chmod 600)", file.string()));
    }
    return text.substr(0, text.find_first_of("\r\n"));
}

/// "10.11.6-MariaDB-0+deb12u1" → whether it is MariaDB, and new enough.
void check_version(const std::string& version) {
    int major = 0;
    int minor = 0;
    const char* const end = version.data() + version.size();
    const auto first = std::from_chars(version.data(), end, major);
    if (first.ptr != end) std::from_chars(first.ptr + 1, end, minor);
    const bool is_mariadb = version.find("MariaDB") != std::string::npos;
    if (!is_mariadb || major < kMinMajor || (major == kMinMajor && minor < kMinMinor)) {
        throw InputError(
            fmt::format("the database server is \"{}\": MariaDB {}.{} or newer is needed", version,
                        kMinMajor, kMinMinor));
    }
}

}  // namespace

server::DatabaseSettings external_database(const DatabaseOptions& options) {
    server::DatabaseSettings settings = settings_in(options.url);
    settings.password = read_password(options.password_file);
    if (settings.password.find_first_of("<>&") != std::string::npos) {
        throw InputError(
            "the database's password has <, > or &, which BOINC's config.xml cannot hold");
    }
    if (settings.password.empty() && settings.socket.empty() && settings.ssl_cert.empty()) {
        throw InputError(fmt::format(
            "--database needs a password: --database-password-file, or {} in the environment",
            kPasswordVariable));
    }
    return settings;
}

void require_empty_database(const server::DatabaseSettings& settings) {
    try {
        server::Database database{settings};
        check_version(database.query_one("select version() as version")->text("version"));
        server::require_statement_limit(database);
        const auto tables = database.query_one(
            "select count(*) as tables from information_schema.tables where table_schema = ?",
            {settings.name});
        if (tables->integer("tables") != 0) {
            throw InputError(fmt::format("the database {} is not empty: it has {} tables",
                                         settings.name, tables->integer("tables")));
        }
        const std::string probe = kProbe;
        database.execute("create table " + probe + " (id integer primary key) engine=InnoDB");
        database.execute("alter table " + probe + " add column word integer not null default 0");
        database.execute("create index probe_word on " + probe + " (word)");
        database.execute("insert into " + probe + " (id) values (1)");
        database.execute("update " + probe + " set word = 1");
        database.execute("delete from " + probe);
        database.execute("drop table " + probe);
    } catch (const server::DatabaseError& error) {
        throw InputError(error.what());
    }
}

UnfinishedDatabase::UnfinishedDatabase(server::DatabaseSettings settings)
    : settings_(std::move(settings)) {
    require_empty_database(settings_);
}

UnfinishedDatabase::~UnfinishedDatabase() {
    if (is_kept_) return;
    try {
        server::Database database{settings_};
        database.execute("set foreign_key_checks = 0");
        for (const auto& row : database.query(
                 "select table_name as name from information_schema.tables where table_schema = ?",
                 {settings_.name})) {
            database.execute(fmt::format("drop table `{}`", row.text("name")));
        }
    } catch (const Error& error) {
        log_warning("The tables in the database {} are not dropped: {}", settings_.name,
                    error.what());
    }
}

bool has_own_mariadb(const fs::path& project) {
    return fs::exists(project / "db/data");
}

}  // namespace dedloc::project
