// A pass asks the database once for all runs, chooses at most one state of each and measures it on
// a thread of low priority, while this thread looks for signals. The file of a checkpoint is opened
// before it is measured, and chosen again if the backbone has removed it meanwhile. Figures stay in
// unwritten_ until they are in the table, so an outage costs no computation. Damaged states are
// remembered by digest; a run that fails is left alone for a minute.
#include "project_server/evaluate/run_evaluations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <future>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "boinc_app/training/task.hpp"
#include "peer/base/error.hpp"
#include "peer/base/log.hpp"
#include "peer/formats/figures.hpp"
#include "peer/formats/task.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/priority.hpp"
#include "project_server/backbone/checkpoint.hpp"
#include "project_server/database/evaluations.hpp"
#include "project_server/evaluate/run_questions.hpp"
#include "project_server/evaluate/state_evaluator.hpp"
#include "project_server/run_sources.hpp"
#include "project_server/settings.hpp"

namespace dedloc::evaluate {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using backbone::CheckpointEntry;
using backbone::CheckpointFile;

constexpr auto kLookAtSignals = 50ms;
constexpr auto kStopTimeout = 500ms;  // within the second after a stop signal
constexpr auto kRetryAfter = 60s;     // for a run that cannot be evaluated
/// How often the checkpoints are listed again because the backbone has removed one.
constexpr int kMaxListings = 20;

std::string first_line(const std::string& text) {
    return text.substr(0, text.find('\n'));
}

}  // namespace

struct RunEvaluations::RunRow {
    explicit RunRow(const server::Row& row)
        : id(row.integer("id")),
          name(row.text("name")),
          is_finished(row.text("state") == "finished"),
          steps(static_cast<std::uint64_t>(row.integer("steps"))),
          every(static_cast<std::uint64_t>(row.integer("evaluate_every"))),
          samples(static_cast<std::uint64_t>(row.integer("evaluate_samples"))),
          has_initial(row.integer("has_initial") != 0),
          evaluated(static_cast<std::uint64_t>(row.integer("evaluated"))),
          proven(static_cast<std::uint64_t>(row.integer("proven"))) {}

    /// The state after this step is to be evaluated, if the ledger proves it.
    bool wants(std::uint64_t step) const {
        return step > evaluated && (step - evaluated >= every || step == steps);
    }

    std::int64_t id;
    std::string name;
    bool is_finished;
    std::uint64_t steps;
    std::uint64_t every;
    std::uint64_t samples;
    bool has_initial;         ///< step 0 is evaluated
    std::uint64_t evaluated;  ///< the last step with a valid evaluation
    std::uint64_t proven;     ///< the last step whose digest the ledger has
};

struct RunEvaluations::Run {
    fs::path folder;
    formats::RunFile file;
    RunId id;
    std::unique_ptr<StateEvaluator> evaluator;  ///< null: not opened yet
    std::optional<RunQuestions> questions;      ///< opened with the evaluator
    std::set<Digest> refused;  ///< damaged checkpoints, and states without finite figures
    std::string complaint;     ///< the last one that was logged
    Clock::time_point retry{};

    void open(const fs::path& its_folder, std::uint64_t samples, unsigned threads) {
        // The project may have added a source since.
        formats::RunFile now = server::read_run(its_folder);
        if (evaluator && now.added_sources == file.added_sources) return;
        evaluator.reset();
        questions.reset();
        folder = its_folder;
        file = std::move(now);
        id = formats::run_id(file);
        evaluator = open_evaluator(
            file, {.folders = {.held_out = folder / "held_out", .shards = folder / "shards"},
                   .module = folder / formats::kModuleFile,
                   .norms = folder / "norms",
                   .samples = std::clamp<std::uint64_t>(samples, 1, training::kMaxSamples),
                   .threads = threads});
        questions.emplace(folder, file);
    }
    void complain(const std::string& name, const std::string& sentence) {
        if (complaint != sentence) log_warning("run {} is not evaluated: {}", name, sentence);
        complaint = sentence;
        retry = Clock::now() + kRetryAfter;
    }
};

