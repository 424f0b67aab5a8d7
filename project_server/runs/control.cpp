// Every command asks the backbone of the run's folder first. An absent answer means that none works
// there; an unknown one leaves open whether the command was carried out, so it has to be repeated.
// set_paused() takes the folder's lock if no backbone answers, writes the signed order, frees the
// lock and then tells the voters on other machines. A lock that is held without an answer belongs
// to a backbone that starts, so the command is repeated until kStartLimit. All voters are asked at
// once, and a fault is thrown only after all have answered.
#include "project_server/runs/control.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <future>
#include <memory>
#include <numeric>
#include <thread>

#include "peer/base/error.hpp"
#include "peer/formats/task.hpp"
#include "peer/platform/folder_lock.hpp"
#include "peer/platform/key_file.hpp"
#include "project_server/backbone/pause_file.hpp"
#include "project_server/backbone/pending_revocations.hpp"
#include "project_server/backbone/remote_voters.hpp"
#include "project_server/project/project.hpp"
#include "project_server/run_sources.hpp"
#include "project_server/runs/find_run.hpp"
#include "project_server/settings.hpp"

namespace dedloc::runs {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using control::Command;
using control::Outcome;

/// A backbone that starts holds its folder before it answers.
constexpr auto kStartLimit = 10s;
constexpr auto kRetry = 100ms;
constexpr auto kCheckpointLimit = 5min;
constexpr auto kPictureLimit = 2s;

/// Whether the folder is ours; false while a backbone works in it.
std::unique_ptr<platform::FolderLock> lock_of(const fs::path& folder) {
    try {
        return std::make_unique<platform::FolderLock>(folder);
    } catch (const IoError&) {
        return nullptr;
    }
}

std::optional<SignedPause> last_pause(const backbone::RunFiles& files) {
    return backbone::read_pause(files.pause(), files.id, files.run.project_key);
}

/// Writes the order where the run's own backbone finds it. Requires the folder's lock.
std::optional<SignedPause> write_order(const fs::path& project, RunHistory& history,
                                       bool is_paused) {
    history.update();
    const backbone::RunFiles& files = history.files();
    if (!history.final_digest().empty()) {
        throw InputError(fmt::format("the run {} is finished", files.run.name));
    }
    const KeyPair signer = platform::read_key(
        server::state_folder(project::existing_project(project)) / "keys/project.key");
    const auto last = last_pause(files);
    const auto next = backbone::next_pause(last, is_paused, files.id, signer);
    if (!next) return last;
    backbone::write_pause(files.pause(), *next);
    return next;
}

/// The weights in the order of the run's sources. Errors: InputError, as mix().
std::vector<std::uint64_t> ordered(const formats::RunFile& run,
                                   const std::vector<SourceWeight>& weights) {
    if (run.sources.empty()) {
        throw InputError(
            fmt::format("the run {} has no sources to mix: dedloc corpus build "
                        "--source makes a corpus of several",
                        run.name));
    }
    std::string names;
    std::vector<double> shares;
    double sum = 0;
    for (const formats::SourceSpec& source : run.sources) {
        names += (names.empty() ? "" : ", ") + source.name;
        const auto given = std::ranges::count(weights, source.name, &SourceWeight::name);
        const auto one = std::ranges::find(weights, source.name, &SourceWeight::name);
        if (given != 1) {
            throw InputError(
                fmt::format("give source {} one weight, 0 for no samples", source.name));
        }
        shares.push_back(one->weight);
        sum += one->weight;
    }
    for (const SourceWeight& weight : weights) {
        if (std::ranges::find(run.sources, weight.name, &formats::SourceSpec::name) !=
            run.sources.end()) {
            continue;
        }
        throw InputError(
            fmt::format("the run {} has no source {}, only {}", run.name, weight.name, names));
    }
    if (!(sum > 0 && std::isfinite(sum))) throw InputError("one source has a weight above 0");
    return formats::whole_weights(shares);
}

/// A share for each of the sources: those without a weight were added after the change.
std::vector<double> shares_of(const std::vector<std::uint64_t>& weights, std::size_t sources) {
    const double sum =
        static_cast<double>(std::accumulate(weights.begin(), weights.end(), std::uint64_t{0}));
    std::vector<double> shares;
    for (const std::uint64_t weight : weights) {
        shares.push_back(static_cast<double>(weight) / sum);
    }
    shares.resize(sources, 0);
    return shares;
}

/// Sources, the mixture of the last step, and the changes: by the ledger and the signed list. Steps
/// of the ledger have proof that a change that came too late has not.
void add_mixtures(server::RunStatus& status, const RunHistory& history) {
    if (history.files().run.sources.empty()) return;
    // Sources may have been added since the history was opened.
    const formats::RunFile run =
        server::read_run(history.files().folder, server::Reader::kElsewhere);
    const auto mixture = server::read_mixture(history.files().mixture(), run);
    std::vector<std::uint64_t> weights;
    for (const auto& source : run.sources) weights.push_back(source.weight);
    const std::uint64_t decided = history.lines().empty() ? 0 : history.lines().back().step;
    const auto& changes = mixture ? mixture->changes : std::vector<MixtureChange>{};
    bool is_before_last = history.mixture().has_value();
    for (const MixtureChange& change : changes) {
        const bool is_to_come = change.from.value() >= decided;
        status.mixtures.push_back({.from = change.from.value(),
                                   .shares = shares_of(change.weights, run.sources.size()),
                                   .is_in_force = is_to_come || is_before_last});
        if (!history.mixture() || digest_of(change) != *history.mixture()) continue;
        weights = change.weights;
        is_before_last = false;
    }
    const auto shares = shares_of(weights, run.sources.size());
    for (std::size_t i = 0; i < run.sources.size(); ++i) {
        status.sources.push_back(
            {.name = run.sources[i].name, .share = shares[i], .licence = run.sources[i].licence});
    }
}

/// Asks all voters on other machines at the same time. Returns how many have carried it out; those
/// that cannot be reached are left out. Errors: IoError (one does not answer, or refuses).
std::size_t tell_voters(const fs::path& run_folder, const control::Request& request) {
    const auto voters = backbone::remote_voters(run_folder);
    std::vector<std::future<control::Answer>> answers;
    for (const auto& voter : voters) {
        answers.push_back(std::async(std::launch::async,
                                     [&voter, &request] { return control::ask(voter, request); }));
    }
    std::size_t count = 0;
    std::string fault;
    for (std::size_t i = 0; i < voters.size(); ++i) {
        const auto answer = answers[i].get();
        if (answer.outcome == Outcome::kAbsent) continue;
        if (answer.outcome == Outcome::kUnknown) {
            fault = fmt::format("the voter at {} does not answer: repeat the command",
                                voters[i].text());
        } else if (!answer.reply.is_done) {
            fault = fmt::format("the voter at {}: {}", voters[i].text(), answer.reply.note);
        } else {
            ++count;
        }
    }
    if (!fault.empty()) throw IoError(fault);
    return count;
}

/// The folders of all runs.
std::vector<fs::path> run_folders(const fs::path& project) {
    std::vector<fs::path> folders;
    const auto runs = server::state_folder(project::existing_project(project)) / "runs";
    if (!fs::exists(runs)) return folders;
    for (const auto& entry : fs::directory_iterator{runs}) {
        if (fs::exists(entry.path() / "run.json")) folders.push_back(entry.path());
    }
    return folders;
}

/// Adds the steps that are not in this machine's ledger yet: voters on other machines have decided
/// them while the run's own backbone does not work.
void add_steps(server::RunStatus& status, const control::Snapshot& picture) {
    for (const control::StepView& step : picture.recent) {
        if (!status.lines.empty() && step.step <= status.lines.back().step) continue;
        server::StepLine line{.step = step.step,
                              .loss = step.loss,
                              .samples = step.samples,
                              .seconds = step.seconds,
                              .members = static_cast<int>(step.members)};
        if (step.digest) {
            line.members = static_cast<int>(step.reported);
            line.equal_digests = static_cast<int>(step.equal);
        }
        status.lines.push_back(line);
    }
}

}  // namespace

