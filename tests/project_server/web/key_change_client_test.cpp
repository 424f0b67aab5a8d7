// A stock BOINC client and changes of the key that signs app versions: one while the client
// downloads the files of a job, and one before a new version.
#include "project_server/publishing/key_change.hpp"
#include "project_server/scheduler/catalogue.hpp"
#include "tests/project_server/web/served_project.hpp"

namespace dedloc::server {
namespace {

using Catch::Contains;

/// The program takes 100 s to download, unless the client is told otherwise.
constexpr std::size_t kProgramBytes = 4'000'000;
constexpr const char* kSlowDownload = "<max_bytes_sec_down>40000</max_bytes_sec_down>";

struct Volunteer : ServedProject {
    std::unique_ptr<StockClient> client;

    Volunteer() {
        publish(100);
        create_job(config(), "first", "text");
        serve();
        client = std::make_unique<StockClient>(root() / "client.log", fs::path{}, kSlowDownload);
        client->tell("--create_account " + url() + " ada@example.org secret Ada");
        const auto user = database().query_one("select authenticator from user");
        REQUIRE(user);
        client->tell("--project_attach " + url() + " " + user->text("authenticator"));
    }
    /// Publishes small_app; each version has another program.
    void publish(int version) {
        const fs::path program = root() / "small_app";
        fs::copy_file(DEDLOC_SMALL_APP, program, fs::copy_options::overwrite_existing);
        std::ofstream{program, std::ios::app} << "version " << version
                                              << std::string(kProgramBytes, ' ');
        publish_small_app(database(), config(), program, "", version);
    }
    /// Changes the key; the client is told of it. Returns the last but one line of the new key.
    void change_key() {
        server::change_key(database(), config(), {}, [](const auto&) {});
        const std::string key = read_public_key_text(config().key_directory / "code_sign_public");
        const std::string line = key.substr(key.find('\n') + 1, 60);
        const bool is_known = updated_within(
            60s, *client, [&] { return client->state().find(line) != std::string::npos; });
        INFO(client->log());
        REQUIRE(is_known);
    }
    Row result(const std::string& name) {
        const auto row = database().query_one(
            "select r.server_state, r.outcome, r.stderr_out, v.version_num from result r left join "
            "app_version v on v.id = r.app_version_id where r.name = ?",
            {name});
        REQUIRE(row);
        return *row;
    }
    /// Whether the server has made the result, and it is in this state.
    bool is_in(const std::string& name, int state) {
        return database()
            .query_one("select id from result where name = ? and server_state = ?", {name, state})
            .has_value();
    }
    /// The job is done, and the client has logged no failure.
    void finish(const std::string& name, int version) {
        const bool is_done =
            updated_within(120s, *client, [&] { return is_in(name, RESULT_SERVER_STATE_OVER); });
        const std::string log = client->log();
        INFO(log);
        REQUIRE(is_done);
        CHECK(result(name).integer("outcome") == RESULT_OUTCOME_SUCCESS);
        CHECK(result(name).integer("version_num") == version);
        for (const char* const failure : {"ignature verification", "code sign", "doesn't validate",
                                          "missing signature", "key for signing"}) {
            CHECK_THAT(log, !Contains(failure));
        }
    }
};

}  // namespace

TEST_CASE("a stock client follows changes of the code-signing key",
          "[server][boinc][integration]") {
    Volunteer volunteer;
    StockClient& client = *volunteer.client;
    REQUIRE(
        within(60s, [&] { return volunteer.is_in("first_0", RESULT_SERVER_STATE_IN_PROGRESS); }));
    volunteer.change_key();
    // The files were signed by the former key when the client began to download them.
    CHECK_THAT(client.tell("--get_file_transfers"), Contains("direction: download"));
    write_client_settings(client.home());
    client.tell("--read_global_prefs_override");
    volunteer.finish("first_0", 100);

    volunteer.change_key();
    volunteer.publish(101);
    create_job(volunteer.config(), "second", "text");
    volunteer.finish("second_0", 101);
}

}  // namespace dedloc::server
