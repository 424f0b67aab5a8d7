#include <fcntl.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <regex>
#include <thread>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/process.hpp"
#include "project_server/cli/output.hpp"
#include "project_server/cli/progress.hpp"
#include "project_server/cli/run_view.hpp"
#include "project_server/project/nginx_conf.hpp"
#include "project_server/runs/model_presets.hpp"
#include "project_server/settings.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::cli {
namespace {

TEST_CASE("work in bytes shows its share, rate and the time left", "[server]") {
    const std::chrono::seconds elapsed{20};
    CHECK(bytes_done(0, 400'000'000, 0, elapsed) == "0 of 400 MB (0 %)");
    CHECK(bytes_done(200'000'000, 400'000'000, 100'000'000, elapsed) ==
          "200 of 400 MB (50 %), 5.0 MB/s, 40 s left");
    CHECK(bytes_done(500'000'000, 400'000'000, 0, elapsed) ==
          "500 of 400 MB (125 %), 25.0 MB/s, 0 s left");
    CHECK(bytes_done(0, 0, 0, std::chrono::seconds{0}) == "0 of 0 MB (0 %)");
}

/// What `work` prints to the standard error.
template <class Work>
std::string said_by(const Work& work) {
    const TemporaryDirectory folder;
    const std::string file = (folder.path() / "said").string();
    const int former = dup(STDERR_FILENO);
    const int target = open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    dup2(target, STDERR_FILENO);
    work(file);
    dup2(former, STDERR_FILENO);
    close(target);
    close(former);
    return platform::read_text(file);
}

TEST_CASE("a command that takes long says what it does, and a short one nothing", "[server]") {
    using namespace std::chrono_literals;
    const auto await = [](const std::string& file, const char* text) {
        while (platform::read_text(file).find(text) == std::string::npos) {
            std::this_thread::yield();
        }
    };
    const std::string said = said_by([&](const std::string& file) {
        Progress progress{false, {.lines = 1ms}};
        progress.say("making keys");
        await(file, "making keys, 0 s\n");
        progress.share("exporting", 0.25);
        await(file, "exporting: 25 %\n");
        progress.advance("reading", 50'000'000, 200'000'000, "some tokens");
        await(file, "reading 50 of 200 MB (25 %), some tokens\n");
    });
    CHECK_THAT(said, !Catch::Contains("\r"));
    CHECK(said_by([](const auto&) {
              Progress progress{false};
              progress.say("making keys");
          }).empty());
    CHECK(said_by([](const auto&) {
              Progress progress{true, {.lines = 0ms}};
              for (int i = 0; i < 1000; ++i) progress.say("making keys");
          }).empty());
}

TEST_CASE("what a command finds becomes lines and tables", "[server]") {
    json::Value host;
    host.set("id", 12).set("name", "attic\x1b[2J \u0085").set("is_banned", true);
    host.set("created_at", 86'400).set("contact_at", 0);
    json::Value other;
    other.set("id", 3).set("name", "é").set("is_banned", false);
    other.set("created_at", 86'400.9).set("contact_at", 1);
    json::Value jobs;
    jobs.set("failed", 2).set("credit", 0.5);
    json::Value data;
    data.set("user_id", 7)
        .set("hosts", json::Value::List{host, other})
        .set("jobs", jobs)
        .set("bans", json::Value::List{});
    CHECK(text_of(data) ==
          "user id  7\n"
          "jobs     failed 2, credit 0.5\n"
          "hosts:\n"
          "  id  name          is banned  created              contact\n"
          "  12  attic?[2J ??  yes        1970-01-02 00:00:00  never\n"
          "  3   é             no         1970-01-02 00:00:00  1970-01-01 00:00:01\n"
          "bans: none\n");
}

TEST_CASE("a step whose members never reported does not stop the view", "[server]") {
    server::RunStatus status{.name = "demo",
                             .state = "running",
                             .steps = 9,
                             .lines = {},
                             .final_digest = {},
                             .held_out = {}};
    for (const std::uint64_t step : {1U, 2U, 3U, 4U}) {
        status.lines.push_back({.step = step, .members = 3, .equal_digests = step == 3 ? 3 : 0});
    }
    status.lines[0].equal_digests = 3;
    // The backbone was killed before the reports of step 2; those of step 4 may still come.
    REQUIRE(reported_steps(status).size() == 3);
    CHECK(step_line(status, status.lines[1]).ends_with("3 members, no digest reported"));
    CHECK(step_line(status, status.lines[2]).ends_with("3 members, 3 equal digests"));
    status.state = "finished";
    CHECK(reported_steps(status).size() == 4);
    status = {.name = "demo",
              .state = "running",
              .steps = 9,
              .lines = {},
              .final_digest = {},
              .held_out = {}};
    CHECK(reported_steps(status).empty());
}

TEST_CASE("a run's progress has the figures on held-out text, if there are any", "[server]") {
    server::RunStatus status{.name = "r",
                             .state = "running",
                             .steps = 10,
                             .peers = 2,
                             .samples_per_second = 5,
                             .lines = {{.step = 4, .loss = 7.5, .samples = 20, .seconds = 2}},
                             .final_digest = "",
                             .architecture = "albert",
                             .held_out = {}};
    const auto without = terminal_view(status, status.lines, 80);
    REQUIRE(without.size() == 4);
    CHECK_THAT(status_json(status), Catch::Contains(R"("losses":[7.5],"held_out":[]})"));
    status.held_out.push_back({.step = 4,
                               .loss = 7.25,
                               .loss_error = 0.125,
                               .figures = {{.name = "masked_accuracy", .value = 0.25},
                                           {.name = "masked_loss", .value = 6.5},
                                           {.name = "order_accuracy", .value = 0.5},
                                           {.name = "order_loss", .value = 0.75}},
                               .samples = 64,
                               .seconds = 1,
                               .digest = "ab"});
    const auto with = terminal_view(status, status.lines, 80);
    REQUIRE(with.size() == 5);
    CHECK(with[3] ==
          "  held-out loss 7.2500 ± 0.1250 at step 4; masked tokens right 25.00 %, sentence orders "
          "right 50.00 %");
    CHECK_THAT(status_json(status),
               Catch::Contains(R"("held_out":[{"step":4,"loss":7.25,)"
                               R"("loss_error":0.125,"masked_loss":6.5,"order_loss":0.75,)"
                               R"("masked_accuracy":0.25,"order_accuracy":0.5,"samples":64,)"
                               R"("seconds":1.0,"digest":"ab"}]})"));
}

TEST_CASE("a run's progress has the figures and words of its task", "[server]") {
    server::RunStatus status{.name = "r",
                             .state = "running",
                             .steps = 10,
                             .lines = {{.step = 4, .loss = 7.5}},
                             .final_digest = "",
                             .architecture = "swav",
                             .held_out = {}};
    status.held_out.push_back({.step = 4,
                               .loss = 3.5,
                               .loss_error = 0.25,
                               .figures = {{.name = "knn_accuracy", .value = 0.5},
                                           {.name = "masked_loss", .value = 6.5},
                                           {.name = "prototypes_used", .value = 17}},
                               .samples = 64,
                               .seconds = 1,
                               .digest = "ab"});
    CHECK(terminal_view(status, status.lines, 80)[3] ==
          "  held-out loss 3.5000 ± 0.2500 at step 4; kNN accuracy 50.00 %");
    CHECK_THAT(status_json(status),
               Catch::Contains(R"("loss_error":0.25,"knn_accuracy":0.5,"linear_accuracy":null,)"
                               R"("untrained_knn_accuracy":null,"untrained_linear_accuracy":null,)"
                               R"("below_uniform":null,"assignment_entropy":null,)"
                               R"("prediction_entropy":null,"prototypes_used":17.0,)"
                               R"("projection_deviation":null,"samples":64,)"));
    // A module has a loss only.
    status.architecture = "module";
    CHECK(terminal_view(status, status.lines, 80)[3] ==
          "  held-out loss 3.5000 ± 0.2500 at step 4");
    CHECK_THAT(status_json(status), Catch::Contains(R"("loss_error":0.25,"samples":64,)"));
}

TEST_CASE("a model is named, or described by a file of Hugging Face", "[server]") {
    const runs::ModelPreset large = runs::model_preset("large");
    const auto albert = [](const runs::ModelPreset& preset) {
        return std::get<formats::AlbertSpec>(preset.model);
    };
    CHECK(albert(large).hidden == 1'024);
    CHECK(albert(large).layers == 24);
    const runs::ModelPreset swav = runs::model_preset("swav-resnet18");
    CHECK(std::get<formats::SwavSpec>(swav.model).prototypes == 512);
    CHECK(swav.optimizer == formats::Optimizer::kSgdLarc);
    CHECK_THROWS_WITH(runs::model_preset("huge"), Catch::Contains("tiny, base, large, xlarge"));

    const TemporaryDirectory folder;
    const auto write = [&](const std::string& hidden) {
        const auto path = folder.path() / "config.json";
        platform::replace_file(
            path, R"({"model_type":"albert","hidden_act":"gelu_new","hidden_size":)" + hidden +
                      R"(,"num_attention_heads":4,"intermediate_size":512,"num_hidden_layers":6,)"
                      R"("max_position_embeddings":96,"vocab_size":30000})");
        return path.string();
    };
    const runs::ModelPreset narrow = runs::model_preset(write("256"));
    CHECK(albert(narrow).hidden == 256);
    CHECK(albert(narrow).layers == 6);
    CHECK(narrow.sequence_length == 96);
    CHECK(narrow.target_batch == runs::model_preset("tiny").target_batch);
    CHECK(narrow.learning_rate == runs::model_preset("tiny").learning_rate);
    const runs::ModelPreset wide = runs::model_preset(write("260"));
    CHECK(wide.target_batch == large.target_batch);
    CHECK(wide.learning_rate == large.learning_rate);
    CHECK_THROWS_WITH(runs::model_preset(write("\"wide\"")), Catch::Contains("hidden_size"));
    CHECK_THROWS_AS(runs::model_preset((folder.path() / "none.json").string()), InputError);
}

/// Settings of a project on loopback.
server::Settings local_settings() {
    return {.name = "A \"quoted\" name",
            .url = "http://127.0.0.1:18080/",
            .listen = {{"127.0.0.1", 18080}},
            .peer_listen = "127.0.0.1",
            .server_port = 18081,
            .gateway_port = 18082,
            .database_port = 3307};
}

/// Settings of a public project with the certificate in `folder`.
server::Settings public_settings(const std::filesystem::path& folder) {
    server::Settings settings = local_settings();
    settings.url = "https://train.example.org/";
    settings.listen = {{"0.0.0.0", 18443}, {"::", 18443}};
    settings.redirect = {{"0.0.0.0", 18080}};
    settings.certificate = folder / "certificate.pem";
    settings.certificate_key = folder / "key.pem";
    settings.acme_webroot = folder / "acme";
    settings.proxies = {"192.0.2.0/24", "2001:db8::1"};
    settings.peer_listen = "0.0.0.0";
    settings.peer_address = "192.0.2.7";
    settings.peer_port = 7400;
    settings.keep_days = 20;
    settings.max_links = 32'000;
    settings.seats_per_account = 0;
    settings.seats_per_network = 1'000'000;
    settings.flops_per_gpu = 1.5e15;
    settings.flops_per_core = 7e11;
    settings.mail_from = "project@example.org";
    settings.mail_relay = "smtps://mail.example.org:465";
    settings.mail_credentials = folder / "relay";
    return settings;
}

TEST_CASE("settings survive writing and reading, and their errors name the field", "[server]") {
    const TemporaryDirectory folder;
    const bool is_public = GENERATE(false, true);
    const auto settings = is_public ? public_settings(folder.path()) : local_settings();
    server::write_settings(folder.path(), settings);
    CHECK(server::read_settings(folder.path()) == settings);
    const auto file = folder.path() / "dedloc.json";
    std::string text = platform::read_text(file);
    text.replace(text.find("18081"), 5, "70000");
    platform::replace_file(file, text);
    CHECK_THROWS_WITH(server::read_settings(folder.path()), Catch::Contains("server_port"));
    CHECK_THROWS_AS(server::read_settings(folder.path() / "none"), InputError);
}

TEST_CASE("a project's links have a default and bounds", "[server]") {
    const TemporaryDirectory folder;
    const auto file = folder.path() / "dedloc.json";
    server::write_settings(folder.path(), local_settings());
    const std::string text = platform::read_text(file);
    const std::string line = "\"max_links\": 10000";
    const auto begin = text.find(line);
    REQUIRE(begin != std::string::npos);
    const auto read_with = [&](const std::string& replacement) {
        std::string changed = text;
        platform::replace_file(file, changed.replace(begin, line.size(), replacement));
        return server::read_settings(folder.path()).max_links;
    };
    CHECK(read_with("\"max_links\": 1") == 1);
    CHECK(read_with("\"max_links\": 32000") == 32'000);
    for (const char* value : {"0", "-1", "32001", "1.5", "\"many\"", "null"}) {
        CHECK_THROWS_WITH(read_with(std::string{"\"max_links\": "} + value),
                          Catch::EndsWith("'max_links' must be a whole number from 1 to 32000"));
    }
    // Projects of an earlier version do not name it.
    std::string earlier = text;
    earlier.erase(text.rfind(',', begin), begin + line.size() - text.rfind(',', begin));
    platform::replace_file(file, earlier);
    CHECK(server::read_settings(folder.path()).max_links == server::kDefaultLinks);
}

TEST_CASE("limits of seats and rates of devices have defaults and bounds", "[server]") {
    const TemporaryDirectory folder;
    const auto file = folder.path() / "dedloc.json";
    server::write_settings(folder.path(), local_settings());
    const std::string text = platform::read_text(file);
    CHECK_THAT(text, Catch::Contains("\"seats_per_account\": 64") &&
                         Catch::Contains("\"seats_per_network\": 128") &&
                         !Catch::Contains("flops_per"));
    const auto read_with = [&](const std::string& fields) {
        std::string changed =
            std::regex_replace(text, std::regex{R"(,\s*"seats_per_\w+": \d+)"}, "");
        platform::replace_file(file, changed.insert(changed.find('{') + 1, fields));
        return server::read_settings(folder.path());
    };
    // Projects of an earlier version name none.
    CHECK(read_with("") == local_settings());
    CHECK(read_with("\"seats_per_account\": 0,").seats_per_account == 0);
    CHECK(read_with("\"seats_per_network\": 1000000,").seats_per_network == 1'000'000);
    CHECK(read_with("\"flops_per_gpu\": 2e15,").flops_per_gpu == 2e15);
    CHECK(read_with("\"flops_per_core\": 1000000000,").flops_per_core == 1e9);
    for (const std::string name : {"seats_per_account", "seats_per_network"}) {
        for (const char* value : {"-1", "1000001", "1.5", "\"64\"", "null"}) {
            CHECK_THROWS_WITH(
                read_with('"' + name + "\": " + value + ","),
                Catch::EndsWith('\'' + name + "' must be a whole number from 0 to 1000000"));
        }
    }
    for (const std::string name : {"flops_per_gpu", "flops_per_core"}) {
        for (const char* value : {"0", "-1e15", "1e8", "1e19", "\"fast\"", "null"}) {
            CHECK_THROWS_WITH(read_with('"' + name + "\": " + value + ","),
                              Catch::Contains('\'' + name + "' must be a"));
        }
    }
}

TEST_CASE("settings that contradict each other are refused in a sentence", "[server]") {
    const auto refused = [](server::Settings settings, const char* sentence) {
        CHECK_THROWS_WITH(server::check_settings(settings), Catch::Contains(sentence));
    };
    server::Settings settings = local_settings();
    CHECK_NOTHROW(server::check_settings(settings));
    CHECK(settings.is_loopback());
    for (const char* url : {"",
                            "ftp://a/",
                            "http://",
                            "http:///",
                            "http://a",
                            "http://a/b/",
                            "http://a:x/",
                            "http://a:0/",
                            "http://a:70000/",
                            "http://[::1]/",
                            "http://u@a/",
                            "http://a;b/",
                            "http://u:p@a/",
                            "http:/a/",
                            "http:a/",
                            "http:///a/",
                            "http://a:/",
                            "http://a:080/",
                            "http://a:65536/",
                            "http://a/#",
                            "http://a/?",
                            "http://a/#f",
                            "http://a#/",
                            "http://a?/",
                            "http://a b/",
                            "http://a/ ",
                            " http://a/",
                            "http://%61/",
                            "http://127.1/",
                            "http://[fe80::1%25eth0]/",
                            "HTTP://a/",
                            "http://a_b/",
                            "http://a\n/",
                            "http://\xC3\xA9/"}) {
        CAPTURE(url);
        settings.url = url;
        CHECK_THROWS_AS(server::check_settings(settings), InputError);
    }
    settings.url = "https://train.example.org/";
    refused(settings, "name a certificate, or the proxy");
    settings.proxies = {"192.0.2.1"};
    refused(settings, "the address that backbones listen on");
    settings.peer_listen = "0.0.0.0";
    CHECK_NOTHROW(server::check_settings(settings));
    CHECK_FALSE(settings.is_loopback());
    settings.proxies = {"192.0.2.1; }"};
    refused(settings, "nginx would not take");
    settings = public_settings("/x");
    CHECK_NOTHROW(server::check_settings(settings));
    CHECK(settings.host() == "train.example.org");
    settings.url = "http://train.example.org/";
    refused(settings, "is not https");
    settings = public_settings("/x");
    settings.certificate_key.clear();
    refused(settings, "needed together");
    settings = public_settings("/x");
    settings.redirect.clear();
    refused(settings, "ACME challenges");
    settings = public_settings("/x$y");
    refused(settings, "which nginx or dedloc.json would not take");
    settings.listen.clear();
    refused(settings, "listens on no address");
}

/// Writes a certificate that signs itself, and its key.
void make_certificate(const std::filesystem::path& folder) {
    const auto made = platform::run_to_end(
        {"openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
         "-nodes", "-days", "2", "-subj", "/CN=train.example.org", "-keyout",
         (folder / "key.pem").string(), "-out", (folder / "certificate.pem").string()});
    INFO(made.output);
    REQUIRE(made.status == 0);
}

TEST_CASE("nginx accepts the configuration we write", "[server]") {
    const TemporaryDirectory folder;
    const auto project = folder.path() / "My project'\"$(x);*{}#\\ü%20";
    const auto keys = folder.path() / "keys'\";*{}#\\ü%20 ";
    std::filesystem::create_directory(keys);
    for (const char* name : {"nginx", "log", "html", "download"}) {
        std::filesystem::create_directories(project / name);
    }
    make_certificate(keys);
    const bool is_public = GENERATE(false, true);
    const auto settings = is_public ? public_settings(keys) : local_settings();
    platform::replace_file(project / "nginx/nginx.conf", project::nginx_configuration(settings));
    auto command = project::nginx_command();
    command.emplace_back("-t");
    const auto log = folder.path() / "log";
    const pid_t tested =
        platform::spawn(command, {.output = log, .directory = project::nginx_folder(project)});
    CHECK(platform::wait_for_child(tested) == 0);
    INFO(platform::read_text(log));
    CHECK(platform::read_text(log).ends_with("test is successful\n"));
}

}  // namespace
}  // namespace dedloc::cli
