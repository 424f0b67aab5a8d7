#include "project_server/run_sources.hpp"

#include <fmt/format.h>

#include <string>
#include <system_error>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"
#include "peer/wire/limits.hpp"

namespace dedloc::server {
namespace {

namespace fs = std::filesystem;

/// Stands for a source whose file is elsewhere.
formats::AddedSource unknown_source(const Digest& digest) {
    return {
        .name = "added_" + digest.hex().substr(0, 8),
        .licence = {},
        .shards = {{.name = "shard-" + digest.hex().substr(0, 16), .digest = digest, .bytes = 1}}};
}

}  // namespace

fs::path mixture_file(const fs::path& run_folder) {
    return run_folder / "mixture";
}

fs::path source_file(const fs::path& run_folder, const Digest& source) {
    return run_folder / "added" / (source.hex() + ".json");
}

SharedMixture read_mixture(const fs::path& file, const formats::RunFile& run) {
    if (!fs::exists(file)) return nullptr;
    const auto refuse = [&](const char* why) {
        throw InputError(fmt::format("{} {}", file.string(), why));
    };
    const auto mixture = decode_mixture(platform::read_file(file, wire::kMaxMixtureBytes));
    if (!mixture) refuse("is no list of changes of a mixture, or damaged");
    if (!fits_sources(*mixture, run.sources.size() - run.added_sources)) {
        refuse("has other sources than the run");
    }
    if (!is_signed(formats::run_id(run), run.project_key, *mixture)) {
        refuse("is not signed by the project for this run");
    }
    return std::make_shared<const SignedMixture>(*mixture);
}

void write_mixture(const fs::path& file, const SignedMixture& mixture) {
    platform::replace_file(file, encode_mixture(mixture));
}

void write_source(const fs::path& run_folder, const formats::AddedSource& source) {
    const fs::path file = source_file(run_folder, formats::digest_of(source));
    const std::string json = formats::write_added_source(source);
    fs::create_directories(file.parent_path());
    platform::replace_file(file, json);
    platform::sync_folder_of(file.parent_path());
}

formats::AddedSource read_source(const fs::path& run_folder, const Digest& source) {
    const fs::path file = source_file(run_folder, source);
    if (!fs::exists(file)) {
        throw InputError(fmt::format("{}; {}", why_absent(run_folder, source), kAddAgain));
    }
    const std::string json = platform::read_text(file, formats::kMaxAddedSourceBytes);
    if (blake2b(bytes_of(json)) != source) {
        throw InputError(
            fmt::format("{} is not the file of the source that the project has added: put it back "
                        "from a backup",
                        file.string()));
    }
    return formats::parse_added_source(json);
}

std::string why_absent(const fs::path& run_folder, const Digest& source) {
    return fmt::format(
        "the run {} lacks the added source {}: the project was restored from a backup that is "
        "older, or the file is lost",
        run_folder.filename().string(), source.hex().substr(0, 16));
}

fs::path shard_file(const fs::path& run_folder, const formats::ShardReference& shard) {
    return run_folder / (shard.is_held_out ? "held_out" : "shards") / shard.name;
}

void require_shards(const fs::path& run_folder, const formats::AddedSource& source) {
    for (const formats::ShardReference& shard : source.shards) {
        const fs::path path = shard_file(run_folder, shard);
        std::error_code failed;
        if (fs::file_size(path, failed) == shard.bytes && !failed) continue;
        throw InputError(fmt::format("{} is absent or has another size", path.string()));
    }
}

std::vector<Digest> added_to(const fs::path& run_folder, const formats::RunFile& run) {
    const auto mixture = read_mixture(mixture_file(run_folder), run);
    return mixture == nullptr ? std::vector<Digest>{} : mixture->added;
}

formats::RunFile read_run(const fs::path& run_folder, Reader reader) {
    formats::RunFile run = formats::parse_run_file(platform::read_text(run_folder / "run.json"));
    for (const Digest& source : added_to(run_folder, run)) {
        const bool is_elsewhere =
            reader == Reader::kElsewhere && !fs::exists(source_file(run_folder, source));
        formats::add_source(
            run, is_elsewhere ? unknown_source(source) : read_source(run_folder, source));
    }
    return run;
}

}  // namespace dedloc::server
