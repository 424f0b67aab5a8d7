#include "peer/formats/enrolment.hpp"

#include <catch2/catch.hpp>

#include "peer/base/error.hpp"

namespace dedloc::formats {
namespace {

EnrolmentRequest some_request() {
    return {.authenticator = "0123456789abcdef",
            .host = 17,
            .result = "run_12_0",
            .key = KeyPair::generate().public_key(),
            .port = 40'000};
}

EnrolmentReply some_reply() {
    const KeyPair project = KeyPair::generate();
    const UtcSeconds now{std::chrono::seconds{1'800'000'000}};
    EnrolmentReply reply;
    reply.ticket = sign({.run = {},
                         .peer = KeyPair::generate().public_key(),
                         .job = {.user = 1, .host = 2, .result = 3},
                         .max_samples_per_second = 4,
                         .issued = now,
                         .expires = now + std::chrono::hours{24}},
                        project);
    reply.revoked = sign({.users = {5}, .hosts = {6, 7}, .peers = {}}, project);
    reply.address = "192.0.2.7";
    reply.is_reachable = true;
    reply.upload = Bandwidth{1'250'000};
    reply.download = Bandwidth{wire::kMaxBytesPerSecond};
    return reply;
}

TEST_CASE("a gateway asks for a state in a field that it writes only then", "[gateway]") {
    EnrolmentReply reply = some_reply();
    CHECK(write_enrolment_reply(reply).find("wants_checkpoint") == std::string::npos);
    CHECK_FALSE(parse_enrolment_reply(write_enrolment_reply(reply)).wants_checkpoint);
    reply.wants_checkpoint = true;
    CHECK(parse_enrolment_reply(write_enrolment_reply(reply)) == reply);
    std::string text = write_enrolment_reply(reply);
    text.replace(text.find("true", text.find("wants_checkpoint")), 4, "\"no\"");
    CHECK_THROWS_AS(parse_enrolment_reply(text), InputError);
}

TEST_CASE("all documents of an enrolment read back equal", "[wire]") {
    const EnrolmentRequest request = some_request();
    CHECK(parse_enrolment_request(write_enrolment_request(request)) == request);
    const EnrolmentReply reply = some_reply();
    CHECK(parse_enrolment_reply(write_enrolment_reply(reply)) == reply);
    const GatewayReport report{.project = "A \"project\"",
                               .now = UtcSeconds{std::chrono::seconds{1'800'000'000}},
                               .address = "192.0.2.7",
                               .is_reachable = true,
                               .dht_seeds = {"192.0.2.1:7000", "[2001:db8::1]:7000"}};
    CHECK(parse_gateway_report(write_gateway_report(report)) == report);
    CHECK_THROWS_AS(parse_gateway_report(write_enrolment_reply(reply)), InputError);
    CHECK(parse_enrolment_error(write_enrolment_error("the job \"x\" is over")) ==
          "the job \"x\" is over");
}

TEST_CASE("a reply may lack bandwidths and may have unknown fields", "[wire]") {
    EnrolmentReply reply = some_reply();
    reply.upload = reply.download = std::nullopt;
    const std::string json = write_enrolment_reply(reply);
    CHECK(json.find("bytes_per_second") == std::string::npos);
    CHECK(parse_enrolment_reply(json) == reply);
    const auto with = [&](const std::string& field) {
        return json.substr(0, json.size() - 1) + "," + field + "}";
    };
    CHECK(parse_enrolment_reply(with(R"("from_tomorrow": {"a": [1]})")) == reply);
    reply.upload = Bandwidth{7};
    CHECK(parse_enrolment_reply(with(R"("upload_bytes_per_second": 7)")) == reply);
    for (const std::string wrong : {"-1", "1.5", "\"fast\"", "null", "1125899906842625"}) {
        CHECK_THROWS_AS(parse_enrolment_reply(with("\"download_bytes_per_second\": " + wrong)),
                        InputError);
    }
}

TEST_CASE("an enrolment that is cut off or has wrong fields is refused", "[wire]") {
    const std::string request = write_enrolment_request(some_request());
    const std::string reply = write_enrolment_reply(some_reply());
    for (std::size_t length = 0; length < request.size(); ++length) {
        CHECK_THROWS_AS(parse_enrolment_request(request.substr(0, length)), InputError);
    }
    for (std::size_t length = 0; length < reply.size(); ++length) {
        CHECK_THROWS_AS(parse_enrolment_reply(reply.substr(0, length)), InputError);
        CHECK(parse_enrolment_error(reply.substr(0, length)).empty());
    }
    CHECK_THROWS_AS(parse_enrolment_request(reply), InputError);
    CHECK_THROWS_AS(parse_enrolment_reply(request), InputError);
    CHECK(is_enrolment_refusal(write_enrolment_refusal("the job is over")));
    CHECK_FALSE(is_enrolment_full(write_enrolment_refusal("the job is over")));
    const std::string full = write_enrolment_full("no seat");
    CHECK(full == R"({"error":"no seat","full":true})");  // older peers ask again
    CHECK(is_enrolment_full(full));
    CHECK_FALSE(is_enrolment_refusal(full));
    CHECK(parse_enrolment_error(full) == "no seat");
    CHECK(parse_enrolment_error(write_enrolment_refusal("the job is over")) == "the job is over");
    for (const std::string& other :
         {write_enrolment_error("the job is over"), std::string{}, std::string{"null"},
          std::string{R"({"refused":true})"}, std::string{R"({"error":"x","refused":1})"},
          std::string{R"({"error":"x","refused":false})"}}) {
        INFO(other);
        CHECK_FALSE(is_enrolment_refusal(other));
    }
    CHECK(parse_enrolment_error("{\"error\": \"a\\u001b[2J\"}").empty());
}

}  // namespace
}  // namespace dedloc::formats
