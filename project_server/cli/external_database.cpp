#include "project_server/cli/external_database.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string_view>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"

namespace dedloc::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kScheme = "mysql://";
constexpr std::uint16_t kUsualPort = 3'306;
constexpr std::size_t kMaxPassword = 4'096;
constexpr int kMinMajor = 10;  // MariaDB 10.6 is the oldest release that is maintained
constexpr int kMinMinor = 6;
/// A probe of the rights that the schema and the daemons need.
constexpr const char* kProbe = "dedloc_probe";

bool is_word(std::string_view text, std::string_view more) {
    return !text.empty() && std::ranges::all_of(text, [&](unsigned char c) {
        return std::isalnum(c) != 0 || more.find(static_cast<char>(c)) != std::string_view::npos;
    });
}

std::string read_password(const fs::path& file) {
    if (file.empty()) throw InputError("--database needs --database-password-file");
    std::string text = platform::read_text(file, kMaxPassword);
    const auto others = fs::perms::group_all | fs::perms::others_all;
    if ((fs::status(file).permissions() & others) != fs::perms::none) {
        throw InputError(
            fmt::format("{} must be readable by its owner only (chmod 600)", file.string()));
    }
    text = text.substr(0, text.find('\n'));
    if (text.find_first_of("<>&") != std::string::npos) {
        throw InputError(
            fmt::format("the password in {} has <, > or &, which BOINC's config.xml cannot hold",
                        file.string()));
    }
    return text;
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

server::DatabaseSettings parse_database_url(const std::string& url, const fs::path& password_file) {
    const auto refuse = [&] {
        throw InputError(
            fmt::format("--database wants mysql://USER@HOST:PORT/NAME, not \"{}\"", url));
    };
    if (!url.starts_with(kScheme)) refuse();
    const std::string_view rest = std::string_view{url}.substr(kScheme.size());
    const auto at = rest.find('@');
    const auto slash = rest.find('/');
    if (at == std::string_view::npos || slash == std::string_view::npos || at > slash) refuse();
    const auto user = rest.substr(0, at);
    const auto address = rest.substr(at + 1, slash - at - 1);
    const auto name = rest.substr(slash + 1);
    const auto colon = address.find(':');
    const auto host = address.substr(0, colon);
    std::uint16_t port = kUsualPort;
    if (colon != std::string_view::npos) {
        const char* const end = address.data() + address.size();
        const auto [stop, failure] = std::from_chars(address.data() + colon + 1, end, port);
        if (failure != std::errc{} || stop != end || port == 0) refuse();
    }
    // The client library takes "localhost" for the server's usual socket, not for this address.
    const std::string numeric = host == "localhost" ? "127.0.0.1" : std::string{host};
    if (!is_word(user, "_-.") || !is_word(host, "-.") || !is_word(name, "_")) refuse();
    return {.host = numeric,
            .port = port,
            .socket = "",
            .user = std::string{user},
            .password = read_password(password_file),
            .name = std::string{name}};
}

void require_empty_database(const server::DatabaseSettings& settings) {
    try {
        server::Database database{settings};
        check_version(database.query_one("select version() as version")->text("version"));
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

bool has_own_mariadb(const fs::path& project) {
    return fs::exists(project / "db/data");
}

}  // namespace dedloc::cli
