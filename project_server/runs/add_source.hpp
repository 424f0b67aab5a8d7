// Adds a source to a run that works.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "peer/base/digest.hpp"
#include "project_server/project/begins.hpp"

namespace dedloc::runs {

/// Arguments of add_source().
struct AddSourceOptions {
    std::filesystem::path project;  ///< the project's folder
    std::string run;                ///< the run's name
    std::filesystem::path corpus;   ///< a folder made by build_corpus() with the run's tokenizer
    std::string source{};   ///< name of a source of the corpus; if it has none, the new one's name
    std::string licence{};  ///< note of its licence; empty: the corpus's
};

/// What add_source() has added.
struct NewSource {
    std::string name;          ///< the source's
    std::string licence;       ///< its note
    Digest digest;             ///< the digest of its file, which the project's list has
    std::size_t shards = 0;    ///< those to train on
    std::size_t held_out = 0;  ///< those to measure with
    std::uint64_t bytes = 0;   ///< size of all of them
    bool is_new = true;        ///< false: an earlier command has added it
    bool is_put_back = false;  ///< it is not new, and its files were absent
};

/// Copies the shards of a source of the corpus into the run's folder and has the run's backbone
/// sign that the run has it, with weight 0 until mix() gives it another. Jobs that are made from
/// then on have shards of it. Repeatable: after a crash at any moment the same command goes on.
/// If the run has the source but not its files, as after the restore of an older backup, it only
/// copies them, whether the backbone works or not.
///
/// Errors  InputError in one sentence: no such run or source; the run began without sources;
///         another source lacks its files; another kind of data or another tokenizer than the
///         run's; no text of the run's sequence
///         length; a name, a shard or a sixteenth source that the run has already; a shard that is
///         cut off or altered
///         IoError: the backbone does not work or does not answer; the disk is full
NewSource add_source(const AddSourceOptions& options, const project::Begins& begins);

}  // namespace dedloc::runs
