// Run files, and what peers and gateways say to each other: JSON from outside.
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "peer/base/check.hpp"
#include "peer/base/error.hpp"
#include "peer/formats/enrolment.hpp"
#include "peer/formats/run_file.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace dedloc::fuzz {
namespace {

template <class Value>
std::optional<Value> parsed(std::string_view json, Value (*parse)(std::string_view)) {
    try {
        return parse(json);
    } catch (const InputError&) {
        return std::nullopt;
    }
}

template <class Value>
std::optional<Value> checked(std::string_view json, Value (*parse)(std::string_view),
                             std::string (*write)(const Value&)) {
    const auto value = parsed(json, parse);
    if (value) {
        DEDLOC_CHECK(parsed(write(*value), parse) == value, "a value survives its JSON");
    }
    return value;
}

}  // namespace

void run(std::span<const std::byte> input) {
    const std::string_view json{reinterpret_cast<const char*>(input.data()), input.size()};
    checked(json, formats::parse_enrolment_request, formats::write_enrolment_request);
    checked(json, formats::parse_enrolment_reply, formats::write_enrolment_reply);
    checked(json, formats::parse_gateway_report, formats::write_gateway_report);
    (void)formats::parse_enrolment_error(json);
    const auto run_file = checked(json, formats::parse_run_file, formats::write_run_file);
    if (!run_file) return;
    DEDLOC_CHECK(formats::element_count(*run_file) > 0, "a run has something to train");
    (void)formats::credit_per_sample(*run_file);
}

}  // namespace dedloc::fuzz
