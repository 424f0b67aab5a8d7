// Voters on other machines as processes, each in its own folder.
#pragma once

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "peer/platform/files.hpp"
#include "project_server/backbone/appointment.hpp"
#include "project_server/backbone/ledger.hpp"
#include "project_server/backbone/voters_file.hpp"
#include "project_server/control/client.hpp"
#include "tests/project_server/backbone/backbone_processes.hpp"

namespace dedloc::backbone {

/// A voter on another machine.
struct Voter {
    Voter(const World& world, int number)
        : folder(world.root() / ("voter" + std::to_string(number))),
          file(world.root() / ("appointment" + std::to_string(number))),
          process(world.root() / ("log" + std::to_string(number))) {
        const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
        const formats::Ticket ticket{.run = formats::run_id(world.run()),
                                     .peer = key.public_key(),
                                     .job = {},
                                     .issued = now,
                                     .expires = now + 24h};
        const Appointment appointment{.run = world.run(),
                                      .key = key,
                                      .settings = {.ticket = formats::sign(ticket, world.project()),
                                                   .generation = 0,
                                                   .seeds = {world.run().dht_seeds.front().text()},
                                                   .backbone = {}}};
        platform::replace_file(file, write_appointment(appointment), 0600);
    }
    void start() {
        process.start({"--voter", file.string(), "--folder", folder.string(), "--listen",
                       "127.0.0.1:0", "--checkpoint-every", "5"});
    }
    std::filesystem::path ledger() const { return folder / "ledger"; }

    const KeyPair key = KeyPair::generate();
    const std::filesystem::path folder;
    const std::filesystem::path file;
    BackboneProcess process;
};

inline void want(const World& world, std::vector<PeerKey> keys) {
    std::ranges::sort(keys);
    WantedVoters wanted;
    for (const PeerKey& key : keys) wanted.voters.push_back({.key = key, .ticket_expires = {}});
    write_voters(world.run_folder() / "voters.json", wanted);
}

/// The head of a ledger file, without verification.
inline Head head_in(const World& world, const std::filesystem::path& file) {
    const LedgerOwner owner{formats::run_id(world.run()), world.run().backbone_key};
    if (!std::filesystem::exists(file)) return genesis(owner.run, owner.backbone);
    LedgerReader reader{file, owner};
    while (reader.next()) {
    }
    return reader.place().codec.head();
}

/// Whether the picture of a backbone has that member.
inline bool has_member(const control::Place& voter, const PeerKey& key) {
    const auto answer = control::ask(voter, {.command = control::Command::kSnapshot});
    if (answer.outcome != control::Outcome::kAnswered) return false;
    const auto& members = answer.reply.snapshot.value().members;
    return std::ranges::any_of(members, [&](const auto& seat) { return seat.key == key; });
}

template <class Condition>
bool await(Condition condition) {
    const auto deadline = std::chrono::steady_clock::now() + kTimeout;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        std::this_thread::sleep_for(50ms);
    }
    return true;
}

}  // namespace dedloc::backbone
