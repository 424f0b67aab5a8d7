// project_server/official_server.md, followed word for word: every command of it runs, in its
// order, on a project with BOINC's bin/start, bin/stop and bin/status, behind a real Apache.
#include <catch2/catch.hpp>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "peer/platform/ports.hpp"
#include "tests/project_server/official/apache.hpp"
#include "tests/project_server/official/started_project.hpp"

using namespace dedloc;

namespace {

namespace fs = std::filesystem;

/// The indented lines of the guide, by the heading above them; a block is one text.
std::map<std::string, std::vector<std::string>> blocks_of_guide() {
    constexpr std::string_view kIndent = "    ";
    std::map<std::string, std::vector<std::string>> blocks;
    std::istringstream lines{platform::read_text(DEDLOC_GUIDE)};
    std::string heading;
    bool is_inside = false;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("## ")) heading = line.substr(3);
        const bool is_command = line.starts_with(kIndent);
        if (is_command && !is_inside) blocks[heading].emplace_back();
        if (is_command) blocks[heading].back() += line.substr(kIndent.size()) + '\n';
        is_inside = is_command;
    }
    return blocks;
}

/// A project as its administrator has it before the first command of the guide.
class Guided : public tests::ControlledProject {
  public:
    explicit Guided(std::uint16_t port)
        : ControlledProject(port),
          names_{{"PROJECT", root().string()},
                 {"BUILD", build().string()},
                 {"LIBTORCH", (files_.path() / "libtorch").string()},
                 {"URL", fmt::format("http://127.0.0.1:{}/quality/", port)},
                 {"CORPUS", (files_.path() / "corpus").string()},
                 // A small text allows no large vocabulary.
                 {"book.txt", (files_.path() / "book.txt").string() + " --vocabulary 100"}} {
        std::string text;
        for (int i = 0; i < 400; ++i) {
            text += fmt::format("It was day {}. The people of town {} went home.\n\n", i, i % 7);
        }
        platform::replace_file(files_.path() / "book.txt", text);
        fs::create_directories(build());
        for (const auto& program : fs::directory_iterator{DEDLOC_PROGRAMS}) {
            const auto name = program.path().filename().string();
            if (name.starts_with("dedloc")) fs::create_symlink(program.path(), build() / name);
        }
        // The apps need libtorch, which a machine without it does not build.
        for (const char* const name : {"dedloc_train", "dedloc_aggregate"}) {
            fs::remove(build() / name);
            fs::copy_file("/bin/true", build() / name);
        }
        fs::create_directories(files_.path() / "libtorch/lib");
        const auto some_library = official_library();
        fs::copy_file(some_library, files_.path() / "libtorch/lib/libtorch_cuda.so");
        fs::copy_file(some_library, build() / "libdedloc_cuda.so");
    }

    /// Runs the commands of a section; returns what they print.
    std::string follow(const std::string& heading) {
        std::string printed;
        for (const std::string& block : blocks_.at(heading)) {
            if (block.starts_with("IncludeOptional")) continue;  // the test's Apache has it
            const auto finished =
                platform::run_to_end({"env", "-u", "http_proxy", "-u", "HTTP_PROXY", "bash", "-euo",
                                      "pipefail", "-c", filled(block)});
            INFO(filled(block) << finished.output);
            REQUIRE(finished.status == 0);
            printed += finished.output;
        }
        return printed;
    }
    /// The line for Apache that the guide has.
    std::string apache_line() const {
        const auto& blocks = blocks_.at("Apache");
        REQUIRE(blocks.size() == 1);
        return filled(blocks.front());
    }
    std::set<std::string> headings() const {
        std::set<std::string> all;
        for (const auto& [heading, blocks] : blocks_) all.insert(heading);
        return all;
    }

  private:
    fs::path build() const { return files_.path() / "build"; }
    static fs::path official_library() {
        for (const char* const file : {"/lib/x86_64-linux-gnu/libz.so.1", "/usr/lib/libz.so.1"}) {
            if (fs::exists(file)) return fs::canonical(file);
        }
        FAIL("this machine has no libz.so.1");
        return {};
    }
    std::string filled(std::string text) const {
        for (const auto& [name, value] : names_) {
            for (auto at = text.find(name); at != std::string::npos;
                 at = text.find(name, at + value.size())) {
                text.replace(at, name.size(), value);
            }
        }
        return text;
    }

    TemporaryDirectory files_;
    const std::map<std::string, std::vector<std::string>> blocks_ = blocks_of_guide();
    const std::vector<std::pair<std::string, std::string>> names_;
};

}  // namespace

TEST_CASE("the guide's commands work word for word, in its order", "[server][official]") {
    const auto port = platform::free_port("127.0.0.1");
    Guided world{port};
    REQUIRE(world.headings() == std::set<std::string>{"Install", "Apache", "Start",
                                                      "App versions and runs", "Upgrade",
                                                      "Remove"});
    const auto files = world.files();
    CHECK_THAT(world.follow("Install"), Catch::Contains(world.apache_line()));
    std::optional<tests::Apache> apache;
    const auto reload = [&] {
        apache.reset();
        apache.emplace(world.root(), port, "", world.apache_line());
    };
    reload();
    // The project runs already, as an administrator's does.
    world.control("start");
    const auto started = world.follow("Start");
    CHECK_THAT(started, Catch::Contains("dedloc-runs") && Catch::Contains("\"address\""));
    world.await_daemons();
    const auto published = world.follow("App versions and runs");
    CHECK(published.find("volunteers get no tickets") == std::string::npos);
    CHECK(world.one("select count(*) from app_version") == "3");
    world.await("select count(*) >= 16 from workunit", "1");
    const auto upgraded = world.follow("Upgrade");
    CHECK_THAT(upgraded, Catch::Contains("nothing was changed"));
    world.await_daemons();
    world.await([&] {  // the run has a backbone again
        const auto printed = world.dedloc(
            (world.root() / "bin/dedloc").string(),
            {"run", "status", "--project", world.root().string(), "--name", "first", "--json"});
        return printed.find("\"live\":true") != std::string::npos;
    });
    const auto removed = world.follow("Remove");
    CHECK_THAT(removed, Catch::Contains("in progress") && Catch::Contains(world.apache_line()));
    CHECK(server::daemons_in_turn(world.root()).empty());
    const auto config = world.config();
    CHECK(config.rfind("<cmd>dedloc-") == config.find("<cmd>dedloc-purge</cmd>"));  // a comment
    reload();  // before the administrator has taken the line out
    CHECK_THAT(tests::fetch(port, "/quality/dedloc/report"), Catch::StartsWith("HTTP/1.1 404"));
}
