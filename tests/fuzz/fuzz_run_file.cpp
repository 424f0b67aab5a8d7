// Run files: JSON from outside.
#include <span>
#include <string_view>

#include "peer/base/check.hpp"
#include "peer/base/error.hpp"
#include "peer/wire/run_file.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace dedloc::fuzz {
namespace {

std::optional<wire::RunFile> parsed(std::string_view json) {
    try {
        return wire::parse_run_file(json);
    } catch (const InputError&) {
        return std::nullopt;
    }
}

}  // namespace

void run(std::span<const std::byte> input) {
    const auto run_file = parsed({reinterpret_cast<const char*>(input.data()), input.size()});
    if (!run_file) return;
    const auto again = parsed(wire::write_run_file(*run_file));
    DEDLOC_CHECK(again == run_file, "a run file survives its canonical form");
    DEDLOC_CHECK(wire::element_count(*run_file) > 0, "a run has something to train");
    (void)wire::credit_per_sample(*run_file);
}

}  // namespace dedloc::fuzz
