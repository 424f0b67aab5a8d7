#include "project_server/cli/run.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>
#include <span>

#include "peer/base/error.hpp"
#include "peer/formats/albert_layout.hpp"
#include "peer/formats/job_shards.hpp"
#include "peer/platform/clock.hpp"
#include "peer/platform/files.hpp"
#include "peer/platform/key_file.hpp"
#include "peer/platform/mapped_file.hpp"
#include "peer/platform/ports.hpp"
#include "project_server/backbone/checkpoint.hpp"
#include "project_server/backbone/run_files.hpp"
#include "project_server/cli/model_import.hpp"
#include "project_server/cli/model_presets.hpp"
#include "project_server/corpus/corpus.hpp"
#include "project_server/corpus/sample_cost.hpp"
#include "project_server/corpus/tokenizer.hpp"
#include "project_server/database/boinc_apps.hpp"
#include "project_server/database/revocations.hpp"
#include "project_server/database/states.hpp"
#include "project_server/project/unfinished_folder.hpp"
#include "project_server/signed_revocations.hpp"
#include "project_server/ticket_key.hpp"

namespace dedloc::cli {
namespace {

namespace fs = std::filesystem;

/// How often a run is evaluated while it trains, unless its options say otherwise.
constexpr std::uint64_t kUsualEvaluations = 50;

void check_run_name(const std::string& name) {
    const bool is_plain = std::ranges::all_of(name, [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_';
    });
    if (name.empty() || name.size() > 40 || !is_plain) {
        throw InputError("a run's name has 1 to 40 letters, digits, - and _");
    }
}

formats::OptimizerSpec make_optimizer(const RunOptions& options, const ModelPreset& preset) {
    formats::OptimizerSpec optimizer = formats::usual_settings(options.optimizer);
    if (formats::is_lamb(options.optimizer)) optimizer.learning_rate = preset.learning_rate;
    optimizer.schedule = options.schedule.value_or(optimizer.schedule);
    optimizer.warmup_steps =
        options.warmup_steps.value_or(std::max<std::uint64_t>(1, options.steps / 10));
    optimizer.learning_rate = options.learning_rate.value_or(optimizer.learning_rate);
    optimizer.weight_decay = options.weight_decay.value_or(optimizer.weight_decay);
    optimizer.clip_norm = options.clip_norm.value_or(optimizer.clip_norm);
    return optimizer;
}

/// The number of shards of a job so that no job has more than `limit` bytes of them, at least 1;
/// 0 for all.
std::uint64_t shards_within(std::uint64_t limit,
                            const std::vector<formats::ShardReference>& shards) {
    std::uint64_t largest = 1;
    for (const auto& shard : shards) largest = std::max(largest, shard.bytes);
    const std::uint64_t count = std::max<std::uint64_t>(1, limit / largest);
    return count < shards.size() ? count : 0;
}

/// Throws InputError unless tokenizer and shards of the corpus are those of its description.
void check_corpus(const fs::path& folder, const corpus::Corpus& corpus) {
    const auto model = folder / "tokenizer.model";
    const corpus::Tokenizer tokenizer{platform::read_text(model), model.string()};
    if (const auto fault = corpus::tokenizer_fault(folder); !fault.empty()) throw InputError(fault);
    // A corpus with rules has its special tokens in tokenizer.json.
    if (tokenizer.vocabulary() != corpus.vocabulary ||
        (!corpus.rules && tokenizer.special_tokens() != corpus.special_tokens)) {
        throw InputError(fmt::format("{} has {} pieces and is not the tokenizer of this corpus",
                                     model.string(), tokenizer.vocabulary()));
    }
    for (const auto& shard : corpus.shards) {
        const auto path = folder / shard.name;
        const platform::MappedFile file{path};
        if (file.bytes().size() != shard.bytes || blake2b(file.bytes()) != shard.digest) {
            throw InputError(fmt::format("the shard {} is cut off or altered", path.string()));
        }
    }
}

/// The port of the run's DHT seed. In a project with fixed ports each run has two of its own: this
/// one, and the next one for its members.
std::uint16_t peer_port(const fs::path& project, const server::Settings& settings) {
    if (settings.peer_port == 0) return platform::free_port(settings.peer_listen);
    std::set<std::uint16_t> taken;
    for (const auto& entry : fs::directory_iterator(server::state_folder(project) / "runs")) {
        if (!fs::exists(entry.path() / "run.json")) continue;
        for (const Endpoint& seed : backbone::read_run_files(entry.path()).run.dht_seeds) {
            taken.insert(seed.port);
        }
    }
    for (std::uint32_t port = settings.peer_port; port < 65'535; port += 2) {
        if (!taken.contains(static_cast<std::uint16_t>(port))) {
            return static_cast<std::uint16_t>(port);
        }
    }
    throw InputError(fmt::format("no port from {} on is left for the run", settings.peer_port));
}

/// The public keys that a run file names.
struct PublicKeys {
    PeerKey project;
    PeerKey ticket;
    PeerKey backbone;
};

formats::RunFile make_run_file(const RunOptions& options, const corpus::Corpus& corpus,
                               const std::optional<ImportedModel>& imported,
                               const server::Settings& settings, const PublicKeys& keys) {
    const auto preset = model_preset(options.model);
    formats::RunFile run;
    run.name = options.name;
    run.seed = options.seed;
    run.model = preset.model;
    run.model.vocabulary = corpus.vocabulary;
    run.sequence_length = preset.sequence_length;
    if (imported) {
        run.model = imported->model;
        run.sequence_length = std::min(preset.sequence_length, run.model.positions);
        run.initial_state = imported->head.digest;
    }
    if (options.dropout.size() == 3) {
        run.model.hidden_dropout = options.dropout[0];
        run.model.attention_dropout = options.dropout[1];
        run.model.classifier_dropout = options.dropout[2];
    }
    run.target_batch = options.target_batch.value_or(preset.target_batch);
    run.steps = options.steps;
    run.optimizer = make_optimizer(options, preset);
    run.flops_per_sample = formats::albert_flops_per_sample(run.model, run.sequence_length);
    run.project_key = keys.project;
    run.ticket_key = keys.ticket;
    run.backbone_key = keys.backbone;
    run.gateway = settings.url + "dedloc/";
    run.dht_seeds = {{.host = settings.host(), .port = peer_port(options.project, settings)}};
    run.shards = corpus.shards;
    run.shards_per_job = shards_within(options.job_bytes, formats::training_shards(run));
    run.special_tokens = corpus.special_tokens;
    run.codec = options.codec;
    run.overlaps = options.overlaps;
    run.tensors = formats::albert_tensors(run.model);
    return run;
}

void fill_folder(const fs::path& folder, const RunOptions& options, const corpus::Corpus& corpus,
                 const std::string& json, const RunId& run,
                 const std::optional<ImportedModel>& imported, const KeyPair& backbone,
                 const project::Begins& begins) {
    platform::replace_file(folder / "run.json", json);
    platform::write_key(folder / "backbone.key", backbone);
    fs::create_directory(folder / "shards");
    fs::create_directory(folder / "held_out");
    fs::create_directory(folder / "checkpoints");
    fs::copy_file(options.corpus / "tokenizer.model", folder / "tokenizer.model");
    if (corpus.rules) fs::copy_file(options.corpus / "tokenizer.json", folder / "tokenizer.json");
    fs::copy_file(options.corpus / "corpus.json", folder / "corpus.json");
    std::size_t copied = 0;
    for (const auto& shard : corpus.shards) {
        begins(fmt::format("copying shard {} of {}", ++copied, corpus.shards.size()));
        fs::copy_file(options.corpus / shard.name,
                      folder / (shard.is_held_out ? "held_out" : "shards") / shard.name);
    }
    if (!imported) return;
    begins("writing the first state");
    const backbone::CheckpointStore store{folder / "checkpoints", run, 1};
    store.save(imported->head, std::as_bytes(std::span{imported->state}));
}

/// The model to start from, if the options name one.
std::optional<ImportedModel> import_for(const RunOptions& options, const corpus::Corpus& corpus) {
    if (options.from.empty()) return std::nullopt;
    require_tokenizer(options.from, options.corpus / "tokenizer.model");
    ImportedModel imported =
        import_model(options.from, {.optimizer = options.optimizer, .seed = options.seed});
    if (imported.model.vocabulary != corpus.vocabulary) {
        throw InputError(fmt::format("{} has a vocabulary of {} pieces, and the corpus {}",
                                     options.from.string(), imported.model.vocabulary,
                                     corpus.vocabulary));
    }
    return imported;
}

void insert_run(server::Database& database, const formats::RunFile& run, const std::string& json,
                double least_flops, const RunOptions& options) {
    database.execute(
        "insert into dedloc_run (name, run_id, state, spec, target_batch, steps, "
        "flops_per_sample, least_flops_per_sample, credit_per_sample, credit_per_gigabyte_reduced, "
        "created, evaluate_every, evaluate_samples, aggregators) values (?, ?, 'running', ?, ?, ?, "
        "?, ?, ?, ?, ?, ?, ?, ?)",
        {run.name, formats::run_id(run).hex(), json, run.target_batch, run.steps,
         run.flops_per_sample, least_flops, formats::credit_per_sample(run),
         options.credit_per_gigabyte, server::unix_now(),
         options.evaluate_every.value_or(std::max<std::uint64_t>(1, run.steps / kUsualEvaluations)),
         options.evaluate_samples, options.aggregators});
}

std::uint64_t count_of(const server::Row& row, std::string_view column) {
    return static_cast<std::uint64_t>(row.integer(column));
}

server::Row run_row(server::Database& database, const std::string& name) {
    const auto row = database.query_one("select * from dedloc_run where name = ?", {name});
    if (!row) throw InputError(fmt::format("the project has no run {}", name));
    return *row;
}

}  // namespace

CreatedRun create_run(const RunOptions& options, const project::Begins& begins) {
    check_run_name(options.name);
    const auto project = project::existing_project(options.project);
    const auto state = server::state_folder(project);
    const auto corpus = corpus::read_corpus(options.corpus);
    check_corpus(options.corpus, corpus);
    project::ProjectDatabase access{project};
    if (access.database().query_one("select id from dedloc_run where name = ?", {options.name})) {
        throw InputError(fmt::format("the project has a run {} already", options.name));
    }
    begins("reading the model");
    const auto imported = import_for(options, corpus);
    const auto backbone = KeyPair::generate();
    const auto signer = platform::read_key(state / "keys/project.key");
    const auto run = make_run_file(options, corpus, imported, server::read_settings(project),
                                   {.project = signer.public_key(),
                                    .ticket = server::read_ticket_key(state).public_key(),
                                    .backbone = backbone.public_key()});
    const auto json = formats::write_run_file(run);
    const auto target = state / "runs" / options.name;
    project::UnfinishedFolder folder{target};
    fill_folder(folder.path(), options, corpus, json, formats::run_id(run), imported, backbone,
                begins);
    // The gateway hands out this list until the run's backbone has signed one.
    server::write_signed_revocations(
        folder.path(),
        formats::sign(server::recent_revocations(access.database(), platform::utc_now()), signer));
    begins("measuring the samples");
    const double least_flops = corpus::least_sample_flops(folder.path() / "shards", run);
    begins("writing all to the disk");
    folder.finish();
    try {
        insert_run(access.database(), run, json, least_flops, options);
    } catch (...) {
        fs::remove_all(target);
        throw;
    }
    return {.run = run,
            .initialised = imported ? imported->initialised : std::vector<std::string>{}};
}

std::int64_t run_number(server::Database& database, const std::string& name) {
    return run_row(database, name).integer("id");
}

json::Value run_list(server::Database& database) {
    json::Value::List runs;
    for (const auto& row : database.query(
             "select d.name, d.state, d.steps, d.target_batch, d.credit_per_sample, "
             "d.credit_per_gigabyte_reduced, d.created, "
             "coalesce(s.step, 0) as step, coalesce(s.loss, 0) as loss, "
             "coalesce(s.committed_at, 0) as recorded, (select count(*) from dedloc_seat t where "
             "t.runid = d.id and t.role = 'trainer' and t.state = 'working') as peers, "
             "(select coalesce(sum(t.samples_per_second), 0) from dedloc_seat t where "
             "t.runid = d.id and t.role = 'trainer' and t.state = 'working') as rate "
             "from dedloc_run d left join dedloc_step s on s.runid = d.id and s.step = "
             "(select max(m.step) from dedloc_step m where m.runid = d.id) order by d.id")) {
        json::Value run;
        run.set("name", row.text("name"))
            .set("state", row.text("state"))
            .set("step", row.integer("step"))
            .set("steps", row.integer("steps"))
            .set("target_batch", row.integer("target_batch"))
            .set("loss", row.real("loss"))
            .set("peers", row.integer("peers"))
            .set("samples_per_second", row.real("rate"))
            .set("credit_per_sample", row.real("credit_per_sample"))
            .set("credit_per_gigabyte_reduced", row.real("credit_per_gigabyte_reduced"))
            .set("created_at", row.real("created"))
            .set("recorded_at", row.real("recorded"));
        runs.push_back(std::move(run));
    }
    json::Value data;
    data.set("runs", std::move(runs));
    return data;
}

RunStatus run_status(server::Database& database, const std::string& name, std::uint64_t after) {
    const auto row = run_row(database, name);
    RunStatus status{.name = name,
                     .state = row.text("state"),
                     .steps = count_of(row, "steps"),
                     .lines = {},
                     .final_digest = row.text("final_digest"),
                     .held_out = server::read_evaluations(database, row.integer("id"))};
    const auto seats = database.query_one(
        "select count(*) as peers, coalesce(sum(samples_per_second), 0) as rate from dedloc_seat "
        "where runid = ? and role = 'trainer' and state = 'working'",
        {row.integer("id")});
    status.peers = static_cast<int>(seats->integer("peers"));
    status.samples_per_second = seats->real("rate");
    for (const auto& step : database.query(
             "select step, loss, samples, seconds, members, equal_digests from dedloc_step "
             "where runid = ? and step > ? order by step",
             {row.integer("id"), after})) {
        status.lines.push_back({.step = count_of(step, "step"),
                                .loss = step.real("loss"),
                                .samples = count_of(step, "samples"),
                                .seconds = step.real("seconds"),
                                .members = static_cast<int>(step.integer("members")),
                                .equal_digests = static_cast<int>(step.integer("equal_digests"))});
    }
    return status;
}

std::vector<LeaderLine> leaderboard(server::Database& database, int count, bool has_other_apps) {
    constexpr const char* kTotals =
        "select u.name, coalesce(t.name, '') as team, u.total_credit as credit, "
        "(select count(*) from host h where h.userid = u.id) as hosts from user u "
        "left join team t on t.id = u.teamid order by u.total_credit desc, u.id limit ?";
    // A contribution's owner is found as dedloc-purge finds it.
    constexpr const char* kOfRuns =
        "select u.name, coalesce(t.name, '') as team, p.credit, (select count(*) from host h where "
        "h.userid = u.id) as hosts from (select owner, sum(credit) as credit from (select "
        "coalesce(nullif(k.userid, 0), r.userid, 0) as owner, c.credit from dedloc_contribution c "
        "left join dedloc_ticket k on k.runid = c.runid and k.peer_key = c.peer_key left join "
        "result r on r.id = c.resultid where c.credit_state = ? union all select userid, credit "
        "from dedloc_daily_credit) paid group by owner) p join user u on u.id = p.owner left join "
        "team t on t.id = u.teamid order by p.credit desc, u.id limit ?";
    std::vector<LeaderLine> lines;
    for (const auto& row : has_other_apps
                               ? database.query(kOfRuns, {server::CreditState::kCredited, count})
                               : database.query(kTotals, {count})) {
        lines.push_back({.user = row.text("name"),
                         .team = row.text("team"),
                         .credit = row.real("credit"),
                         .hosts = static_cast<int>(row.integer("hosts"))});
    }
    return lines;
}

double RunReport::credit_due() const {
    constexpr double kGigabyte = 1e9;
    return static_cast<double>(samples) * rate +
           static_cast<double>(reduced_bytes) / kGigabyte * gigabyte_rate;
}

bool RunReport::credit_agrees() const {
    // The database sums binary64 numbers in another order, so the sums differ by rounding.
    constexpr double kTolerance = 1e-9;
    const auto agree = [](double a, double b) { return std::abs(a - b) <= kTolerance * b; };
    return agree(credit_of_lines, credit_due()) &&
           (has_other_apps || agree(credit_of_users, credit_of_all_runs));
}

namespace {

std::vector<std::string> withholdings(server::Database& database, std::int64_t run) {
    std::vector<std::string> sentences;
    for (const auto& row : database.query(
             "select kind, subject, since, sum(contributions) as contributions, "
             "sum(samples) as samples, sum(reduced_bytes) as bytes, count(*) as peers from "
             "dedloc_withheld where runid = ? "
             "group by kind, subject, since order by since",
             {run})) {
        sentences.push_back(fmt::format(
            "{} samples and {} reduced bytes in {} contributions of {} keys: {} {} was revoked at "
            "{:%F %T} UTC",
            row.integer("samples"), row.integer("bytes"), row.integer("contributions"),
            row.integer("peers"), row.text("kind"), row.text("subject").substr(0, 16),
            fmt::gmtime(static_cast<std::time_t>(row.integer("since")))));
    }
    return sentences;
}

}  // namespace

RunReport run_report(server::Database& database, const std::string& name, bool has_other_apps) {
    using enum server::CreditState;
    const auto run = run_row(database, name);
    const auto id = run.integer("id");
    const auto lines = database.query_one(
        "select coalesce(sum(if(credit_state = ?, samples, 0)), 0) as samples, "
        "coalesce(sum(if(credit_state = ?, reduced_bytes, 0)), 0) as bytes, "
        "coalesce(sum(if(credit_state = ?, reduced_bytes, 0)), 0) as withheld_bytes, "
        "coalesce(sum(if(credit_state = ?, reduced_bytes, 0)), 0) as unowned_bytes, "
        "coalesce(sum(credit), 0) as credit, "
        "coalesce(sum(credit_state = ?), 0) as uncredited, "
        "coalesce(sum(if(credit_state = ?, samples, 0)), 0) as withheld, "
        "coalesce(sum(if(credit_state = ?, samples, 0)), 0) as unowned "
        "from dedloc_contribution where runid = ?",
        {kCredited, kCredited, kWithheld, kUnowned, kPending, kWithheld, kUnowned, id});
    const auto daily = database.query_one(
        "select coalesce(sum(samples), 0) as samples, coalesce(sum(credit), 0) as credit, "
        "coalesce(sum(unowned), 0) as unowned, coalesce(sum(reduced_bytes), 0) as bytes, "
        "coalesce(sum(unowned_bytes), 0) as unowned_bytes from dedloc_daily_credit where runid = ?",
        {id});
    const auto users = database.query_one(
        "select (select coalesce(sum(total_credit), 0) from user) + "
        "(select coalesce(sum(credit), 0) from dedloc_deleted_credit) as credit");
    const auto all_runs = database.query_one(
        "select (select coalesce(sum(credit), 0) from dedloc_contribution) + "
        "(select coalesce(sum(credit), 0) from dedloc_daily_credit) as credit");
    const auto results = database.query_one(
        fmt::format("select count(*) as open from result r join workunit w on w.id = r.workunitid "
                    "where w.opaque = ? and w.appid in (select id from app where name in {}) and "
                    "(r.server_state = ? or "
                    "(r.server_state = ? and r.outcome = ? and r.validate_state = ?))",
                    server::kAppsInSql),
        {id, server::ServerState::kInProgress, server::ServerState::kOver,
         server::ResultOutcome::kSuccess, server::ValidateState::kInit});
    const auto steps = database.query_one(
        "select coalesce(sum(members = equal_digests), 0) as equal, "
        "coalesce(sum(equal_digests = 0), 0) as unsettled from dedloc_step "
        "where runid = ?",
        {id});
    return {.samples = count_of(*lines, "samples") + count_of(*daily, "samples"),
            .reduced_bytes = count_of(*lines, "bytes") + count_of(*daily, "bytes"),
            .uncredited = count_of(*lines, "uncredited"),
            .withheld = count_of(*lines, "withheld"),
            .withheld_bytes = count_of(*lines, "withheld_bytes"),
            .unowned = count_of(*lines, "unowned") + count_of(*daily, "unowned"),
            .unowned_bytes = count_of(*lines, "unowned_bytes") + count_of(*daily, "unowned_bytes"),
            .open_results = count_of(*results, "open"),
            .rate = run.real("credit_per_sample"),
            .gigabyte_rate = run.real("credit_per_gigabyte_reduced"),
            .credit_of_lines = lines->real("credit") + daily->real("credit"),
            .credit_of_all_runs = all_runs->real("credit"),
            .credit_of_users = users->real("credit"),
            .has_other_apps = has_other_apps,
            .withholdings = withholdings(database, id),
            .equal_steps = count_of(*steps, "equal"),
            .unsettled_steps = count_of(*steps, "unsettled")};
}

}  // namespace dedloc::cli
