// A project in this process whose server runs as a process of its own, for stock BOINC clients.
#pragma once

#include <memory>
#include <string>

#include "tests/project_server/web/stock_client.hpp"

namespace dedloc::server {

/// The project; its server answers from serve() on.
class ServedProject {
  public:
    ServedProject() {
        for (const char* const name : {"code_sign", "upload"}) {
            make_key_pair(config().key_directory, name);
        }
    }

    void serve() {
        server_ = std::make_unique<Child>(
            std::vector<std::string>{DEDLOC_SERVER_PROGRAM, "--project", root().string(),
                                     "--listen", "127.0.0.1:" + std::to_string(port_)},
            root() / "server.log");
        const bool is_up = within(30s, [&] {
            return output_of("curl -sS " + url() + "get_project_config.php")
                       .find("<project_config>") != std::string::npos;
        });
        INFO(log());
        REQUIRE(is_up);
    }
    /// Tells the client to contact the project again and again until `condition` holds.
    template <class Condition>
    bool updated_within(std::chrono::seconds timeout, const StockClient& client,
                        const Condition& condition) const {
        return within(timeout, [&] {
            if (condition()) return true;
            client.tell("--project " + url() + " update");
            std::this_thread::sleep_for(500ms);
            return condition();
        });
    }
    /// The value of an expression in SQL.
    std::int64_t number(const std::string& expression) {
        return database().query_one("select (" + expression + ") as n")->integer("n");
    }

    Database& database() { return project_.database(); }
    const ProjectConfig& config() const { return project_.config(); }
    const fs::path& root() const { return project_.root(); }
    const std::string& url() const { return config().master_url; }
    std::string log() const { return contents(root() / "server.log"); }

  private:
    const std::uint16_t port_ = platform::free_port("127.0.0.1");
    TestProject project_{port_};
    std::unique_ptr<Child> server_;
};

}  // namespace dedloc::server
