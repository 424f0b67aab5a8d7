// Makes the input template of a job for any number of shards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace dedloc::work {

/// `one_shard` is templates/dedloc_train_in, which describes the run file and one shard. Returns
/// the template for `shards` shards, the files of `sources` added sources, and the module that the
/// run trains if it does: repeats the last file_info and the last file_ref, with the open names
/// shard_1, shard_2 …, source_0, source_1 … and module.
/// Requires shards ≥ 1. Errors: InputError if the template has another form.
std::string input_template_for(std::string_view one_shard, std::size_t shards, std::size_t sources,
                               bool has_module);

/// `receipt_only` is templates/dedloc_train_out, or what an administrator has made of it. Returns
/// the output template of a job that may also upload its state while it runs: an optional output
/// file `checkpoint` of at most `max_bytes`, which BOINC's file_deleter leaves alone
/// (project_server/official/uploads.hpp). Errors: InputError if the template has another form.
std::string output_template_for(std::string_view receipt_only, std::uint64_t max_bytes);

}  // namespace dedloc::work
