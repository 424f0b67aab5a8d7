// The file of the module that a run trains, used in place.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

#include "peer/formats/module_spec.hpp"

namespace dedloc::inputs {

/// A mapped file.
struct ModuleFile {
    std::span<const std::byte> bytes;   ///< the whole file
    std::shared_ptr<const void> owner;  ///< keeps them mapped
};

/// Maps a module and checks it against the run file: size and digest.
///
/// Errors  DamagedInput with one sentence that names the file: it is cut off or altered;
///         InputError if it is missing; IoError
ModuleFile open_module(const std::filesystem::path& path, const formats::ModuleSpec& model);

}  // namespace dedloc::inputs
