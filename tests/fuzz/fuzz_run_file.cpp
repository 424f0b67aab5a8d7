// Run files and the files of added sources: JSON from outside.
#include <span>
#include <string_view>

#include "peer/base/check.hpp"
#include "peer/formats/added_source.hpp"
#include "peer/formats/run_file.hpp"
#include "tests/fuzz/fuzz_target.hpp"
#include "tests/fuzz/json_values.hpp"

namespace dedloc::fuzz {

void fuzz_run_file(std::span<const std::byte> input) {
    const std::string_view json{reinterpret_cast<const char*>(input.data()), input.size()};
    (void)checked(json, formats::parse_added_source, formats::write_added_source);
    const auto run_file = checked(json, formats::parse_run_file, formats::write_run_file);
    if (!run_file) return;
    DEDLOC_CHECK(formats::element_count(*run_file) > 0, "a run has something to train");
    (void)formats::credit_per_sample(*run_file);
}

}  // namespace dedloc::fuzz
