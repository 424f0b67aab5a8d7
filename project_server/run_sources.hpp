// The sources of a run: those of its file, and those that the project has added in mid-run. The
// file `mixture` of the run's folder, which the project has signed, names the added ones; the
// folder `added` has the file of each.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "peer/base/digest.hpp"
#include "peer/formats/added_source.hpp"
#include "peer/formats/run_file.hpp"
#include "peer/wire/mixture.hpp"

namespace dedloc::server {

/// The file with the project's list of changes (encode_mixture).
std::filesystem::path mixture_file(const std::filesystem::path& run_folder);
/// The file of an added source: its digest is the one that the list names.
std::filesystem::path source_file(const std::filesystem::path& run_folder, const Digest& source);

/// Reads the list of a run. Null if there is no such file: the mixture was never changed.
/// Errors  IoError; InputError: damaged, not signed by the project for this run, other sources
SharedMixture read_mixture(const std::filesystem::path& file, const formats::RunFile& run);
/// Replaces the file, atomically and durably. Errors: IoError.
void write_mixture(const std::filesystem::path& file, const SignedMixture& mixture);

/// Writes source_file(), atomically and durably. Errors: IoError, InputError.
void write_source(const std::filesystem::path& run_folder, const formats::AddedSource& source);
/// Reads source_file(). Errors: InputError: absent (why_absent()), or another file than the digest
/// says.
formats::AddedSource read_source(const std::filesystem::path& run_folder, const Digest& source);

/// Says that the run's folder lacks an added source, and why: peers keep the signed list, so a
/// backbone that is restored from an older backup hears of sources that the backup has not.
std::string why_absent(const std::filesystem::path& run_folder, const Digest& source);
/// What to do about it.
inline constexpr const char* kAddAgain =
    "repeat its dedloc run add-source with the same corpus, name and licence";

/// Errors: InputError: a shard of the source is absent from the run's folder, or has another size.
void require_shards(const std::filesystem::path& run_folder, const formats::AddedSource& source);
/// The place of a run's shard.
std::filesystem::path shard_file(const std::filesystem::path& run_folder,
                                 const formats::ShardReference& shard);

/// The added sources of a run, by the digests of their files; none if its folder has no list.
/// Errors: as read_mixture().
std::vector<Digest> added_to(const std::filesystem::path& run_folder, const formats::RunFile& run);

/// The process that reads a run.
enum class Reader {
    kProject,   ///< its folder is complete
    kElsewhere  ///< a voter's folder, or a copy: sources whose files are absent get a name
};
/// run.json with the sources that the list names. An absent list names none.
/// Errors  InputError: one of these files cannot be used; IoError
formats::RunFile read_run(const std::filesystem::path& run_folder,
                          Reader reader = Reader::kProject);

}  // namespace dedloc::server
