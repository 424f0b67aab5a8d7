// `dedloc corpus build --images` and `dedloc corpus show`.
#pragma once

#include <memory>

#include "project_server/pictures/build_pictures.hpp"

namespace CLI {
class App;
}

namespace dedloc::cli {

/// Adds the options of `corpus build` that are for pictures only. `images` is empty unless
/// --images is given.
std::shared_ptr<pictures::PictureBuildOptions> add_picture_options(CLI::App& build);

/// Builds and prints a summary. Errors: as pictures::build_pictures().
void build_corpus_of_pictures(const pictures::PictureBuildOptions& options, bool as_json);

/// Adds `corpus show`; `corpus` is the subcommand `dedloc corpus`.
void add_corpus_show(CLI::App& corpus);

}  // namespace dedloc::cli
