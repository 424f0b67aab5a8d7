// Everything that a connection must not leave to defaults is set before or right after connecting:
// timeout, character set and TLS before, then isolation level, collation and strictness by
// statements. The handle is given away only when all of that has worked; until then it closes
// itself. TLS uses TCP even for localhost. A socket's path that is too long for the system is
// reached through a descriptor of its folder. Statements report the rows that they match, not those
// that they change.
#include "project_server/database/connection.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <mysql.h>
#include <sys/un.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "peer/platform/posix_calls.hpp"
#include "project_server/database/text_columns.hpp"

namespace dedloc::server {
namespace {

constexpr unsigned kConnectSeconds = 10;
constexpr my_bool kYes = 1;

/// What the defaults of the server and the database must not decide.
std::vector<std::string> session_settings() {
    return {// Read committed takes no gap locks, with which a dispatch would block the creation of
            // jobs.
            "set session transaction isolation level read committed",
            // Text that a statement makes from numbers is compared as the tables' text is, in any
            // database. A value that a column cannot hold is refused, never cut.
            fmt::format("set session collation_connection = '{}', sql_mode = 'STRICT_ALL_TABLES,"
                        "ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'",
                        kTextCollation)};
}

struct Close {
    void operator()(MYSQL* handle) const { mysql_close(handle); }
};

/// The server must prove by its certificate that it is the one with the host's name, and a link
/// without TLS is refused.
void require_tls(MYSQL* handle, const DatabaseSettings& settings) {
    const unsigned protocol = MYSQL_PROTOCOL_TCP;  // "localhost" would mean the usual socket
    mysql_optionsv(handle, MYSQL_OPT_PROTOCOL, &protocol);
    mysql_optionsv(handle, MYSQL_OPT_SSL_ENFORCE, &kYes);
    mysql_optionsv(handle, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &kYes);
    mysql_optionsv(handle, MYSQL_OPT_SSL_CA, settings.ssl_ca.c_str());
    if (settings.ssl_cert.empty()) return;
    mysql_optionsv(handle, MYSQL_OPT_SSL_CERT, settings.ssl_cert.c_str());
    mysql_optionsv(handle, MYSQL_OPT_SSL_KEY, settings.ssl_key.c_str());
}

/// A path that connect() takes for a socket: it has 108 bytes for it, so a longer path goes through
/// a descriptor of the folder.
class SocketPath {
  public:
    explicit SocketPath(std::string path) : path_(std::move(path)) {
        if (path_.size() < sizeof(sockaddr_un::sun_path)) return;
        const auto slash = path_.rfind('/');
        if (slash == std::string::npos) return;
        folder_ = platform::try_open(path_.substr(0, slash + 1), O_PATH | O_DIRECTORY);
        if (!folder_) return;  // connect() will fail with a reason
        path_ = fmt::format("/proc/self/fd/{}{}", folder_.id(), path_.substr(slash));
    }
    /// Null if there is none.
    const char* text() const { return path_.empty() ? nullptr : path_.c_str(); }

  private:
    std::string path_;
    platform::Descriptor folder_;
};

}  // namespace

std::string database_address(const DatabaseSettings& settings) {
    if (!settings.socket.empty()) return settings.socket;
    return fmt::format("{}:{}", settings.host, settings.port);
}

st_mysql* open_connection(const DatabaseSettings& settings) {
    std::unique_ptr<MYSQL, Close> connection{mysql_init(nullptr)};
    MYSQL* const handle = connection.get();
    mysql_optionsv(handle, MYSQL_OPT_CONNECT_TIMEOUT, &kConnectSeconds);
    mysql_optionsv(handle, MYSQL_SET_CHARSET_NAME, kTextCharacterSet);
    if (!settings.ssl_ca.empty()) require_tls(handle, settings);
    const auto fail = [&] {
        throw DatabaseError{
            fmt::format("Cannot connect to the database at {} as {}: {}",
                        database_address(settings), settings.user, mysql_error(handle)),
            mysql_errno(handle)};
    };
    const SocketPath socket{settings.socket};
    if (mysql_real_connect(handle, socket.text() == nullptr ? settings.host.c_str() : nullptr,
                           settings.user.c_str(), settings.password.c_str(),
                           settings.name.empty() ? nullptr : settings.name.c_str(), settings.port,
                           socket.text(), CLIENT_FOUND_ROWS | CLIENT_MULTI_STATEMENTS) == nullptr) {
        fail();
    }
    for (const std::string& setting : session_settings()) {
        if (mysql_query(handle, setting.c_str()) != 0) fail();
    }
    return connection.release();
}

}  // namespace dedloc::server
