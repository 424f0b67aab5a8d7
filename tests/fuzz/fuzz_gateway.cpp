// What peers and the project's gateway say to each other (JSON), and the GPUs that a BOINC client
// has reported, as the gateway reads them.
#include <algorithm>
#include <span>
#include <string_view>

#include "peer/base/check.hpp"
#include "peer/formats/enrolment.hpp"
#include "project_server/gateway/compute_bound.hpp"
#include "tests/fuzz/fuzz_target.hpp"
#include "tests/fuzz/json_values.hpp"

namespace dedloc::fuzz {
namespace {

void check_error(std::string_view json) {
    const std::string sentence = formats::parse_enrolment_error(json);
    DEDLOC_CHECK(std::ranges::none_of(sentence, [](char c) { return c >= 0 && c < 0x20; }),
                 "a sentence has no control characters");
    if (sentence.empty()) return;
    const std::string again = formats::write_enrolment_error(sentence);
    // Escapes may make it longer than a reply may be.
    if (again.size() > formats::kMaxEnrolmentBytes) return;
    DEDLOC_CHECK(formats::parse_enrolment_error(again) == sentence, "a sentence survives its JSON");
}

void check_bound(std::string_view coprocessors) {
    const auto bound = [&](std::string_view reported) {
        return gateway::max_samples_per_second(
            {.cores = 4, .core_flops = 4e9, .coprocessors = reported, .gpus = 0}, {},
            {.full = 1e12, .min = 1e12});
    };
    constexpr std::uint64_t kOfOneGpu = 1'332;
    DEDLOC_CHECK(bound(coprocessors) >= bound(""), "a GPU makes no computer slower", coprocessors);
    DEDLOC_CHECK(bound(coprocessors) <= kOfOneGpu, "a job computes on one", coprocessors);
}

}  // namespace

void fuzz_gateway(std::span<const std::byte> input) {
    const std::string_view text{reinterpret_cast<const char*>(input.data()), input.size()};
    checked(text, formats::parse_enrolment_request, formats::write_enrolment_request);
    checked(text, formats::parse_enrolment_reply, formats::write_enrolment_reply);
    checked(text, formats::parse_gateway_report, formats::write_gateway_report);
    checked(text, formats::parse_arrival, formats::write_arrival);
    check_error(text);
    check_bound(text);
}

}  // namespace dedloc::fuzz
