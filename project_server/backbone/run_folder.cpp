#include "project_server/backbone/run_folder.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "project_server/key_file.hpp"
#include "project_server/settings.hpp"

namespace dedloc::backbone {
namespace {

/// A backbone may well run where the project's key does not lie.
std::optional<KeyPair> find_project_key(const std::filesystem::path& file,
                                        const PeerKey& expected) {
    if (::access(file.c_str(), R_OK) != 0) return std::nullopt;
    KeyPair key = server::read_key(file);
    if (key.public_key() == expected) return key;
    log_warning("{} is not the project's key that run.json names: not used", file.string());
    return std::nullopt;
}

}  // namespace

RunFolder read_run_folder(const std::filesystem::path& project, const std::string& run_name) {
    const auto folder = std::filesystem::absolute(project) / "runs" / run_name;
    if (!std::filesystem::exists(folder / "run.json")) {
        throw InputError(
            fmt::format("The project {} has no run \"{}\".", project.string(), run_name));
    }
    wire::RunFile run = wire::parse_run_file(server::read_text(folder / "run.json"));
    const KeyPair key = server::read_key(folder / "backbone.key");
    if (key.public_key() != run.backbone_key) {
        throw InputError(fmt::format("{} is not the key that run.json names.",
                                     (folder / "backbone.key").string()));
    }
    const RunId id = wire::run_id(run);
    auto project_key =
        find_project_key(std::filesystem::absolute(project) / "keys/project.key", run.project_key);
    return {.folder = folder,
            .run = std::move(run),
            .id = id,
            .key = key,
            .project_key = std::move(project_key)};
}

}  // namespace dedloc::backbone
