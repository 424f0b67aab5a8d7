// A run of a project that appoints voters.
#pragma once

#include <chrono>
#include <utility>

#include "peer/formats/run_file.hpp"
#include "peer/formats/ticket.hpp"
#include "project_server/backbone/appointment.hpp"
#include "tests/small_run.hpp"

namespace dedloc::backbone {

class Appointer {
  public:
    explicit Appointer(std::uint64_t seed = 1) {
        run = tests::small_run();
        run.seed = seed;
        run.project_key = project.public_key();
        run.backbone_key = backbone.public_key();
        run.dht_seeds = {{.host = "127.0.0.1", .port = 7}};
    }

    Appointment appoint(const KeyPair& key, std::uint64_t generation) const {
        const formats::UtcSeconds now{std::chrono::seconds{1'800'000'000}};
        const formats::Ticket ticket{.run = formats::run_id(run),
                                     .peer = key.public_key(),
                                     .job = {},
                                     .issued = now,
                                     .expires = now + std::chrono::hours{24 * 400}};
        return {.run = run,
                .key = key,
                .settings = {.ticket = formats::sign(ticket, project),
                             .generation = generation,
                             .seeds = {"127.0.0.1:7", "seed.example:8"},
                             .backbone = "192.0.2.1:9"}};
    }

    const KeyPair project = KeyPair::generate();
    const KeyPair backbone = KeyPair::generate();
    formats::RunFile run;
};

}  // namespace dedloc::backbone
