// A state of a run with a decision that leads to it, signed by the run's keys.
#pragma once

#include <memory>

#include "boinc_app/seat/saved_state.hpp"
#include "peer/base/random.hpp"
#include "peer/state/model_state.hpp"
#include "tests/boinc_app/tiny_world.hpp"

namespace dedloc::test {

/// The keys of a run, which sign its decisions.
struct DecidedRun {
    DecidedRun() {
        run.project_key = project.public_key();
        run.backbone_key = backbone.public_key();
    }

    /// The place of the state `step` in a generation; 0: the first one, without a record.
    seat::StatePlace place(StepIndex step, std::uint64_t generation = 0,
                           const KeyPair* voter = nullptr) const {
        const RunId id = formats::run_id(run);
        seat::StatePlace place;
        if (generation > 0) {
            place.generation = SignedGeneration{
                .record = {generation, StepIndex{1}, {}, {backbone.public_key()}}, .signature = {}};
            place.generation->signature =
                project.sign(digest_of(id, place.generation->record).bytes);
        }
        CommitRecord& record = place.decision.record;
        record.generation = generation;
        record.step = StepIndex{step.value() - 1};
        record.members = {{.peer = backbone.public_key(), .samples = Samples{4}, .loss_sum = 1}};
        record.members.front().reduced = 1;
        const KeyPair& signer = voter != nullptr ? *voter : backbone;
        Certificate& certificate = place.decision.certificate;
        certificate.term = {1, backbone.public_key()};
        certificate.votes = {{backbone.public_key(),
                              signer.sign(vote_bytes(id, certificate.term, digest_of(record)))}};
        return place;
    }

    /// A state with random bytes.
    seat::CopiedState state(StepIndex step, std::uint64_t seed = 1) const {
        const std::uint32_t vectors = formats::state_vectors(run.optimizer.name);
        const std::uint64_t elements = formats::element_count(run);
        auto bytes = std::make_shared<Buffer>(vectors * elements * sizeof(float));
        Random random{seed};
        for (std::byte& byte : *bytes) byte = static_cast<std::byte>(random.next());
        return {.head = {.step = step,
                         .digest = state::state_digest(step, *bytes),
                         .elements = elements,
                         .vectors = vectors},
                .bytes = bytes};
    }

    /// The same state, as a trainer gives it to be saved.
    static seat::StateToSave to_save(const seat::CopiedState& state) {
        return {.head = state.head, .bytes = stable_bytes(state.bytes)};
    }

    KeyPair project = KeyPair::generate();
    KeyPair backbone = KeyPair::generate();
    formats::RunFile run = tiny_run();
};

}  // namespace dedloc::test
