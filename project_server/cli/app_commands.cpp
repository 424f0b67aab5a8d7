#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "peer/base/error.hpp"
#include "project_server/cli/closure.hpp"
#include "project_server/cli/commands.hpp"
#include "project_server/cli/project.hpp"
#include "project_server/official/jobs.hpp"
#include "project_server/publishing/app_version.hpp"
#include "project_server/publishing/keys.hpp"
#include "project_server/scheduler/plan_class.hpp"

namespace dedloc::cli {
namespace {

namespace fs = std::filesystem;

struct AppOptions {
    fs::path project;
    fs::path binary;
    std::string name = "dedloc_train";
    std::string version = "1.0";
    std::string platform = "x86_64-pc-linux-gnu";
    std::string plan_class{server::kMultithread};
    std::vector<fs::path> files;  ///< that the program opens by itself, such as plug-ins
    fs::path signatures;          ///< folder of signatures made elsewhere; empty: sign here
};

struct SignOptions {
    AppOptions app;
    fs::path key;     ///< private key
    fs::path folder;  ///< where the signatures are written
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

/// Adds a file unless the version has it; two files cannot have one name in the slot.
void add_file(std::vector<server::AppFile>& files, const fs::path& path, const std::string& name) {
    const fs::path source = fs::canonical(path);
    const auto same = std::ranges::find(files, name, &server::AppFile::open_name);
    if (same == files.end()) {
        files.push_back({.source = source, .open_name = name});
    } else if (same->source != source) {
        throw InputError(fmt::format("{} and {} have the same name in a volunteer's slot",
                                     same->source.string(), source.string()));
    }
}

/// The program, then each further file, each with the shared libraries that it is linked with.
std::vector<server::AppFile> files_of(const AppOptions& options) {
    const auto libraries = library_closure(options.binary);
    std::vector<server::AppFile> files{{.source = fs::canonical(options.binary),
                                        .open_name = options.binary.filename().string(),
                                        .is_main_program = true}};
    for (const Needed& library : libraries) add_file(files, library.file, library.name);
    for (const fs::path& file : options.files) {
        const auto needed = library_closure(file);
        add_file(files, file, file.filename().string());
        for (const Needed& library : needed) add_file(files, library.file, library.name);
    }
    return files;
}

void add(const AppOptions& options) {
    if (!server::is_plan_class(options.plan_class)) {
        throw InputError(
            fmt::format("there is no plan class {}; there are {}, {} and the empty one",
                        options.plan_class, server::kMultithread, server::kCuda));
    }
    const auto project = existing_project(options.project);
    const server::AppVersion version{.app = options.name,
                                     .friendly_name = "DeDLOC trainer",
                                     .version = version_number(options.version),
                                     .platform = options.platform,
                                     .plan_class = options.plan_class,
                                     .files = files_of(options)};
    std::uint64_t bytes = 0;
    for (const server::AppFile& file : version.files) bytes += fs::file_size(file.source);
    require_disk_space(project, bytes + (std::uint64_t{50} << 20));
    ProjectDatabase access{project};
    server::add_app_version(access.database(), access.config(), version, options.signatures);
    if (server::is_official(project)) official::reload_feeder(project);
    fmt::print("{} {} for {}{}{}: {} and {} libraries, {} MB\n", options.name, options.version,
               options.platform, options.plan_class.empty() ? "" : ", ", options.plan_class,
               options.binary.filename().string(), version.files.size() - 1, bytes / 1'000'000);
}

void sign(const SignOptions& options) {
    const auto names = server::sign_files(files_of(options.app), options.key, options.folder);
    fmt::print("{}: signatures of {} files\n", options.folder.string(), names.size());
}

void make_key(const fs::path& folder) {
    fs::create_directories(folder);
    server::make_key_pair(folder, "code_sign");
    fmt::print("{0}/code_sign_private stays here; {0}/code_sign_public is the project's\n",
               folder.string());
}

/// Options that say which files a version has.
void add_file_options(CLI::App& command, AppOptions& options) {
    command.add_option("--binary", options.binary, "Path of the program, as built here")
        ->required();
    command.add_option("--file", options.files,
                       "A file that the program opens by itself, such as libdedloc_cuda.so or "
                       "libtorch_cuda.so; it comes with its shared libraries; repeat for each");
}

/// Signing on a machine that the network does not reach.
void add_signing_commands(CLI::App& app) {
    const auto folder = std::make_shared<fs::path>();
    auto* const key = app.add_subcommand(
        "key", "Make a key pair that signs app versions, on a machine that is not the project's");
    key->add_option("FOLDER", *folder, "Where the two files are written")->required();
    key->callback([folder] { make_key(*folder); });

    const auto options = std::make_shared<SignOptions>();
    auto* const command = app.add_subcommand(
        "sign", "Sign the files of a version, for dedloc app add --signatures elsewhere");
    command->add_option("--key", options->key, "The file code_sign_private")->required();
    command->add_option("--out", options->folder, "Folder for the signatures")->required();
    add_file_options(*command, options->app);
    command->callback([options] { sign(*options); });
}

}  // namespace

void add_app_commands(CLI::App& dedloc) {
    auto* const app = dedloc.add_subcommand("app", "Publish the program that volunteers run");
    app->require_subcommand(1);
    auto* const command =
        app->add_subcommand("add", "Sign a program and its shared libraries and publish them");
    const auto options = std::make_shared<AppOptions>();  // shared by parser and callback
    command->add_option("--project", options->project, "The project's folder")->required();
    add_file_options(*command, *options);
    command->add_option("--name", options->name, "Name of the app")->capture_default_str();
    command->add_option("--version", options->version, "Version, MAJOR.MINOR")
        ->capture_default_str();
    command->add_option("--platform", options->platform, "BOINC platform name")
        ->capture_default_str();
    command
        ->add_option("--plan-class", options->plan_class,
                     "BOINC plan class: mt_dedloc (all processors that BOINC may use), cuda_dedloc "
                     "(one NVIDIA GPU), or empty (one core)")
        ->capture_default_str();
    command->add_option("--signatures", options->signatures,
                        "Folder of signatures from dedloc app sign. Default: sign with the "
                        "project's key, which is then on this machine");
    command->callback([options] { add(*options); });
    add_signing_commands(*app);
}

}  // namespace dedloc::cli
