#include "project_server/project/external_database.hpp"

#include <cstdlib>

#include "peer/platform/files.hpp"
#include "tests/project_server/project_fixture.hpp"

namespace dedloc::project {
namespace {

using Catch::Contains;

/// Files that URLs name.
class Files {
  public:
    Files() {
        for (const char* const name : {"ca.pem", "own & 100%.pem", "key.pem"}) {
            platform::replace_file(folder_.path() / name, std::string{"pem"});
        }
        platform::replace_file(password(), std::string{"pass word\nnote\n"}, platform::kSecretFile);
    }
    std::filesystem::path password() const { return folder_.path() / "password"; }
    std::string operator/(const std::string& name) const { return folder_.path() / name; }

    server::DatabaseSettings parse(const std::string& url) const {
        return external_database({.url = url, .password_file = password()});
    }
    std::string refusal(const std::string& url) const {
        try {
            (void)parse(url);
        } catch (const InputError& error) {
            return error.what();
        }
        return "accepted";
    }

  private:
    const TemporaryDirectory folder_;
};

}  // namespace

TEST_CASE("a database's URL names a host, a socket, or TLS", "[server]") {
    const Files files;
    const auto plain = files.parse("mysql://d-1.x@db.example.org:3307/boinc_2");
    CHECK(plain.host == "db.example.org");
    CHECK(plain.port == 3'307);
    CHECK(plain.user == "d-1.x");
    CHECK(plain.name == "boinc_2");
    CHECK(plain.password == "pass word");
    CHECK(plain.socket + plain.ssl_ca + plain.ssl_cert + plain.ssl_key == "");
    CHECK(files.parse("mysql://d@db/n").port == 3'306);
    CHECK(files.parse("mysql://d@localhost:1/n").host == "127.0.0.1");

    const auto tls = files.parse("mysql://d@localhost/n?ssl-ca=" + files / "ca.pem" +
                                 "&ssl-key=" + files / "key.pem" +
                                 "&ssl-cert=" + files / "own%20%26%20100%25.pem");
    CHECK(tls.host == "localhost");  // the name in the server's certificate
    CHECK(tls.ssl_ca == files / "ca.pem");
    CHECK(tls.ssl_cert == files / "own & 100%.pem");
    CHECK(tls.ssl_key == files / "key.pem");

    CHECK(files.parse("mysql://d@localhost/n?socket=/run/a%20b.sock").socket == "/run/a b.sock");
}

TEST_CASE("the password comes from a file or the environment, never from the URL", "[server]") {
    const Files files;
    const std::string url = "mysql://d@db/n";
    ::unsetenv("MYSQL_PWD");
    CHECK_THROWS_WITH(external_database({.url = url}), Contains("needs a password"));
    CHECK(external_database({.url = "mysql://d@localhost/n?socket=/s"}).password.empty());
    ::setenv("MYSQL_PWD", "from outside", 1);
    CHECK(external_database({.url = url}).password == "from outside");
    CHECK(files.parse(url).password == "pass word");
    platform::replace_file(files.password(), std::string{"pass word\r\n"}, platform::kSecretFile);
    CHECK(files.parse(url).password == "pass word");
    ::setenv("MYSQL_PWD", "a<b", 1);
    CHECK_THROWS_WITH(external_database({.url = url}), Contains("cannot hold"));
    ::unsetenv("MYSQL_PWD");
    const std::string refused = files.refusal("mysql://d:hunter2@db/n");
    CHECK_THAT(refused, Contains("must not contain the password"));
    CHECK_THAT(refused, !Contains("hunter2"));
    for (const char* const leaky :
         {"mysql://d:hunter2@x@db/n", "mysql://d:hunter2/x@db/n", "mysql:d:hunter2@db/n",
          "mysql:/d:hunter2@db/n", "d:hunter2@db/n", "mysql://d:hunter2?@db/n"}) {
        CHECK_THAT(files.refusal(leaky), !Contains("hunter2"));
    }
    std::filesystem::permissions(files.password(), std::filesystem::perms::group_read,
                                 std::filesystem::perm_options::add);
    CHECK_THAT(files.refusal(url), Contains("readable by its owner only"));
}

TEST_CASE("a database's URL that is wrong is refused with the reason", "[server]") {
    const Files files;
    const std::string ca = "ssl-ca=" + files / "ca.pem";
    for (const auto& [url, reason] : std::initializer_list<std::pair<std::string, std::string>>{
             {"", "wants mysql://USER@HOST:PORT/NAME"},
             {"postgres://d@db/n", "wants mysql://"},
             {"mysql://db/n", "wants mysql://"},
             {"mysql://d@db", "wants mysql://"},
             {"mysql://d@db/", "wants mysql://"},
             {"mysql://d@db/n;drop", "wants mysql://"},
             {"mysql://d@[::1]/n", "wants mysql://"},
             {"mysql://d@db:port/n", "wants mysql://"},
             {"mysql://d@db:0/n", "the port 0"},
             {"mysql://d@db:65536/n", "between 0 and 65535"},
             {"mysql://d@db:/n", "a colon without a port"},
             {"mysql:/d@db/n", "wants mysql://"},
             {"mysql:///d@db/n", "wants mysql://"},
             {"mysql://d@db/n#f", "wants mysql://"},
             {"mysql://d@db/n/m", "wants mysql://"},
             {"mysql://d;o@db/n", "wants mysql://"},
             {"mysql://d%41@db/n", "wants mysql://"},
             {"mysql://d@d%62/n", "wants mysql://"},
             {"mysql://d@d b/n", "wants mysql://"},
             {"mysql://d@[fe80::1%25eth0]/n", "wants mysql://"},
             {"mysql://d@db/" + std::string(5'000, 'n'), "too long"},
             {"mysql://d@db/n?charset=utf8", "not \"charset\""},
             {"mysql://d@db/n?ssl-ca", "ssl-ca in --database wants an absolute path"},
             {"mysql://d@db/n?ssl-ca=ca.pem", "wants an absolute path"},
             {"mysql://d@db/n?ssl-ca=/none", "there is no file /none"},
             {"mysql://d@db/n?" + ca + "&" + ca, "ssl-ca twice"},
             {"mysql://d@db/n?" + ca + "&", "not \"\""},
             {"mysql://d@db/n?" + ca + "&ssl-key=" + files / "key.pem", "together"},
             {"mysql://d@db/n?ssl-key=" + files / "key.pem" + "&ssl-cert=" + files / "key.pem",
              "needs ssl-ca"},
             {"mysql://d@localhost/n?socket=run", "wants an absolute path"},
             {"mysql://d@localhost/n?socket=/a%0Ab", "control character"},
             {"mysql://d@localhost/n?socket=/a%4", "two hex digits"},
             {"mysql://d@localhost/n?socket=/a%+1", "two hex digits"},
             {"mysql://d@db/n?socket=/s", "wants the host localhost"},
             {"mysql://d@localhost:1/n?socket=/s", "neither a port"},
             {"mysql://d@localhost/n?socket=/s&" + ca, "nor ssl-ca"}}) {
        CAPTURE(url);
        CHECK_THAT(files.refusal(url), Contains(reason));
    }
}

TEST_CASE("config.xml names the socket and the certificates of a database", "[server]") {
    server::TestProject project;
    const auto file = project.root() / "config.xml";
    const std::string before = platform::read_text(file);
    const auto with = [&](const std::string& elements) {
        std::string text = before;
        text.insert(text.find("</config>"), elements);
        platform::replace_file(file, text);
        return server::load_project_config(project.root()).database;
    };
    CHECK(with("<dedloc_db_socket>/a &amp; b</dedloc_db_socket>").socket == "/a & b");
    const auto tls = with(
        "<dedloc_db_ssl_ca>/ca</dedloc_db_ssl_ca><dedloc_db_ssl_cert>/c</dedloc_db_ssl_cert>"
        "<dedloc_db_ssl_key>/k</dedloc_db_ssl_key>");
    CHECK(tls.ssl_ca + tls.ssl_cert + tls.ssl_key == "/ca/c/k");
    CHECK_THROWS_WITH(with("<dedloc_db_ssl_key>/k</dedloc_db_ssl_key>"),
                      Contains("<dedloc_db_ssl_key> without the other"));
}

TEST_CASE("a database that was not finished is empty again", "[server][integration]") {
    server::TestProject project;
    auto& database = project.database();
    const auto settings = project.config().database;
    CHECK_THROWS_WITH(UnfinishedDatabase{settings}, Contains("is not empty"));
    CHECK(database.query("show tables").size() > 40);
    database.execute("drop database dedloc_test");
    database.execute("create database dedloc_test");
    {
        const UnfinishedDatabase dropped{settings};
        server::Database connection{dropped.settings()};
        server::apply_schema(connection);
    }
    CHECK(server::Database{settings}.query("show tables").empty());
    {
        UnfinishedDatabase kept{settings};
        server::Database connection{kept.settings()};
        server::apply_schema(connection);
        kept.keep();
    }
    CHECK(server::Database{settings}.query("show tables").size() > 40);
}

}  // namespace dedloc::project
