// Enrolments and reports at the gateway's real door: odd values in JSON and in the query; the
// ticket of another peer, who asks after it, is issued and stored as always.
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>

#include "peer/base/check.hpp"
#include "peer/formats/enrolment.hpp"
#include "tests/fuzz/door_world.hpp"
#include "tests/fuzz/fuzz_target.hpp"

namespace dedloc::fuzz {
namespace {

constexpr std::size_t kMaxQuestionChanges = 3;

const KeyPair& key_of(bool is_honest) {
    static const KeyPair honest = KeyPair::generate();
    static const KeyPair odd = KeyPair::generate();
    return is_honest ? honest : odd;
}

Fields enrolment_of(const Person& person, const PeerKey& key) {
    return {{"authenticator", json_string(person.key)},
            {"host", std::to_string(person.host)},
            {"result", json_string(person.result)},
            {"key", json_string(key.hex())},
            {"port", "0"}};
}

std::int64_t tickets_of(DoorProject& project, const Person& person) {
    return project.database()
        .query_one("select count(*) as n from dedloc_ticket where userid = ?", {person.user})
        ->integer("n");
}

std::string send_odd_question(DoorProject& project, Recipe& recipe) {
    const Person& odd = project.odd();
    HttpRequest request{.target = "/dedloc/enrol",
                        .address = "127.0.0.1",  // where a port that is dialled answers at once
                        .type = "application/json"};
    if (recipe.choose(4) == 0) {
        Fields query{{"port", "0"}};
        make_odd(query, recipe, project.known_values());
        request.method = "GET";
        request.target = "/dedloc/report?" + form_text(query).substr(0, 4'000);
        project.gateway(request);
        return request.target;
    }
    Fields fields = enrolment_of(odd, key_of(recipe.choose(2) == 0).public_key());
    for (std::size_t left = recipe.choose(kMaxQuestionChanges + 1); left > 0; --left) {
        make_odd_json(fields, recipe, project.known_values());
    }
    request.body = json_text(fields);
    if (recipe.choose(8) == 0)
        request.body.insert(recipe.choose(200) % request.body.size(),
                            recipe.value(project.known_values()));
    const std::int64_t before = tickets_of(project, odd);
    const Answer answer = project.gateway(request);
    const bool is_issued = answer.status == 200;
    DEDLOC_CHECK(!is_issued || tickets_of(project, odd) >= std::max<std::int64_t>(before, 1),
                 "a ticket that was issued is stored", request.body, answer.body);
    return request.body;
}

}  // namespace

void fuzz_door_gateway(std::span<const std::byte> input) {
    Recipe recipe{input};
    DoorProject& project = send_odd_requests(recipe, send_odd_question);
    const Person& honest = project.honest();
    const Answer answer =
        project.gateway({.target = "/dedloc/enrol",
                         .body = json_text(enrolment_of(honest, KeyPair::generate().public_key())),
                         .address = honest.address,
                         .type = "application/json"});
    DEDLOC_CHECK(answer.status == 200, "an honest peer gets its ticket", answer.body);
    const auto reply = formats::parse_enrolment_reply(answer.body);
    DEDLOC_CHECK(reply.ticket.ticket.job.user == static_cast<std::uint64_t>(honest.user),
                 "the ticket is for its own account", answer.body);
    DEDLOC_CHECK(tickets_of(project, honest) == 1, "its ticket is stored", answer.body);
}

}  // namespace dedloc::fuzz
