#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "peer/base/error.hpp"
#include "peer/platform/privileges.hpp"
#include "peer/platform/scratch_folder.hpp"
#include "project_server/cli/commands.hpp"
#include "project_server/cli/output.hpp"
#include "project_server/cli/progress.hpp"
#include "project_server/database/boinc_apps.hpp"
#include "project_server/official/jobs.hpp"
#include "project_server/packaging/package.hpp"
#include "project_server/project/app_versions.hpp"
#include "project_server/project/project.hpp"
#include "project_server/publishing/app_version.hpp"
#include "project_server/publishing/keys.hpp"
#include "project_server/scheduler/plan_class.hpp"
#include "project_server/settings.hpp"

namespace dedloc::cli {
namespace {

namespace fs = std::filesystem;

struct AppOptions {
    fs::path project;
    fs::path binary;   ///< empty: `package`
    fs::path package;  ///< folder of files; empty: `binary`
    std::string name;  ///< empty: by the binary's name
    std::string version = "1.0";
    std::string platform = "x86_64-pc-linux-gnu";
    std::optional<std::string> plan_class;  ///< absent: by the app
    std::vector<fs::path> files;            ///< that the program opens by itself, such as plug-ins
    fs::path signatures;    ///< folder of signatures made elsewhere; empty: sign here
    bool is_plain = false;  ///< clients download the files uncompressed
    bool prints_json = false;
};

struct SignOptions {
    AppOptions app;
    fs::path key;     ///< private key
    fs::path folder;  ///< where the signatures are written
};

/// The version's files; those that are made for it lie in `scratch`.
packaging::Package package_of(const AppOptions& options, const platform::ScratchFolder& scratch) {
    if (options.binary.empty() == options.package.empty()) {
        throw InputError("one of --binary and --package is needed");
    }
    if (!options.package.empty()) return packaging::read_package(options.package);
    return packaging::make_package(options.binary, options.files, scratch.path());
}

/// A line for each file without a known licence.
void warn_of_unknown(const packaging::Package& package) {
    for (const std::string& name : package.unknown) {
        fmt::print(stderr,
                   "{}: neither dpkg nor a wheel says where it comes from, so its licence "
                   "is missing\n",
                   name);
    }
}

/// App and plan class of a version: an aggregator's runs beside other tasks, a trainer's does not.
struct Kind {
    std::string name;
    std::string plan_class;
    bool is_aggregator = false;
};

Kind kind_of(const AppOptions& options, const std::string& program) {
    const bool is_named_so = program == server::kAggregatorApp;
    const std::string name = !options.name.empty() ? options.name
                             : is_named_so         ? server::kAggregatorApp
                                                   : server::kTrainerApp;
    const bool is_aggregator = name == server::kAggregatorApp;
    const std::string_view usual = is_aggregator ? server::kNonCpuIntensive : server::kMultithread;
    Kind kind{.name = name,
              .plan_class = options.plan_class.value_or(std::string{usual}),
              .is_aggregator = is_aggregator};
    if (!server::is_plan_class(kind.plan_class)) {
        throw InputError(fmt::format(
            "there is no plan class {}; there are {}, {}, {} and the empty "
            "one",
            kind.plan_class, server::kMultithread, server::kCuda, server::kNonCpuIntensive));
    }
    if (is_aggregator != (kind.plan_class == server::kNonCpuIntensive)) {
        throw InputError(fmt::format("the plan class {} is for {} and for no other app",
                                     server::kNonCpuIntensive, server::kAggregatorApp));
    }
    return kind;
}

/// What a version is, for programs or for a reader.
void print_version(const AppOptions& options, const Kind& kind, const server::AppVersion& version,
                   const packaging::Package& package, std::int64_t id) {
    const std::string kernel = package.kernel ? package.kernel->text() : "";
    if (options.prints_json) {
        json::Value data;
        data.set("id", id)
            .set("name", kind.name)
            .set("version", options.version)
            .set("platform", options.platform)
            .set("plan_class", kind.plan_class)
            .set("kernel", kernel)
            .set("files", package.files.size())
            .set("bytes", package.bytes())
            .set("own_bytes", package.own_bytes())
            .set("bill_of_materials", server::bill_name(version));
        return print(data, true);
    }
    fmt::print(
        "{} {} for {}{}{}: {} files, {:.1f} MB, of which {:.1f} MB change with an update{}\n",
        kind.name, options.version, options.platform, kind.plan_class.empty() ? "" : ", ",
        kind.plan_class, package.files.size(), static_cast<double>(package.bytes()) / 1e6,
        static_cast<double>(package.own_bytes()) / 1e6,
        kernel.empty() ? "" : fmt::format("; hosts need Linux {} or newer", kernel));
}

/// Root may read what the project's owner may not, such as libraries in root's own folders. So it
/// gathers the files as root, and gives the owner copies.
std::optional<packaging::Package> gathered_by_root(const AppOptions& options,
                                                   const platform::ScratchFolder& scratch) {
    const auto owner = platform::owner_of(options.project);
    if (!platform::is_root() || owner == "root") return std::nullopt;
    auto package = package_of(options, scratch);
    const fs::path copies = scratch.path() / "copies";
    packaging::write_package(package, copies);
    for (auto& file : package.files) file.source = copies / file.open_name;
    platform::give(scratch.path(), owner);
    return package;
}

void add(const AppOptions& options) {
    std::optional<Progress> progress{std::in_place, options.prints_json};
    progress->say("looking for the libraries of the program");
    server::read_settings(options.project);
    // The owner may not look into root's folder for temporary files.
    const platform::ScratchFolder scratch{server::state_folder(options.project)};
    auto gathered = gathered_by_root(options, scratch);
    const auto project = project::existing_project(options.project);  // becomes the project's owner
    const auto package = gathered ? *std::move(gathered) : package_of(options, scratch);
    const Kind kind = kind_of(options, package.program);
    const server::AppVersion version{
        .app = kind.name,
        .friendly_name = kind.is_aggregator ? "DeDLOC aggregator" : "DeDLOC trainer",
        .version = project::version_number(options.version),
        .platform = options.platform,
        .plan_class = kind.plan_class,
        .files = package.files,
        .is_gzipped = !options.is_plain,
        .is_non_cpu_intensive = kind.is_aggregator,
        .kernel = package.kernel,
        .bill_of_materials = package.bill};
    project::require_disk_space(
        project, package.bytes() * (options.is_plain ? 1 : 2) + (std::uint64_t{50} << 20));
    project::ProjectDatabase access{project};
    const auto id = server::add_app_version(access.database(), access.config(), version,
                                            options.signatures, progress->begins());
    progress.reset();
    if (server::is_official(project)) official::reload_feeder(project);
    warn_of_unknown(package);
    print_version(options, kind, version, package, id);
}

void make_package(const AppOptions& options, const fs::path& folder) {
    std::optional<Progress> progress{std::in_place, options.prints_json};
    progress->say("looking for the libraries of the program");
    const platform::ScratchFolder scratch;
    const auto package = package_of(options, scratch);
    packaging::write_package(package, folder);
    progress.reset();
    warn_of_unknown(package);
    if (options.prints_json) {
        json::Value data;
        data.set("folder", folder.string())
            .set("files", package.files.size())
            .set("bytes", package.bytes())
            .set("own_bytes", package.own_bytes());
        return print(data, true);
    }
    fmt::print("{}: {} files, {:.1f} MB\n", folder.string(), package.files.size(),
               static_cast<double>(package.bytes()) / 1e6);
}

void sign(const SignOptions& options) {
    const platform::ScratchFolder scratch;
    const auto package = package_of(options.app, scratch);
    const auto names = server::sign_files(package.files, options.key, options.folder);
    if (options.app.prints_json) {
        json::Value::List files;
        for (const auto& name : names) files.emplace_back(name);
        json::Value data;
        data.set("folder", options.folder.string()).set("files", std::move(files));
        return print(data, true);
    }
    fmt::print("{}: signatures of {} files\n", options.folder.string(), names.size());
}

void make_key(const fs::path& folder, bool as_json) {
    fs::create_directories(folder);
    server::make_key_pair(folder, "code_sign");
    if (as_json) {
        json::Value data;
        data.set("private_key", (folder / "code_sign_private").string())
            .set("public_key", (folder / "code_sign_public").string());
        return print(data, true);
    }
    fmt::print("{0}/code_sign_private stays here; {0}/code_sign_public is the project's\n",
               folder.string());
}

/// Options that say which files a version has.
void add_file_options(CLI::App& command, AppOptions& options) {
    command.add_option("--binary", options.binary,
                       "Path of the program, as built here, with dedloc_launcher beside it");
    command.add_option("--file", options.files,
                       "A file that the program opens by itself, such as libdedloc_cuda.so or "
                       "libtorch_cuda.so; it comes with its shared libraries; repeat for each");
    command.add_flag("--json", options.prints_json, "Print JSON");
}

/// A version that was packaged elsewhere, or is.
void add_package_option(CLI::App& command, AppOptions& options) {
    command.add_option("--package", options.package,
                       "Folder that dedloc app package has made, instead of --binary and --file");
}

/// Signing on a machine that the network does not reach.
void add_signing_commands(CLI::App& app) {
    const auto folder = std::make_shared<fs::path>();
    auto* const key = app.add_subcommand(
        "key", "Make a key pair that signs app versions, on a machine that is not the project's");
    key->add_option("FOLDER", *folder, "Where the two files are written")->required();
    const auto as_json = std::make_shared<bool>(false);
    key->add_flag("--json", *as_json, "Print JSON");
    key->callback([folder, as_json] { make_key(*folder, *as_json); });

    const auto options = std::make_shared<SignOptions>();
    auto* const command = app.add_subcommand(
        "sign", "Sign the files of a version, for dedloc app add --signatures elsewhere");
    command->add_option("--key", options->key, "The file code_sign_private")->required();
    command->add_option("--out", options->folder, "Folder for the signatures")->required();
    add_file_options(*command, options->app);
    add_package_option(*command, options->app);
    command->callback([options] { sign(*options); });

    const auto packaged = std::make_shared<AppOptions>();
    auto* const package = app.add_subcommand(
        "package", "Put a program and all that it needs into a folder, where it runs by itself");
    package->add_option("--out", *folder, "The folder, empty or absent")->required();
    add_file_options(*package, *packaged);
    package->callback([packaged, folder] { make_package(*packaged, *folder); });
}

/// Options of `app list`, `app withdraw` and `app require`.
struct VersionOptions {
    fs::path project;
    std::string name = server::kTrainerApp;
    std::string version;
    std::string platform;
    std::optional<std::string> plan_class;  ///< absent: all
    std::string client;                     ///< oldest version of it
    bool is_undo = false;
    bool prints_json = false;
};

void list(const VersionOptions& options) {
    project::ProjectDatabase access{project::existing_project(options.project)};
    print(project::app_versions(access.database()), options.prints_json);
}

void change(const VersionOptions& options, const project::VersionChange& change) {
    const project::ChosenVersions choice{.app = options.name,
                                         .version = project::version_number(options.version),
                                         .platform = options.platform,
                                         .plan_class = options.plan_class};
    const auto project = project::existing_project(options.project);
    project::ProjectDatabase access{project};
    const auto changed = project::change_versions(access.database(), choice, change);
    if (server::is_official(project)) official::reload_feeder(project);
    print(changed, options.prints_json);
    const auto offered = std::get<std::int64_t>(changed.field("offered").value());
    if (offered == 0 && !options.prints_json) {
        fmt::print("no version of {} is left: volunteers get no jobs until one is added\n",
                   options.name);
    }
}

void withdraw(const VersionOptions& options) {
    change(options, {.is_withdrawn = !options.is_undo});
}

void require_client(const VersionOptions& options) {
    change(options, {.min_client = project::client_number(options.client)});
}

void add_version_commands(CLI::App& app) {
    const auto options = std::make_shared<VersionOptions>();  // shared by parser and callbacks
    const auto add = [&](const char* name, const char* what, void (*work)(const VersionOptions&)) {
        auto* const command = app.add_subcommand(name, what);
        command->add_option("--project", options->project, "The project's folder")->required();
        command->add_flag("--json", options->prints_json, "Print JSON");
        command->callback([options, work] { work(*options); });
        return command;
    };
    add("list", "List the published versions and who uses them", list);
    const auto add_change = [&](const char* name, const char* what,
                                void (*work)(const VersionOptions&)) {
        auto* const command = add(name, what, work);
        command->add_option("version", options->version, "Version, MAJOR.MINOR")->required();
        command->add_option("--name", options->name, "Name of the app")->capture_default_str();
        command->add_option("--platform", options->platform, "Only for this BOINC platform");
        command->add_option("--plan-class", options->plan_class, "Only of this plan class");
        return command;
    };
    add_change("withdraw",
               "Send no new jobs of a version; within seconds. Jobs that volunteers have go on",
               withdraw)
        ->add_flag("--undo", options->is_undo, "Offer the version again");
    add_change("require", "Send a version only to newer BOINC clients; within seconds",
               require_client)
        ->add_option("--client", options->client, "Oldest client, such as 7.20.5; any: no limit")
        ->required();
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
    add_package_option(*command, *options);
    command->add_flag("--no-gzip", options->is_plain,
                      "Clients download the files as they are: for volunteers on this machine, who "
                      "would wait longer for the compression than for the bytes");
    command->add_option("--name", options->name,
                        "Name of the app; default: dedloc_aggregate for a program of that name, "
                        "else dedloc_train");
    command->add_option("--version", options->version, "Version, MAJOR.MINOR")
        ->capture_default_str();
    command->add_option("--platform", options->platform, "BOINC platform name")
        ->capture_default_str();
    command->add_option("--plan-class", options->plan_class,
                        "BOINC plan class: mt_dedloc (all processors that BOINC may use; the "
                        "default), cuda_dedloc (one NVIDIA GPU), or empty (one core); "
                        "dedloc_aggregate has nci_dedloc (beside other tasks)");
    command->add_option("--signatures", options->signatures,
                        "Folder of signatures from dedloc app sign. Default: sign with the "
                        "project's key, which is then on this machine");
    command->callback([options] { add(*options); });
    add_version_commands(*app);
    add_signing_commands(*app);
    add_key_commands(*app);
}

}  // namespace dedloc::cli
