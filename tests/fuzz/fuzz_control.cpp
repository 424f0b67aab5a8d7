// Messages of the control plane: events, commands, replies. What is accepted is written back and
// read as the same, and events change a picture within its bounds.
#include <optional>
#include <span>
#include <string_view>

#include "peer/base/check.hpp"
#include "peer/base/error.hpp"
#include "project_server/control/messages.hpp"
#include "project_server/control/picture.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace dedloc::fuzz {
namespace {

using namespace dedloc::control;

template <class Read>
auto accepted(const Read& read, std::string_view text) {
    std::optional<decltype(read(text))> message;
    try {
        message = read(text);
    } catch (const InputError&) {
        // Refused.
    }
    if (message)
        DEDLOC_CHECK(read(write(*message)) == *message, "a message is read as it was written");
    return message;
}

}  // namespace

void fuzz_control(std::span<const std::byte> input) {
    const std::string_view text{reinterpret_cast<const char*>(input.data()), input.size()};
    (void)accepted(read_request, text);
    const auto reply = accepted(read_reply, text);
    auto event = accepted(read_event, text);
    Snapshot picture = reply && reply->snapshot ? *reply->snapshot : Snapshot{};
    if (!event) return;
    event->session = picture.session;
    event->sequence = picture.sequence + 1;
    DEDLOC_CHECK(apply(picture, *event) == Applied::kChanged, "the next event changes the picture");
    DEDLOC_CHECK(picture.recent.size() <= kRecentSteps && picture.members.size() <= kMaxMembers,
                 "a picture is bounded");
}

}  // namespace dedloc::fuzz
