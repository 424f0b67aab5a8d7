// The rules of a run: a fault is reported in one sentence that begins with the field's name.
#include <catch2/catch.hpp>
#include <limits>

#include "peer/peer.hpp"

using namespace dedloc;
using namespace std::chrono_literals;

namespace {

RoundRules sound_rules() {
    RoundRules rules;
    rules.elements = 1'000;
    rules.target_batch = Samples{64};
    rules.last_step = StepIndex{10};
    return rules;
}

template <class Change>
std::string fault_after(Change change) {
    RoundRules rules = sound_rules();
    change(rules);
    return fault_of(rules).value_or("");
}

}  // namespace

TEST_CASE("the default rules are sound", "[averaging]") {
    CHECK_FALSE(fault_of(sound_rules()));
}

TEST_CASE("rules that would stop a swarm are refused with the name of the wrong field",
          "[averaging]") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    CHECK(fault_after([](auto& r) { r.elements = 0; }).starts_with("elements "));
    CHECK(fault_after([](auto& r) { r.elements = ~0ull; }).starts_with("elements "));
    CHECK(fault_after([](auto& r) { r.state_vectors = 0; }).starts_with("state_vectors "));
    CHECK(fault_after([](auto& r) { r.state_vectors = 9; }).starts_with("state_vectors "));
    CHECK(fault_after([](auto& r) { r.target_batch = Samples{0}; }).starts_with("target_batch "));
    CHECK(fault_after([](auto& r) {
              r.max_samples_per_second = 0;
          }).starts_with("max_samples_per_second "));
    CHECK(fault_after([](auto& r) {
              r.max_samples_per_second = ~0ull;
          }).starts_with("max_samples_per_second "));
    CHECK(fault_after([](auto& r) { r.max_samples_per_second = 1; }).empty());
    CHECK(fault_after([](auto& r) { r.last_step = StepIndex{~0ull}; }).starts_with("last_step "));
    CHECK(fault_after([](auto& r) { r.heartbeat = 0s; }).starts_with("heartbeat "));
    CHECK(fault_after([](auto& r) { r.failure_timeout = 1500ms; }).starts_with("failure_timeout "));
    CHECK(fault_after([](auto& r) { r.election_pause = 0s; }).starts_with("election_pause "));
    CHECK(fault_after([](auto& r) { r.join_timeout = -1s; }).starts_with("join_timeout "));
    CHECK(fault_after([](auto& r) { r.stall_timeout = 0s; }).starts_with("stall_timeout "));
    CHECK(fault_after([](auto& r) { r.round_timeout = 0s; }).starts_with("round_timeout "));
    CHECK(fault_after([](auto& r) {
              r.round_timeout_factor = 0.5;
          }).starts_with("round_timeout_factor "));
    CHECK(fault_after([&](auto& r) {
              r.round_timeout_factor = nan;
          }).starts_with("round_timeout_factor "));
    CHECK(fault_after([](auto& r) { r.leave_limit = -1ms; }).starts_with("leave_limit "));
    CHECK(fault_after([](auto& r) { r.kept_averages = 1'000; }).starts_with("kept_averages "));
}

TEST_CASE("a window holds the largest chunk and the largest leaf", "[averaging]") {
    // A link with a smaller window would carry one leaf at a time.
    CHECK(fault_after([](auto& r) { r.window_bytes = 262'143; }) ==
          "window_bytes has to be at least 262144, the largest chunk or leaf");
    CHECK(fault_after([](auto& r) { r.window_bytes = 262'144; }).empty());
}
