// A project's folder with one run in it that has trained some steps: real states, checkpoints and a
// ledger with real signatures, without a database or a swarm.
#pragma once

#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "peer/base/random.hpp"
#include "peer/formats/task.hpp"
#include "peer/membership/quorum.hpp"
#include "peer/platform/files.hpp"
#include "peer/state/run_state.hpp"
#include "project_server/backbone/checkpoint.hpp"
#include "project_server/backbone/ledger.hpp"
#include "project_server/corpus/tokenizer.hpp"
#include "project_server/settings.hpp"
#include "tests/temporary_directory.hpp"

namespace dedloc::runs {

/// The tokenizer of a small text, with 100 pieces.
inline const std::string& small_tokenizer() {
    static const std::string model = [] {
        std::vector<std::string> sentences;
        for (int day = 1; day <= 400; ++day) {
            sentences.push_back("It was day " + std::to_string(day) + ".");
            sentences.push_back("The people of town " + std::to_string(day % 7) + " went home.");
        }
        return corpus::train_tokenizer(sentences, 100);
    }();
    return model;
}

class StoredRun {
  public:
    explicit StoredRun(std::uint64_t width = 16, std::size_t keep = 3,
                       std::optional<Digest> initial_state = {})
        : StoredRun(formats::AlbertSpec{.vocabulary = 100,
                                        .embedding = 8,
                                        .hidden = width,
                                        .layers = 2,
                                        .heads = 2,
                                        .ffn = 2 * width,
                                        .positions = 16},
                    keep, initial_state) {}
    explicit StoredRun(const formats::ModelSpec& model, std::size_t keep = 3,
                       std::optional<Digest> initial_state = {},
                       const std::vector<formats::SourceSpec>& sources = {})
        : run_(make_run(model, initial_state, sources)),
          id_(formats::run_id(run_)),
          state_(state::tensor_ranges(run_), state::optimizer_settings(run_)),
          head_(genesis(id_, backbone_.public_key())),
          folder_(make_folder()),
          ledger_(folder_ / "ledger", {id_, backbone_.public_key()}),
          store_(folder_ / "checkpoints", id_, keep) {
        state_.initialise(state::initial_parameters(run_));
    }

    const std::filesystem::path& project() const { return project_.path(); }
    const std::filesystem::path& folder() const { return folder_; }
    const formats::RunFile& run() const { return run_; }
    const state::ModelState& state() const { return state_; }

    /// One step of two members, of which one differs each time; `voter` signs it. `added`: sources
    /// that were added in mid-run and the jobs of the members have, in the order of their keys.
    void step(const KeyPair& voter, const std::optional<Digest>& mixture = {},
              std::array<std::uint8_t, 2> added = {}) {
        CommitRecord record;
        record.mixture = mixture;
        record.step = head_.step;
        record.previous_record = head_.record;
        record.previous_state = state_.digest();
        record.scalars = state::update_scalars(state::optimizer_settings(run_), head_.step);
        std::vector<PeerKey> members{volunteer_.public_key(), KeyPair::generate().public_key()};
        std::ranges::sort(members);
        for (const PeerKey& member : members) {
            record.members.push_back({.peer = member, .samples = Samples{20}, .loss_sum = 90});
        }
        for (std::size_t i = 0; i < added.size(); ++i) record.members[i].added = added[i];
        record.members.front().reduced = state_.element_count();
        Certificate certificate{.term = {1, voter.public_key()}, .votes = {}};
        const auto bytes = vote_bytes(id_, certificate.term, digest_of(record));
        certificate.votes.push_back({backbone_.public_key(), voter.sign(bytes)});
        ledger_.append(backbone::LedgerCommit{
            .committed_at = {}, .took = {}, .decision = {record, certificate}});
        FloatVector average(state_.element_count());
        for (float& x : average) x = static_cast<float>(random_.near_normal());
        state_.apply(average, record.scalars);
        head_ = membership::head_after(head_, record);
    }
    void step() { step(backbone_); }

    /// The voter signs the state that the ledger leads to.
    void certify(const Digest& state, const KeyPair& voter) {
        StateCertificate certificate{.generation = head_.generation,
                                     .step = head_.step,
                                     .record = head_.record,
                                     .state = state,
                                     .votes = {}};
        certificate.votes.push_back(
            {backbone_.public_key(), voter.sign(state_vote_bytes(id_, certificate))});
        ledger_.append(certificate);
    }
    const KeyPair& voter() const { return backbone_; }
    const KeyPair& project_key() const { return project_key_; }

    /// The project goes back to this state. Call step() no more.
    void go_back(StepIndex step, const Digest& state) {
        SignedGeneration generation{.record = {1, step, state, {backbone_.public_key()}},
                                    .signature = {}};
        generation.signature = project_key_.sign(digest_of(id_, generation.record).bytes);
        ledger_.append(generation);
        head_ = membership::head_after(id_, generation.record);
    }

    /// Writes the present state as a checkpoint.
    std::filesystem::path save() {
        return store_.save(
            {.step = state_.step(), .digest = state_.digest(), .elements = state_.element_count()},
            state_.bytes());
    }

  private:
    formats::RunFile make_run(const formats::ModelSpec& model, std::optional<Digest> initial_state,
                              const std::vector<formats::SourceSpec>& sources) const {
        formats::RunFile run;
        run.sources = sources;
        for (std::uint32_t i = 0; i < sources.size(); ++i) {
            const std::string name = "shard" + std::to_string(i);
            run.shards.push_back(
                {.name = name, .digest = blake2b(bytes_of(name)), .bytes = 1'000, .source = i});
        }
        run.initial_state = initial_state;
        run.name = "small";
        run.seed = 42;
        run.model = model;
        if (formats::holds_text(run)) {
            run.sequence_length = 16;
        } else {
            run.special_tokens = {};
        }
        run.target_batch = 40;
        run.steps = 1'000;
        run.optimizer.learning_rate = 0.01;
        run.flops_per_sample = 1e6;
        run.project_key = project_key_.public_key();
        run.backbone_key = backbone_.public_key();
        if (std::holds_alternative<formats::ModuleSpec>(model)) {
            run.tensors = {{.name = "head.weight",
                            .shape = {4, 16},
                            .initial = formats::Initial::kNormal,
                            .deviation = 0.1,
                            .decays = true}};
        }
        run.tensors = formats::tensors_of(run);
        return run;
    }
    std::filesystem::path make_folder() const {
        server::write_settings(project_.path(), {.name = "p",
                                                 .url = "http://127.0.0.1:1/",
                                                 .listen = {{"127.0.0.1", 1}},
                                                 .peer_listen = "127.0.0.1",
                                                 .server_port = 2,
                                                 .gateway_port = 3,
                                                 .database_port = 4});
        const auto folder = std::filesystem::canonical(project_.path()) / "runs/small";
        std::filesystem::create_directories(folder);
        platform::replace_file(folder / "run.json", formats::write_run_file(run_));
        platform::replace_file(folder / "tokenizer.model", small_tokenizer());
        return folder;
    }

    const TemporaryDirectory project_;
    const KeyPair project_key_ = KeyPair::generate();
    const KeyPair backbone_ = KeyPair::generate();
    const KeyPair volunteer_ = KeyPair::generate();
    const formats::RunFile run_;
    const RunId id_;
    Random random_{7};
    state::ModelState state_;
    Head head_;
    const std::filesystem::path folder_;
    backbone::LedgerWriter ledger_;
    const backbone::CheckpointStore store_;
};

}  // namespace dedloc::runs