struct RunEvaluations::Source {
    std::unique_ptr<const CheckpointFile> file;  ///< null: the initial state
    fs::path path;
};

struct RunEvaluations::Figures {
    std::int64_t run = 0;  ///< dedloc_run.id
    std::string name;
    std::string architecture;
    server::EvaluationRow row;
};

namespace {

/// Whether the ledger has the digest of this state at its step.
bool is_proven(server::Database& database, std::int64_t run, const formats::CheckpointHead& head) {
    return database
        .query_one("select step from dedloc_step where runid = ? and step = ? and digest = ?",
                   {run, head.step.value(), head.digest.hex()})
        .has_value();
}

/// What next_source() needs to know of a run.
template <class Row, class Run>
const CheckpointEntry* choose(server::Database& database, const Row& row, const Run& run,
                              const std::vector<CheckpointEntry>& entries) {
    const auto is_usable = [&](const CheckpointEntry& entry) {
        return entry.head.elements == formats::element_count(run.file) &&
               !run.refused.contains(entry.head.digest);
    };
    const auto is_first = [&](const CheckpointEntry& entry) {
        return !row.has_initial && entry.head.step == StepIndex{0} &&
               run.file.initial_state == entry.head.digest && is_usable(entry);
    };
    const auto is_next = [&](const CheckpointEntry& entry) {
        return row.wants(entry.head.step.value()) && is_usable(entry) &&
               is_proven(database, row.id, entry.head);
    };
    auto found = std::ranges::find_if(entries, is_first);
    if (found == entries.end()) found = std::ranges::find_if(entries, is_next);
    return found == entries.end() ? nullptr : &*found;
}

}  // namespace

RunEvaluations::RunEvaluations(EvaluationOptions options, const platform::StopSignals& signals)
    : options_(std::move(options)), signals_(signals) {}

RunEvaluations::~RunEvaluations() = default;

template <class Work>
auto RunEvaluations::when_idle(const Work& work) const {
    std::atomic<bool> must_stop = false;
    const IsInterrupted is_interrupted = [&] { return must_stop.load(); };
    std::packaged_task<std::invoke_result_t<Work, const IsInterrupted&>()> task{[&] {
        if (!platform::run_when_idle()) log_warning("the system refuses a low priority");
        return work(is_interrupted);
    }};
    auto result = task.get_future();
    std::thread thread{std::move(task)};
    while (result.wait_for(0s) != std::future_status::ready) {
        if (!signals_.wait(kLookAtSignals)) continue;
        must_stop = true;
        if (result.wait_for(kStopTimeout) == std::future_status::ready) break;
        log_info("Stopped in the middle of an evaluation");
        std::_Exit(EXIT_SUCCESS);  // on a busy machine the thread may not run for long
    }
    thread.join();
    return result.get();
}

void RunEvaluations::pass(server::Database& database) {
    database.ensure_connected();
    write(database);
    for (const auto& values : database.query(
             "select r.id, r.name, r.state, r.steps, r.evaluate_every, r.evaluate_samples, "
             "exists (select 1 from dedloc_evaluation e where e.runid = r.id and e.step = 0) as "
             "has_initial, (select e.step from dedloc_evaluation e join dedloc_step s on "
             "s.runid = e.runid and s.step = e.step and s.digest = e.digest where e.runid = r.id "
             "order by e.step desc limit 1) as evaluated, (select s.step from dedloc_step s where "
             "s.runid = r.id and s.digest <> '' order by s.step desc limit 1) as proven "
             "from dedloc_run r where r.state in ('running', 'finished') and r.evaluate_every > 0 "
             "order by r.id")) {
        if (signals_.arrived()) return;
        const RunRow row{values};
        if (row.has_initial && !row.wants(row.proven)) {
            if (row.is_finished) runs_.erase(row.id);
            continue;
        }
        auto& run = runs_[row.id];
        if (!run) run = std::make_unique<Run>();
        if (Clock::now() < run->retry) continue;
        try {
            run->open(server::state_folder(options_.project) / "runs" / row.name, row.samples,
                      options_.threads);
            visit(database, row, *run);
        } catch (const server::DatabaseError&) {
            throw;
        } catch (const std::exception& error) {
            run->complain(row.name, first_line(error.what()));
        }
    }
}

