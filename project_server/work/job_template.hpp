// The input template of a job, for any number of shards.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dedloc::work {

/// templates/dedloc_train_in describes the run file and one shard. Returns it with as many shards
/// as the run has: the last file_info and the last file_ref are repeated, with the open names
/// shard_1, shard_2 … Requires shards ≥ 1. Errors: InputError when the template is not of that
/// form.
std::string input_template_for(std::string_view one_shard, std::size_t shards);

}  // namespace dedloc::work
