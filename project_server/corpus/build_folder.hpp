// The folder of a corpus that is being built. It has a hidden name beside its final one, which it
// gets only when it is complete. A build that was stopped leaves it, and the next one goes on.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "peer/base/error.hpp"
#include "peer/platform/folder_lock.hpp"
#include "project_server/corpus/corpus.hpp"

namespace dedloc::corpus {

/// Owns the folder and its lock, so that only one process builds it.
class BuildFolder final {
  public:
    /// Opens or creates the folder for `target`. Errors: InputError when `target` exists and is not
    /// an empty folder, or its parent folder is missing; IoError, also when another process builds
    /// it.
    explicit BuildFolder(const std::filesystem::path& target);

    /// Fills the folder by `build(folder, journal)` and gives it its final name, durably. Returns
    /// what `build` does. The journal is that of an earlier build with this digest, else a new one;
    /// files for which it does not account are removed first.
    ///
    /// Errors  InputError: the folder is removed; IoError: it stays, and the sentence says that the
    ///         same command goes on
    template <class Build>
    auto fill(const Digest& digest, const Build& build) {
        try {
            auto built = build(path(), resume(digest));
            finish();
            return built;
        } catch (const InputError&) {
            discard();
            throw;
        } catch (const IoError& error) {
            throw IoError(std::string{error.what()} +
                          "; the same command goes on from the last shard");
        }
    }

    // The steps of fill(), for builds that cannot go on:

    /// The journal of an earlier build with the same digest, else a new one. Removes all files that
    /// the journal does not account for.
    Journal resume(const Digest& build);
    /// Gives the folder its final name, durably. Errors: IoError.
    void finish();
    /// Removes the folder.
    void discard();
    /// The folder to fill.
    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path target_;
    std::filesystem::path path_;
    std::unique_ptr<platform::FolderLock> lock_;
};

}  // namespace dedloc::corpus