void RunEvaluations::visit(server::Database& database, const RunRow& row, Run& run) {
    if (!row.has_initial && !run.file.initial_state) {
        evaluate({}, row, run);
        return write(database);
    }
    for (int listing = 0; listing < kMaxListings; ++listing) {
        const auto entries = backbone::list_checkpoints(run.folder / "checkpoints", run.id);
        const CheckpointEntry* const entry = choose(database, row, run, entries);
        if (entry == nullptr) return;
        Source source{.file = {}, .path = entry->path};
        try {
            source.file = std::make_unique<const CheckpointFile>(entry->path, run.id);
        } catch (const IoError&) {
            if (fs::exists(entry->path)) throw;
            continue;  // the backbone has removed it: choose another one
        }
        if (source.file->head() != entry->head) continue;
        evaluate(source, row, run);
        return write(database);
    }
}

std::unique_ptr<RunEvaluations::Figures> RunEvaluations::measure(
    const Source& source, const RunRow& row, Run& run, const IsInterrupted& is_interrupted) const {
    training::set_compute_threads(options_.threads);
    const auto begin = Clock::now();
    const auto state = source.file
                           ? load_checkpoint(*source.file, source.path, run.file, is_interrupted)
                           : load_initial(run.file);
    if (!state) return nullptr;
    const auto evaluation = run.evaluator->evaluate(*state, is_interrupted);
    if (!evaluation) return nullptr;
    auto answers = run.questions->ask(state->parameters, is_interrupted);
    if (!answers) return nullptr;
    const std::chrono::duration<double> took = Clock::now() - begin;
    return std::make_unique<Figures>(
        Figures{.run = row.id,
                .name = row.name,
                .architecture = std::string{formats::architecture_of(run.file)},
                .row = {.step = state->step->value(),
                        .loss = evaluation->loss.value,
                        .loss_error = evaluation->loss.error,
                        .figures = training::measured_figures(*evaluation),
                        .samples = evaluation->samples,
                        .seconds = took.count(),
                        .digest = state->digest->hex(),
                        .answers = std::move(*answers)}});
}

void RunEvaluations::evaluate(const Source& source, const RunRow& row, Run& run) {
    std::unique_ptr<Figures> figures;
    try {
        figures = when_idle([&](const IsInterrupted& is_interrupted) {
            return measure(source, row, run, is_interrupted);
        });
    } catch (const InputError& error) {
        if (!source.file) throw;
        log_warning("run {}: {}", row.name, error.what());
        run.refused.insert(source.file->head().digest);
        return;
    }
    if (!figures) return;
    if (std::isfinite(figures->row.loss)) {
        unwritten_ = std::move(figures);
        return;
    }
    log_warning("run {}: the loss of its state after step {} is not finite", row.name,
                figures->row.step);
    if (source.file) run.refused.insert(source.file->head().digest);
}

void RunEvaluations::write(server::Database& database) {
    if (!unwritten_) return;
    const auto& [run, name, architecture, row] = *unwritten_;
    database.ensure_connected();
    if (server::write_evaluation(database, run, row)) {
        const std::string figures =
            formats::figures_text(architecture, row.figures, formats::FigurePlace::kHeadline);
        log_info("run {}, step {}: held-out loss {:.4f} ± {:.4f}{}{}, {} samples in {:.1f} s", name,
                 row.step, row.loss, row.loss_error, figures.empty() ? "" : "; ", figures,
                 row.samples, row.seconds);
    } else {
        log_info("run {}: step {} has become void", name, row.step);
    }
    unwritten_.reset();
}

}  // namespace dedloc::evaluate
