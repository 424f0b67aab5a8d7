// The shards of a run that trains a module, whatever they hold.
#pragma once

#include <filesystem>
#include <span>

#include "boinc_app/module/samples.hpp"
#include "peer/formats/run_file.hpp"

namespace dedloc::tasks {

/// Those of a job. Errors: as inputs::open_shards().
training::module::SampleShards module_shards(std::span<const std::filesystem::path> paths,
                                             const formats::RunFile& run);
/// Those that are held out, in `folder`. Errors: as inputs::open_held_out_shards().
training::module::SampleShards held_out_module_shards(const std::filesystem::path& folder,
                                                      const formats::RunFile& run);

}  // namespace dedloc::tasks