PauseOutcome set_paused(const fs::path& project, const std::string& run, bool is_paused) {
    RunHistory history{find_run(project, run)};
    const auto& folder = history.files().folder;
    control::Request request{.command = is_paused ? Command::kPause : Command::kResume};
    const auto until = std::chrono::steady_clock::now() + kStartLimit;
    for (;;) {
        const auto answer = control::ask(folder, request);
        if (answer.outcome == Outcome::kAnswered) {
            if (!answer.reply.is_done) throw InputError(answer.reply.note);
            return {.is_live = true};
        }
        if (auto lock = lock_of(folder)) {
            request.pause = write_order(project, history, is_paused);
            lock.reset();
            if (!request.pause) return {};  // it was never paused
            return {.voters = tell_voters(folder, request)};
        }
        if (std::chrono::steady_clock::now() >= until) {
            throw IoError(
                fmt::format("the backbone of the run {} does not answer: repeat the command", run));
        }
        std::this_thread::sleep_for(kRetry);
    }
}

std::uint64_t mix(const fs::path& project, const std::string& run,
                  const std::vector<SourceWeight>& weights, std::optional<std::uint64_t> from) {
    const backbone::RunFiles files = find_run(project, run);
    const control::Request request{.command = Command::kMix,
                                   .mix = {.weights = ordered(files.run, weights), .from = from}};
    const auto answer = control::ask(files.folder, request);
    if (answer.outcome == Outcome::kAbsent) {
        throw IoError(fmt::format(
            "the backbone of the run {}, which signs a change, does not work: start the project",
            run));
    }
    if (answer.outcome == Outcome::kUnknown) {
        throw IoError(fmt::format(
            "the backbone of the run {} does not answer: dedloc run status says whether the "
            "mixture has changed",
            run));
    }
    if (!answer.reply.is_done || !answer.reply.step) throw InputError(answer.reply.note);
    return *answer.reply.step;
}

