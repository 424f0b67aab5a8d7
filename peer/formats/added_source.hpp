// A source that the project adds to a run in mid-run: the run file cannot name it, because its
// digest is the run's id. The source's own file says what a run file says of a source. The
// project's signed list names the file by its digest (wire/mixture.hpp), and every job that has
// shards of the source has the file as an input.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "peer/base/digest.hpp"
#include "peer/formats/run_file.hpp"

namespace dedloc::formats {

/// Limit of the file.
inline constexpr std::size_t kMaxAddedSourceBytes = std::size_t{1} << 21;

/// The contents of the file. Fields have the same names in it.
struct AddedSource {
    std::string name;                    ///< SourceSpec::name
    std::string licence;                 ///< SourceSpec::licence
    std::vector<ShardReference> shards;  ///< at least one to train on; their `source` is 0
    bool operator==(const AddedSource&) const = default;
};

/// Reads the file: only what write_added_source() writes, so a source has one digest.
/// Errors: InputError with one sentence, as parse_run_file().
AddedSource parse_added_source(std::string_view json);
/// JSON with a fixed order of fields and no white space. Errors: InputError: a source that
/// parse_added_source() would refuse.
std::string write_added_source(const AddedSource& source);
/// The file's name in the signed list: BLAKE2b of its bytes.
Digest digest_of(const AddedSource& source);

/// Appends the source with weight 0 and its shards to the run's, in memory only: the run's id and
/// write_run_file() stay those of its file.
/// Errors  InputError: the run has no sources, or too many, or too many shards; the name or a
///         shard is there already
void add_source(RunFile& run, const AddedSource& source);

}  // namespace dedloc::formats
