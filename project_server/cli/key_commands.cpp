#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"
#include "project_server/cli/commands.hpp"
#include "project_server/cli/output.hpp"
#include "project_server/cli/progress.hpp"
#include "project_server/project/project.hpp"
#include "project_server/publishing/key_change.hpp"
#include "project_server/publishing/signing_request.hpp"

namespace dedloc::cli {
namespace {

namespace fs = std::filesystem;

struct RekeyOptions {
    fs::path project;
    fs::path request;     ///< file to write instead of a change; empty: change the key
    fs::path signatures;  ///< folder of dedloc app endorse; empty: the private key is here
    bool prints_json = false;
};

/// What `app rekey` prints, in both of its forms.
json::Value rekey_data(const server::KeyChange& change, const fs::path& request) {
    json::Value data;
    data.set("is_changed", request.empty())
        .set("was_interrupted", change.was_interrupted)
        .set("has_private_key", change.has_private_key)
        .set("versions", change.versions)
        .set("files", change.files)
        .set("request", request.string());
    return data;
}

void write_request(const RekeyOptions& options, project::ProjectDatabase& access) {
    const auto request = server::signing_request(access.database(), access.config());
    platform::replace_file(options.request, server::text_of(request));
    if (options.prints_json) {
        return print(rekey_data({.files = request.files.size()}, options.request), true);
    }
    fmt::print("{}: {} files to sign, where the keys are, by dedloc app endorse\n",
               options.request.string(), request.files.size());
}

void rekey(const RekeyOptions& options) {
    const auto project = project::own_project(
        options.project,
        "its code signing key in {}/keys is BOINC's, and clients learn another one "
        "only by attaching again; so keep it, or sign on another machine with dedloc "
        "app add --signatures");
    project::ProjectDatabase access{project};
    if (!options.request.empty()) return write_request(options, access);
    const auto change = [&] {
        Progress progress{options.prints_json};
        return server::change_key(access.database(), access.config(), options.signatures,
                                  progress.begins());
    }();
    if (options.prints_json) return print(rekey_data(change, {}), true);
    fmt::print(
        "{}app versions are signed by the new key, of which {}; clients learn it at their "
        "next contact\n",
        change.was_interrupted ? "an interrupted change is complete: " : "",
        change.has_private_key ? "the private half is in keys/"
                               : "no private half is on this machine");
}

struct EndorseOptions {
    fs::path request;
    fs::path key;       ///< the present private key
    fs::path new_keys;  ///< folder of dedloc app key
    fs::path out;
    bool prints_json = false;
};

void endorse(const EndorseOptions& options) {
    const auto request = server::parse_signing_request(
        platform::read_text(options.request, server::kMaxSigningRequest));
    server::answer_signing_request(request, options.key, options.new_keys, options.out);
    if (options.prints_json) {
        json::Value data;
        data.set("folder", options.out.string()).set("files", request.files.size());
        return print(data, true);
    }
    fmt::print(
        "{}: the new key and {} files are signed; take the folder to the project's machine, "
        "for dedloc app rekey --signatures\n",
        options.out.string(), request.files.size());
}

}  // namespace

void add_key_commands(CLI::App& app) {
    const auto options = std::make_shared<RekeyOptions>();  // shared by parser and callback
    auto* const command = app.add_subcommand(
        "rekey",
        "Change the key that signs app versions: make a new pair, sign all versions again, and let "
        "clients accept it. Repeat it if it was interrupted");
    command->add_option("--project", options->project, "The project's folder")->required();
    auto* const request = command->add_option(
        "--request", options->request,
        "Change nothing; write to this file what the machine with the private key must sign");
    command
        ->add_option("--signatures", options->signatures,
                     "Folder from dedloc app endorse on the machine with the private keys, none of "
                     "which is then here. Default: the private key is here")
        ->excludes(request);
    command->add_flag("--json", options->prints_json, "Print JSON");
    command->callback([options] { rekey(*options); });

    const auto its = std::make_shared<EndorseOptions>();
    auto* const signing = app.add_subcommand(
        "endorse",
        "Sign a new key and the files of a request of dedloc app rekey, on the machine "
        "with the private keys");
    signing->add_option("--request", its->request, "File from dedloc app rekey --request")
        ->required();
    signing->add_option("--key", its->key, "The present code_sign_private")->required();
    signing->add_option("--new-keys", its->new_keys, "Folder of the new pair, from dedloc app key")
        ->required();
    signing->add_option("--out", its->out, "Folder for the answer")->required();
    signing->add_flag("--json", its->prints_json, "Print JSON");
    signing->callback([its] { endorse(*its); });
}

}  // namespace dedloc::cli