std::optional<std::uint64_t> checkpoint_now(const fs::path& project, const std::string& run) {
    const auto answer = control::ask(find_run(project, run).folder,
                                     {.command = Command::kCheckpoint}, kCheckpointLimit);
    if (answer.outcome == Outcome::kUnknown) {
        throw IoError(fmt::format("the backbone of the run {} does not answer", run));
    }
    return answer.reply.step;
}

bool tell_backbone(const fs::path& project, const std::string& run,
                   const control::Request& request) {
    const auto answer = control::ask(find_run(project, run).folder, request);
    return answer.outcome == Outcome::kAnswered && answer.reply.is_done;
}

Told tell_backbones(const fs::path& project, const control::Request& request) {
    Told told;
    for (const fs::path& folder : run_folders(project)) {
        const auto answer = control::ask(folder, request);
        const auto name = folder.filename().string();
        if (answer.outcome == Outcome::kUnknown) {
            throw IoError(fmt::format(
                "the backbone of the run {} does not answer: repeat the command", name));
        }
        if (answer.outcome == Outcome::kAbsent) {
            told.voters += tell_voters(folder, request);
            continue;
        }
        if (!answer.reply.is_done) throw IoError(fmt::format("{}: {}", name, answer.reply.note));
        ++told.own;
    }
    return told;
}

std::size_t leave_revocation(const fs::path& project, const control::Revocation& named) {
    std::size_t count = 0;
    for (const fs::path& folder : run_folders(project)) {
        const auto lock = lock_of(folder);
        if (!lock) continue;
        const fs::path file = folder / "pending_revocations";
        control::Revocation pending = backbone::read_pending(file);
        backbone::add(pending, named);
        backbone::write_pending(file, pending);
        ++count;
    }
    return count;
}

server::RunStatus status_of(const RunHistory& history, const control::Snapshot* picture) {
    const backbone::RunFiles& files = history.files();
    server::RunStatus status{.name = files.run.name,
                             .state = "running",
                             .steps = files.run.steps,
                             .lines = history.lines(),
                             .final_digest = history.final_digest(),
                             .architecture = std::string{formats::architecture_of(files.run)},
                             .held_out = {}};
    if (!history.final_digest().empty()) {
        status.state = "finished";
    } else if (picture != nullptr) {
        status.state = name_of(picture->state);
    } else if (backbone::is_paused(last_pause(files))) {
        status.state = "paused";
    }
    add_mixtures(status, history);
    if (picture == nullptr) return status;
    add_steps(status, *picture);
    status.is_live = true;
    status.peers = static_cast<int>(picture->progress.trainers);
    status.samples_per_second = picture->progress.samples_per_second;
    status.samples = picture->progress.samples;
    status.target_batch = picture->target_batch;
    return status;
}

server::RunStatus present_status(const backbone::RunFiles& files) {
    RunHistory history{files};
    std::optional<control::Snapshot> picture;
    for (const auto& place : backbone::places_of(history.files().folder)()) {
        const auto answer = control::ask(place, {.command = Command::kSnapshot}, kPictureLimit);
        if (answer.outcome == Outcome::kAnswered) picture = answer.reply.snapshot;
        if (picture) break;
    }
    history.update();
    return status_of(history, picture ? &*picture : nullptr);
}

}  // namespace dedloc::runs
