#include "boinc_app/inputs/module_file.hpp"

#include <fmt/format.h>

#include "boinc_app/inputs/damaged_input.hpp"
#include "peer/platform/mapped_file.hpp"

namespace dedloc::inputs {

ModuleFile open_module(const std::filesystem::path& path, const formats::ModuleSpec& model) {
    const auto file = std::make_shared<const platform::MappedFile>(path);
    const bool is_whole = file->bytes().size() == model.bytes;
    if (!is_whole || blake2b(file->bytes()) != model.digest) {
        const char* const clause = is_whole ? "altered" : "cut off or another file";
        throw DamagedInput{fmt::format("{} is not the run's module {}: it is {}", path.string(),
                                       model.name, clause),
                           path};
    }
    return {.bytes = file->bytes(), .owner = file};
}

}  // namespace dedloc::inputs
