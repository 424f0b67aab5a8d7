#include "project_server/backbone/run_folder.hpp"

#include <fmt/format.h>

#include <array>

#include "peer/base/error.hpp"
#include "project_server/settings.hpp"

namespace dedloc::backbone {
namespace {

KeyPair read_key(const std::filesystem::path& file) {
    std::string text = server::read_text(file);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    std::array<std::byte, 32> seed{};
    if (!from_hex(text, seed)) {
        throw InputError(fmt::format("{} holds no key.", file.string()));
    }
    return KeyPair::from_seed(seed);
}

}  // namespace

RunFolder read_run_folder(const std::filesystem::path& project, const std::string& run_name) {
    const auto folder = std::filesystem::absolute(project) / "runs" / run_name;
    if (!std::filesystem::exists(folder / "run.json")) {
        throw InputError(
            fmt::format("The project {} has no run \"{}\".", project.string(), run_name));
    }
    wire::RunFile run = wire::parse_run_file(server::read_text(folder / "run.json"));
    const KeyPair key = read_key(folder / "backbone.key");
    if (key.public_key() != run.backbone_key) {
        throw InputError(fmt::format("{} is not the key that run.json names.",
                                     (folder / "backbone.key").string()));
    }
    const RunId id = wire::run_id(run);
    return {.folder = folder, .run = std::move(run), .id = id, .key = key};
}

}  // namespace dedloc::backbone
