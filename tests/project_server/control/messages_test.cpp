#include <catch2/catch.hpp>
#include <limits>

#include "peer/base/error.hpp"
#include "project_server/control/messages.hpp"
#include "project_server/control/picture.hpp"
#include "tests/project_server/control/samples.hpp"

using namespace dedloc;
using namespace dedloc::control;

namespace {

Snapshot empty_picture(std::uint64_t session) {
    Snapshot picture;
    picture.session = session;
    picture.run = "first";
    return picture;
}

}  // namespace

TEST_CASE("every message is read as it was written", "[server]") {
    for (const Event& event : sample_events()) CHECK(read_event(write(event)) == event);
    const Revocation named{.users = {1, 2}, .hosts = {3}, .keys = {key(4)}, .voters = {key(5)}};
    for (const Command command : {Command::kSnapshot, Command::kPause, Command::kResume,
                                  Command::kCheckpoint, Command::kReadVoters}) {
        const Request request{.command = command};
        CHECK(read_request(write(request)) == request);
    }
    for (const Command command : {Command::kRevoke, Command::kForgive}) {
        const Request request{.command = command, .revocation = named};
        CHECK(read_request(write(request)) == request);
    }
    for (const Command command : {Command::kPause, Command::kResume}) {
        Request request{.command = command, .pause = SignedPause{.count = 7}};
        request.pause->signature.fill(std::byte{0xA5});
        CHECK(read_request(write(request)) == request);
    }
    for (const auto from : {std::optional<std::uint64_t>{}, std::optional<std::uint64_t>{900}}) {
        const Request request{.command = Command::kMix,
                              .mix = {.weights = {230'000, 770'000}, .from = from}};
        CHECK(read_request(write(request)) == request);
    }
    const Request addition{.command = Command::kAddSource,
                           .source = blake2b(bytes_of(std::string_view{"source"}))};
    CHECK(read_request(write(addition)) == addition);
    CHECK_THROWS_AS(read_request(R"({"version": 1, "command": "add_source", "source": "12"})"),
                    InputError);
    for (const char* wrong : {"[]", "[-1]", "[1.5]", "[1000001]", "7"}) {
        const std::string text =
            std::string{R"({"version": 1, "command": "mix", "weights": )"} + wrong + "}";
        CHECK_THROWS_AS(read_request(text), InputError);
    }
    Reply reply{.is_done = true, .note = "done", .step = 7, .snapshot = sample_snapshot()};
    CHECK(read_reply(write(reply)) == reply);
    reply = {.is_done = false, .note = "no"};
    CHECK(read_reply(write(reply)) == reply);
}

TEST_CASE("texts and numbers that a reader would refuse are written as others", "[server]") {
    const Reply reply = read_reply(
        write(Reply{.is_done = false, .note = std::string{"a\nb\xff"} + std::string(2'000, 'x')}));
    CHECK(reply.note.substr(0, 4) == "a?b?");
    CHECK(reply.note.size() == kMaxTextBytes);
    CHECK(read_reply(write(Reply{.is_done = true, .note = ""})).note == "-");
    for (const double loss :
         {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
        const Event event{.session = 1,
                          .sequence = 1,
                          .time = 2,
                          .what = StepCommitted{{.step = 1, .loss = loss, .digest = {}}}};
        CHECK(std::get<StepCommitted>(read_event(write(event)).what).step.loss == 1e30);
    }
}

TEST_CASE("messages that are not of this format are refused in one sentence", "[server]") {
    const auto refuses = [](auto read, const char* text) {
        try {
            (void)read(text);
            return false;
        } catch (const InputError&) {
            return true;
        }
    };
    for (const char* const text :
         {"", "null", "{}", R"({"version":2,"command":"pause"})", R"({"version":1,"command":"x"})",
          R"({"version":1,"command":"pause","more":1})",
          R"({"version":1,"command":"pause","command":"pause"})",
          R"({"version":1,"command":"revoke","users":[-1],"hosts":[],"keys":[],"voters":[]})",
          R"({"version":1,"command":"revoke","users":[],"hosts":[],"keys":["0a"],"voters":[]})",
          R"({"version":1,"command":"revoke","users":[],"hosts":[]})"}) {
        INFO(text);
        CHECK(refuses(read_request, text));
    }
    for (const char* const text :
         {R"({"version":1,"session":1,"sequence":0,"time":1,"event":"void","step":1})",
          R"({"version":1,"session":1,"sequence":1,"time":1,"event":"?","step":1})",
          R"({"version":1,"session":1,"sequence":1,"time":1,"event":"state","state":"dead"})"}) {
        INFO(text);
        CHECK(refuses(read_event, text));
    }
}

TEST_CASE("a picture follows the events, and sees that one is missing", "[server]") {
    Snapshot picture = empty_picture(5);
    Snapshot other = picture;
    std::uint64_t sequence = 0;
    for (Event event : sample_events()) {
        event.session = 5;
        event.sequence = ++sequence;
        CHECK(apply(picture, event) == Applied::kChanged);
        CHECK(apply(picture, event) == Applied::kOld);
        if (sequence == 1) continue;
        CHECK(apply(other, event) == Applied::kGap);
        event.session = 6;
        CHECK(apply(picture, event) == Applied::kGap);
    }
    CHECK(other == empty_picture(5));
    CHECK(picture.sequence == sequence);
}

TEST_CASE("a picture stays bounded", "[server]") {
    Snapshot picture = empty_picture(1);
    std::uint64_t sequence = 0;
    const auto happen = [&](Happening what) {
        (void)apply(picture, {.session = 1, .sequence = ++sequence, .time = 0, .what = what});
    };
    for (std::uint64_t step = 1; step <= 2 * kRecentSteps; ++step) {
        happen(StepCommitted{{.step = step, .digest = {}}});
    }
    CHECK(picture.recent.size() == kRecentSteps);
    CHECK(picture.recent.back().step == 2 * kRecentSteps);
    // A step that is repeated after a new generation replaces the void ones.
    happen(StepCommitted{{.step = 2 * kRecentSteps - 3, .digest = {}}});
    CHECK(picture.recent.back().step == 2 * kRecentSteps - 3);
    for (std::uint64_t i = 0; i < kMaxMembers + 10; ++i) {
        happen(MemberJoined{{.key = key(i)}});
    }
    CHECK(picture.members.size() == kMaxMembers);
    const Reply reply{.is_done = true, .note = "all", .step = {}, .snapshot = picture};
    CHECK(write(reply).size() < kMaxMessageBytes);
    CHECK(read_reply(write(reply)) == reply);
}
