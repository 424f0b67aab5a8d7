// dedloc-runs: the backbones of an official BOINC server's project, as a daemon in config.xml.
#include <CLI/CLI.hpp>
#include <filesystem>

#include "peer/platform/descriptors.hpp"
#include "project_server/daemon.hpp"
#include "project_server/project/run_backbones.hpp"

int main(int count, char** arguments) {
    CLI::App app{"Keeps a backbone for each run of an official BOINC server's project."};
    std::filesystem::path project;
    app.add_option("--project", project, "The project's folder")->required();
    return dedloc::server::run_program(app, count, arguments, "dedloc-runs", [&] {
        dedloc::platform::raise_descriptor_limit();
        dedloc::project::serve_backbones(project);
    });
}
