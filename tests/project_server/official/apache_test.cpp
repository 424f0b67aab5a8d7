// The gateway behind a real Apache, as the file that dedloc install writes configures it.
#include <optional>

#include "peer/formats/enrolment.hpp"
#include "project_server/gateway/gateway_server.hpp"
#include "project_server/official/install.hpp"
#include "project_server/official/remove.hpp"
#include "project_server/settings.hpp"
#include "tests/project_server/official/apache.hpp"
#include "tests/project_server/official/official_project.hpp"

using namespace dedloc;

namespace {

/// A project with DeDLOC installed, and its gateway in this process, as dedloc-gateway starts it.
class Served {
  public:
    explicit Served(official::InstallOptions options) {
        options.project = world_.root();
        options.programs = world_.programs();
        official::install(options, [](const auto&, const auto&) {});
        settings_ = server::read_settings(world_.root());
        gateway_.emplace(server::load_project_config(world_.root()),
                         server::state_folder(world_.root()),
                         gateway::GatewayAddress{.host = settings_.gateway_listen,
                                                 .port = settings_.gateway_port,
                                                 .proxy = settings_.gateway_proxy});
        serving_ = std::thread{[this] { gateway_->run(); }};
    }
    ~Served() {
        gateway_->stop();
        serving_.join();
    }
    const std::filesystem::path& root() const { return world_.root(); }
    const server::Settings& settings() const { return settings_; }

  private:
    tests::OfficialProject world_;
    server::Settings settings_;
    std::optional<gateway::GatewayServer> gateway_;
    std::thread serving_;
};

/// The address that the gateway has seen.
std::string seen(const std::string& answer) {
    INFO(answer);
    REQUIRE(answer.starts_with("HTTP/1.1 200"));
    return formats::parse_gateway_report(answer.substr(answer.find("\r\n\r\n") + 4)).address;
}

constexpr const char* kReport = "/quality/dedloc/report?port=0";
constexpr const char* kForged = "X-Forwarded-For: 203.0.113.9\r\n";

}  // namespace

TEST_CASE("behind Apache the gateway sees the client's address, whatever the client writes",
          "[server][official]") {
    const Served served{{}};
    const auto port = platform::free_port("127.0.0.1");
    const tests::Apache apache{served.root(), port};
    CHECK(seen(tests::fetch(port, kReport, "", "127.0.0.5")) == "127.0.0.5");
    CHECK(seen(tests::fetch(port, kReport, kForged, "127.0.0.5")) == "127.0.0.5");
    CHECK(seen(tests::fetch(port, kReport,
                            "X-Forwarded-For: 203.0.113.9, 127.0.0.1\r\n" + std::string{kForged},
                            "127.0.0.6")) == "127.0.0.6");
    // Nothing else of the URL is forwarded, and bodies are bounded.
    CHECK_THAT(tests::fetch(port, "/quality/"), Catch::StartsWith("HTTP/1.1 404"));
    CHECK(tests::fetch(port, "/quality/dedloc/bandwidth?bytes=8388608").size() > 8'388'608);
}

TEST_CASE("an Apache on another machine is the only one that the gateway serves",
          "[server][official]") {
    const Served served{{.gateway_listen = "127.0.0.3", .proxy = "127.0.0.4"}};
    CHECK(served.settings().gateway_proxy == "127.0.0.4");
    const auto port = platform::free_port("127.0.0.1");
    {
        const tests::Apache apache{served.root(), port, "ProxySourceAddress 127.0.0.4\n"};
        CHECK(seen(tests::fetch(port, kReport, kForged, "127.0.0.5")) == "127.0.0.5");
    }
    // A forged header of a proxy is of no use from any other address.
    const auto direct = [&](const char* from) {
        return tests::fetch(served.settings().gateway_port, kReport, kForged, from, "127.0.0.3");
    };
    CHECK_THAT(direct("127.0.0.1"), Catch::StartsWith("HTTP/1.1 403"));
    CHECK_THAT(direct("127.0.0.5"), Catch::StartsWith("HTTP/1.1 403"));
    CHECK(seen(direct("127.0.0.4")) == "203.0.113.9");
}

TEST_CASE("Apache starts before, during and after an installation, whatever was removed",
          "[server][official]") {
    tests::OfficialProject world;
    const auto port = platform::free_port("127.0.0.1");
    const auto answer = [&](const std::string& line = "") {
        const tests::Apache apache{world.root(), port, "", line};  // fails if it does not start
        return tests::fetch(port, kReport).substr(0, 12);
    };
    const auto install = [&] {
        official::install({.project = world.root(), .programs = world.programs()},
                          [](const auto&, const auto&) {});
    };
    const auto remove = [&](bool drops) {
        official::remove({.project = world.root(), .drops_data = drops},
                         [](const auto&, const auto&) {});
    };
    CHECK(answer() == "HTTP/1.1 404");
    install();
    CHECK(answer() == "HTTP/1.1 503");  // no gateway runs
    // Data stay. A line as an earlier guide had it must do no harm either.
    std::filesystem::create_directories(world.root() / "dedloc/runs/first");
    remove(false);
    CHECK(answer() == "HTTP/1.1 404");
    CHECK(answer("Include " + (world.root() / "dedloc/dedloc.httpd.conf").string()) ==
          "HTTP/1.1 404");
    install();
    CHECK(answer() == "HTTP/1.1 503");
    remove(true);
    CHECK_FALSE(std::filesystem::exists(world.root() / "dedloc"));
    CHECK(answer() == "HTTP/1.1 404");
}
