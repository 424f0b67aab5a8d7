#include "project_server/corpus/build_folder.hpp"

#include <fmt/format.h>

#include <set>
#include <string>

#include "peer/base/error.hpp"
#include "peer/platform/files.hpp"

namespace dedloc::corpus {
namespace {

namespace fs = std::filesystem;

}  // namespace

BuildFolder::BuildFolder(const fs::path& target)
    : target_(fs::absolute(target).lexically_normal()) {
    if (!target_.has_filename()) target_ = target_.parent_path();
    path_ = target_.parent_path() / fmt::format(".{}.building", target_.filename().string());
    std::error_code failed;
    if (fs::exists(target_) && (!fs::is_directory(target_) || !fs::is_empty(target_, failed))) {
        throw InputError(fmt::format("{} exists already", target_.string()));
    }
    if (!fs::is_directory(target_.parent_path())) {
        throw InputError(
            fmt::format("there is no folder {} to hold it", target_.parent_path().string()));
    }
    fs::create_directory(path_, failed);
    if (failed) throw IoError(fmt::format("cannot make {}: {}", path_.string(), failed.message()));
    lock_ = std::make_unique<platform::FolderLock>(path_);
}

Journal BuildFolder::resume(const Digest& build) {
    const auto journal = read_journal(path_);
    std::set<std::string> known;
    if (journal && journal->build == build) {
        known = {"journal.json", "tokenizer.model", "tokenizer.json"};
        if (journal->corpus.pictures) known = {"journal.json", kRefusedName};
        for (const auto& shard : journal->corpus.shards) {
            known.insert(shard.name);
            if (journal->corpus.pictures) known.insert(labels_name(shard));
        }
    }
    for (const auto& entry : fs::directory_iterator(path_)) {
        if (!known.contains(entry.path().filename().string())) fs::remove_all(entry.path());
    }
    if (!known.empty()) return *journal;
    Journal fresh;
    fresh.build = build;
    write_journal(path_, fresh);
    return fresh;
}

void BuildFolder::finish() {
    remove_journal(path_);
    platform::move_file(path_, target_);  // replaces an empty folder
}

void BuildFolder::discard() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

}  // namespace dedloc::corpus
