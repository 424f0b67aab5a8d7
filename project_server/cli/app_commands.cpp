#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "peer/base/error.hpp"
#include "project_server/cli/closure.hpp"
#include "project_server/cli/commands.hpp"
#include "project_server/cli/project.hpp"
#include "project_server/publishing/app_version.hpp"

namespace dedloc::cli {
namespace {

namespace fs = std::filesystem;

struct AppOptions {
    fs::path project;
    fs::path binary;
    std::string name = "dedloc_train";
    std::string version = "1.0";
    std::string platform = "x86_64-pc-linux-gnu";
    std::string plan_class;
};

/// BOINC's number of a version: 107 for "1.7". Errors: InputError.
int version_number(const std::string& text) {
    int major = 0;
    int minor = 0;
    char rest = 0;
    if (std::sscanf(text.c_str(), "%d.%d%c", &major, &minor, &rest) != 2 || major < 0 ||
        major > 1000 || minor < 0 || minor > 99) {
        throw InputError(
            fmt::format("{} is not a version (such as 1.0, minor number below 100)", text));
    }
    return major * 100 + minor;
}

void add(const AppOptions& options) {
    const auto project = existing_project(options.project);
    const auto libraries = library_closure(options.binary);
    server::AppVersion version{.app = options.name,
                               .friendly_name = "DeDLOC trainer",
                               .version = version_number(options.version),
                               .platform = options.platform,
                               .plan_class = options.plan_class};
    version.files.push_back({.source = fs::canonical(options.binary),
                             .open_name = options.binary.filename().string(),
                             .is_main_program = true});
    std::uint64_t bytes = fs::file_size(options.binary);
    for (const auto& library : libraries) {
        version.files.push_back({.source = fs::canonical(library.file), .open_name = library.name});
        bytes += fs::file_size(library.file);
    }
    require_disk_space(project, bytes + (std::uint64_t{50} << 20));
    ProjectDatabase access{project};
    server::add_app_version(access.database(), access.config(), version);
    fmt::print("{} {} for {}: {} and {} libraries, {} MB\n", options.name, options.version,
               options.platform, options.binary.filename().string(), libraries.size(),
               bytes / 1'000'000);
}

}  // namespace

void add_app_commands(CLI::App& dedloc) {
    auto* const app = dedloc.add_subcommand("app", "Publish the program that volunteers run");
    app->require_subcommand(1);
    auto* const command =
        app->add_subcommand("add", "Sign a program and its shared libraries and publish them");
    const auto options = std::make_shared<AppOptions>();  // shared by parser and callback
    command->add_option("--project", options->project, "The project's folder")->required();
    command->add_option("--binary", options->binary, "Path of the program, as built here")
        ->required();
    command->add_option("--name", options->name, "Name of the app")->capture_default_str();
    command->add_option("--version", options->version, "Version, MAJOR.MINOR")
        ->capture_default_str();
    command->add_option("--platform", options->platform, "BOINC platform name")
        ->capture_default_str();
    command->add_option("--plan-class", options->plan_class, "BOINC plan class; empty: any CPU");
    command->callback([options] { add(*options); });
}

}  // namespace dedloc::cli
