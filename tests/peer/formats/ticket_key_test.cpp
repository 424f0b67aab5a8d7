// The key of a run that signs tickets and nothing else.
#include <catch2/catch.hpp>
#include <string>

#include "peer/base/bytes.hpp"
#include "peer/base/error.hpp"
#include "peer/formats/run_file.hpp"
#include "peer/formats/ticket.hpp"
#include "peer/membership/quorum.hpp"
#include "peer/run_config.hpp"
#include "peer/wire/types.hpp"
#include "tests/peer/wire/samples.hpp"
#include "tests/small_run.hpp"

namespace dedloc::formats {
namespace {

/// The file of a run that was created before there were ticket keys.
const std::string kOlderRun =
    R"({"version":2,"name":"demo","seed":0,"model":{"architecture":"albert","vocabulary":100,)"
    R"("embedding":8,"hidden":8,"layers":1,"heads":2,"ffn":8,"positions":16},)"
    R"("sequence_length":16,"target_batch":40,"steps":100,"optimizer":{"name":"lamb",)"
    R"("learning_rate":0.01,"warmup_steps":0,"beta1":0.9,"beta2":0.999,"epsilon":0.000001,)"
    R"("weight_decay":0.01,"clip_norm":1.0},"flops_per_sample":1000000.0,"project_key":)"
    R"("0101010101010101010101010101010101010101010101010101010101010101","backbone_key":)"
    R"("0202020202020202020202020202020202020202020202020202020202020202","encryption":"on",)"
    R"("dht_seeds":["127.0.0.1:7881"],"shards":[{"name":"shard_a","digest":)"
    R"("0000000000000000000000000000000000000000000000000000000000000000","bytes":5}],)"
    R"("special_tokens":{"pad":0,"unknown":1,"cls":2,"sep":3,"mask":4},"tensors":)"
    R"([{"name":"x","shape":[3,5],"init":"zero","decay":false}]})";

const KeyPair kProjectKey = tests::test_key(9);
const KeyPair kTicketKey = tests::test_key(8);

RunFile run_with_ticket_key() {
    RunFile run = tests::small_run();
    run.project_key = kProjectKey.public_key();
    run.ticket_key = kTicketKey.public_key();
    return run;
}

/// The run file with another text for its ticket key.
std::string with_ticket_key(const std::string& value) {
    std::string json = write_run_file(run_with_ticket_key());
    const std::string quoted = '"' + kTicketKey.public_key().hex() + '"';
    return json.replace(json.find(quoted), quoted.size(), value);
}

}  // namespace

TEST_CASE("a run file without a ticket key keeps its bytes and its id", "[wire]") {
    const RunFile run = parse_run_file(kOlderRun);
    CHECK_FALSE(run.ticket_key);
    CHECK(write_run_file(run) == kOlderRun);
    CHECK(run_id(run).bytes == blake2b(bytes_of(kOlderRun)).bytes);
}

TEST_CASE("a run file names its ticket key", "[wire]") {
    const RunFile run = run_with_ticket_key();
    const std::string json = write_run_file(run);
    CHECK(json.find("\",\"ticket_key\":\"" + kTicketKey.public_key().hex() +
                    "\",\"backbone_key\"") != std::string::npos);
    CHECK(parse_run_file(json) == run);
    RunFile without = run;
    without.ticket_key.reset();
    CHECK(run_id(without) != run_id(run));
}

TEST_CASE("a damaged ticket key is refused in one sentence", "[wire]") {
    const std::string hex = kTicketKey.public_key().hex();
    const std::string field = "run file: field 'ticket_key' ";
    for (const std::string& bad :
         {std::string{"\"\""}, '"' + hex.substr(1) + '"', "\"x" + hex.substr(1) + '"',
          '"' + hex + "00\"", std::string{"7"}, std::string{"null"}}) {
        INFO(bad);
        CHECK_THROWS_WITH(parse_run_file(with_ticket_key(bad)), Catch::StartsWith(field));
    }
    CHECK_THROWS_WITH(parse_run_file(with_ticket_key('"' + kProjectKey.public_key().hex() + '"')),
                      Catch::Equals(field + "must be another key than the project's"));
}

TEST_CASE("both keys of a run sign its tickets, and no other key does", "[wire]") {
    const RunFile run = run_with_ticket_key();
    RunFile older = run;
    older.ticket_key.reset();
    const Ticket ticket = tests::test_ticket(1);
    CHECK(is_signed_for(run, sign(ticket, kProjectKey)));
    CHECK(is_signed_for(run, sign(ticket, kTicketKey)));
    CHECK_FALSE(is_signed_for(run, sign(ticket, tests::test_key(7))));
    CHECK(is_signed_for(older, sign(ticket, kProjectKey)));
    CHECK_FALSE(is_signed_for(older, sign(ticket, kTicketKey)));
    SignedTicket changed = sign(ticket, kTicketKey);
    changed.ticket.job.user += 1;
    CHECK_FALSE(is_signed_for(run, changed));
}

TEST_CASE("the ticket key signs no generation, no pause and no revocation", "[wire]") {
    const RunFile run = run_with_ticket_key();
    const PeerConfig config = peer_config(run);
    const auto is_generation = [&](const KeyPair& signer) {
        SignedGeneration generation{
            .record = {.generation = 5, .step = StepIndex{7}, .state = {}, .voters = {}}};
        generation.signature = signer.sign(dedloc::digest_of(config.run, generation.record).bytes);
        return membership::is_signed(config.run, config.project, generation);
    };
    CHECK(is_generation(kProjectKey));
    CHECK_FALSE(is_generation(kTicketKey));
    const auto is_pause = [&](const KeyPair& signer) {
        return is_signed(config.run, config.project, sign_pause(config.run, 1, signer));
    };
    CHECK(is_pause(kProjectKey));
    CHECK_FALSE(is_pause(kTicketKey));
    CHECK(is_signed_by(config.project, sign(Revocations{}, kProjectKey)));
    CHECK_FALSE(is_signed_by(config.project, sign(Revocations{}, kTicketKey)));
}

}  // namespace dedloc::formats
